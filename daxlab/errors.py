"""The one exception that is meant for the person at the keyboard."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class DaxlabError(ValueError):
    """Bad input. The message is one sentence: what was given and what is allowed.

    The command line prints it and exits with code 2.
    """


def unknown(kind: str, given: str, allowed: Iterable[str]) -> DaxlabError:
    """An error for a name that is not in a list, with the near names (or the first few) in it."""
    allowed = list(allowed)
    near = difflib.get_close_matches(given, allowed, n=3, cutoff=0.5)
    if near:
        return DaxlabError(f"unknown {kind} {given!r}; did you mean {' or '.join(near)}?")
    shown = ", ".join(allowed[:8]) + (", …" if len(allowed) > 8 else "")
    return DaxlabError(f"unknown {kind} {given!r}; allowed: {shown}")


def need(package: str, extra: str) -> DaxlabError:
    """An error for an optional package that is not installed."""
    return DaxlabError(f"{package} is not installed; it comes with: pip install 'daxlab[{extra}]'")
