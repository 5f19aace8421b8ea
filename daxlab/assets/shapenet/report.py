"""What an import took and what it left out, and why."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from daxlab.assets.shapenet.folder import Skipped, shown


@dataclass
class Report:
    """Filled as the import goes."""

    imported: Counter[str] = field(default_factory=Counter)
    """Models of each class."""
    skipped: list[tuple[str, str]] = field(default_factory=list)
    """Name and reason of each model of our classes that was left out."""
    other: int = 0
    """Rows that are of none of our classes."""

    def skip(self, name: str, reason: Skipped) -> None:
        """Leave a model out."""
        self.skipped.append((name, str(reason)))

    def lines(self) -> list[str]:
        """One line for each model left out."""
        return [f"{shown(name)} {reason}" for name, reason in self.skipped]

    def summary(self) -> str:
        """The counts."""
        return (
            f"{sum(self.imported.values())} models of {len(self.imported)} classes imported, "
            f"{len(self.skipped)} skipped, {self.other} of other classes"
        )

    def write(self, file: Path) -> None:
        """The whole report, in place of the last one."""
        part = file.with_name(f"{file.name}.{os.getpid()}.part")
        try:
            part.write_text("\n".join([self.summary(), *self.lines()]) + "\n", encoding="utf-8")
            os.replace(part, file)
        finally:
            part.unlink(missing_ok=True)
