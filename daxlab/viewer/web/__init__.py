"""The page of `daxlab view` and of its replays, put together from its parts into one file."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent


def page(last: str, data: str = "") -> str:
    """The page: `last` is the script that drives its panels, `data` one that comes before it."""
    html = (FOLDER / "page.html").read_text()
    parts = {"style": FOLDER / "style.css", "panels": FOLDER / "panels.js", "last": FOLDER / last}
    for mark, path in parts.items():
        html = html.replace(f"/*{mark}*/", path.read_text(), 1)
    return html.replace("/*data*/", data, 1)
