"""Reads files of a folder that somebody else filled: never outside it, never more than was asked for."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from daxlab.errors import DaxlabError


class Skipped(Exception):
    """Why a model is left out, as the end of a sentence that begins with its name."""


class Missing(Skipped):
    """A file that is not there."""


def shown(name: str) -> str:
    """A name from a file, safe to print: quoted, control characters escaped, at most 80 of them."""
    return repr(name if len(name) <= 80 else name[:79] + "…")


@dataclass(frozen=True)
class Folder:
    """A folder whose files may be read and whose links lead nowhere else."""

    root: Path

    @staticmethod
    def at(path: Path) -> Folder:
        """The folder that a person named: a link to it is theirs to give."""
        root = Path(os.path.realpath(path))
        if not root.is_dir():
            raise DaxlabError(f"{path} is no folder; give the one that holds metadata.csv")
        return Folder(root)

    def real(self, name: str) -> Path:
        """Where a relative name leads, links and ``..`` followed; refused if that is outside."""
        try:
            real = Path(os.path.realpath(self.root / name))
        except (OSError, ValueError) as error:
            raise Skipped(f"{shown(name)} is no usable path") from error
        if not real.is_relative_to(self.root):
            raise Skipped(f"{shown(name)} points outside the folder")
        return real

    def read(self, name: str, limit: int) -> bytes:
        """The bytes of a plain file of at most ``limit`` of them."""
        real = self.real(name)
        # A pipe must not be waited for, and a link that appears after the check above must not be followed.
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        try:
            descriptor = os.open(real, flags)
            try:
                status = os.fstat(descriptor)
                if not stat.S_ISREG(status.st_mode):
                    raise Skipped(f"{shown(name)} is no plain file")
                if status.st_size > limit:
                    raise Skipped(f"{shown(name)} has {_size(status.st_size)}; at most {_size(limit)} are read")
                with open(descriptor, "rb", closefd=False) as file:
                    data = file.read(limit + 1)
            finally:
                os.close(descriptor)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise Missing(f"{shown(name)} is missing") from error
        except OSError as error:
            raise Skipped(f"{shown(name)} cannot be read ({error.strerror})") from error
        if len(data) > limit:
            raise Skipped(f"{shown(name)} grew beyond {_size(limit)} while it was read")
        return data

    def find(self, names: Iterable[str]) -> str:
        """The first of these names that is there; one that leads outside is refused, whether it is there or not."""
        names = tuple(names)
        for name in names:
            if os.path.exists(self.real(name)):
                return name
        raise Missing(f"{shown(names[0])} is missing")


def _size(count: int) -> str:
    return f"{count / 2**20:,.1f} MiB"
