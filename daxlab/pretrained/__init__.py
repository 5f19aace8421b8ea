"""Trained agents in the package: `pretrained:NAME` is allowed wherever a run or a weights file is.

    load_agent("pretrained:room")
    daxlab evaluate --weights pretrained:room

Beside each NAME.safetensors lies its model card, NAME.md. `export` makes such a file of a run.
"""

from __future__ import annotations

from pathlib import Path

from daxlab.errors import DaxlabError, unknown

PREFIX = "pretrained:"
FOLDER = Path(__file__).parent


def names() -> list[str]:
    """The agents in the package."""
    return sorted(path.stem for path in FOLDER.glob("*.safetensors"))


def resolve(where: str | Path) -> Path:
    """The path of a run or weights file, of which `pretrained:NAME` is one."""
    if not str(where).startswith(PREFIX):
        path = Path(where)
        if not path.exists():
            raise DaxlabError(f"there is no run, checkpoint or weights file at {path}")
        return path
    name = str(where)[len(PREFIX) :]
    if name not in names():
        raise unknown("pretrained agent", name, names())
    return FOLDER / f"{name}.safetensors"


def card(name: str) -> str:
    """The model card: level, steps, seed, commit, success and licence."""
    return resolve(PREFIX + name).with_suffix(".md").read_text()
