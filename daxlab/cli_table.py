"""How commands show what they found."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

NAME = 24
"""Letters of a name that stay in one line."""
COLUMN = 10
"""What each of the other columns needs, its border included."""


def show(rows: Sequence[dict[str, Any]], as_json: bool, title: str) -> None:
    """A table for people or JSON for programs."""
    if as_json:
        print(json.dumps(list(rows), indent=2, ensure_ascii=False))
        return
    from rich.console import Console
    from rich.table import Table

    # Piped output has no width of its own; a table must not lose its columns there.
    console = Console(width=None if sys.stdout.isatty() else 180)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    cells = {column: [str(row.get(column, "")) for row in rows] for column in columns}
    wide = [max(map(len, [column, *cells[column]])) for column in columns]
    # Where the table is too wide, a name goes on in the next line: half a name cannot be typed.
    narrow = sum(wide) + 3 * len(wide) + 1 > console.width
    name = min(NAME, *wide[:1]) if narrow else None
    fitting = 1 + max((console.width - (name or 0)) // COLUMN, 1) if narrow else len(columns)
    table = Table(title=title, title_justify="left")
    for i, column in enumerate(columns[:fitting]):
        side: Any = "right" if all(cell[:1] in "0123456789.–-" for cell in cells[column]) else "left"
        table.add_column(column.replace("_", " "), justify=side, overflow="fold", width=None if i else name)
    for row in zip(*(cells[column] for column in columns[:fitting]), strict=True):
        table.add_row(*row)
    console.print(table)
    if columns[fitting:]:
        print(f"in a wider window also: {', '.join(columns[fitting:])}")
