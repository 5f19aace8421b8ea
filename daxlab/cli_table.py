"""How commands show what they found."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any


def show(rows: Sequence[dict[str, Any]], as_json: bool, title: str) -> None:
    """A table for people or JSON for programs."""
    if as_json:
        print(json.dumps(list(rows), indent=2, ensure_ascii=False))
        return
    from rich.console import Console
    from rich.table import Table

    columns = list(dict.fromkeys(key for row in rows for key in row))
    table = Table(title=title, title_justify="left")
    for column in columns:
        # Where the table is too wide, a name goes on in the next line: half a name cannot be typed.
        table.add_column(column.replace("_", " "), justify="right" if column != columns[0] else "left", overflow="fold")
    for row in rows:
        table.add_row(*(str(row.get(column, "")) for column in columns))
    # Piped output has no width of its own; a table must not lose its columns there.
    Console(width=None if sys.stdout.isatty() else 180).print(table)
