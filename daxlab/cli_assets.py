"""The commands about the things in the room: `daxlab assets` and `daxlab assets import-shapenet`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from daxlab.cli_table import show

MOST_LINES = 20
"""Reasons that are printed; the report file has them all."""


@dataclass(frozen=True)
class Assets:
    """Draw every object, large and as the agent sees it.

    Models of ShapeNetSem are imported by: daxlab assets import-shapenet DIR

    Example: daxlab assets --out sheet.png
    """

    out: Path = Path("out/sheet.png")
    """Picture file to write."""

    def run(self) -> None:
        """Write the contact sheet."""
        from daxlab.viewer.sheet import save_sheet

        self.out.parent.mkdir(parents=True, exist_ok=True)
        save_sheet(self.out)
        print(f"wrote {self.out}")


@dataclass(frozen=True)
class ImportShapenet:
    """Import the models of the paper's 31 classes from a folder of ShapeNetSem.

    Upright, in metres, of liftable size, with few triangles, coloured from materials and pictures; kept in daxlab's
    cache folder. What cannot be used is skipped, and the report says why.

    Example: daxlab assets import-shapenet ShapeNetSem
    """

    folder: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="DIR")]
    """The folder with metadata.csv, models-OBJ and models-textures."""
    again: bool = False
    """Make all meshes anew, also of models that did not change."""
    as_json: Annotated[bool, tyro.conf.arg(name="json")] = False
    """Print JSON."""

    def run(self) -> None:
        """Import and print the report."""
        from rich.console import Console

        from daxlab.assets.shapenet import import_folder
        from daxlab.assets.shapenet.store import store_file

        with Console(stderr=True).status("") as status:
            report = import_folder(self.folder, self.again, tell=status.update)
        if self.as_json:
            skipped = [{"model": name, "reason": reason} for name, reason in report.skipped]
            print(json.dumps({"imported": report.imported, "skipped": skipped, "other": report.other}, indent=2))
            return
        show([{"class": name, "models": report.imported[name]} for name in sorted(report.imported)], False, "imported")
        lines = report.lines()
        print("\n".join(f"skipped {line}" for line in lines[:MOST_LINES]))
        if len(lines) > MOST_LINES:
            print(f"… and {len(lines) - MOST_LINES} more")
        print(report.summary())
        print(f"meshes and report.txt are in {store_file().parent}")


ASSETS: dict[str, Callable[..., Any]] = {"import-shapenet": ImportShapenet}
