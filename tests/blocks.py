"""The code blocks of a page, as a reader would run them.

Python blocks run in order in one namespace. Of a shell block each `daxlab` and `make` line is parsed by the command
line itself; after `<!-- test: run -->` the `daxlab` lines are run, in a world made small (`SMALLER`). A block after
`<!-- test: skip (why) -->` is left alone.
"""

from __future__ import annotations

import re
import shlex
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
SMALLER = {"--episodes": "8", "--steps": "48"}
"""Options whose values are replaced where a line is run."""

FENCE = re.compile(
    r"^(?:<!-- test: (?P<mark>run|parse|skip \(.+\)) -->\n)?^```(?P<language>\w+)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


class Block(NamedTuple):
    language: str
    mark: str
    text: str
    line: int


def blocks(text: str) -> list[Block]:
    found = []
    for match in FENCE.finditer(text):
        line = text.count("\n", 0, match.start("text")) + 1
        found.append(Block(match["language"], (match["mark"] or "").split(" ")[0], match["text"], line))
    return found


def commands(block: Block) -> Iterator[list[str]]:
    """The words of each line of a shell block, comments left out."""
    for line in block.text.splitlines():
        words = shlex.split(line, comments=True)
        if words[-1:] == ["&"]:
            words.pop()
        if words:
            yield words


def smaller(words: list[str]) -> list[str]:
    return [SMALLER.get(before, word) for before, word in zip(["", *words], words, strict=False)]


class Reader:
    """Runs pieces of Python one after another, as those of one module."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.module = types.ModuleType("page")
        # Dataclasses look for their module there.
        monkeypatch.setitem(sys.modules, "page", self.module)

    def run(self, text: str, file: str, line: int = 1) -> None:
        code = compile("\n" * (line - 1) + text, file, "exec", dont_inherit=True)
        exec(code, vars(self.module))
