"""A replay: an episode as one HTML file with the panels of `daxlab view`. It needs no server and no network.

>>> film("desk/fast_map_three_objs", "expert", "episode.html")
"""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax

from daxlab.compilation import BRIEFEST
from daxlab.levels.env import Env
from daxlab.viewer.mind import Thought
from daxlab.viewer.page import Shot
from daxlab.viewer.panels import Row, key_of, panels, picture, same_phase, showing, webp
from daxlab.viewer.web import page


class Size(NamedTuple):
    """How the pictures of a replay are kept."""

    view: tuple[int, int]
    quality: int
    own_quality: int
    """Of the agent's own view; 100 is to the last bit."""


SHORT, LONG = Size((480, 360), 80, 100), Size((240, 180), 50, 60)
"""A long film is not so large a file: up to `MOST_SHORT` moments are kept well."""
MOST_SHORT = 300


def write(path: Path, env: Env, shots: Sequence[Shot], thoughts: Sequence[Thought] | None, title: str) -> None:
    """Write the moments of one or more episodes, with what an agent made of them if it was one."""
    data = tell(env, shots, thoughts, title)
    # A page may hold any text but the end of its script.
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    path.write_text(page("replay.js", f"const REPLAY = {text};"))


def tell(env: Env, shots: Sequence[Shot], thoughts: Sequence[Thought] | None, title: str) -> dict[str, Any]:
    """All that the file shows."""
    level = env.level
    show = jax.jit(functools.partial(showing, env), compiler_options=BRIEFEST)
    size = SHORT if len(shots) <= MOST_SHORT else LONG
    pictures: dict[str, str] = {}
    frames: list[dict[str, Any]] = []
    began: list[int] = []
    seen: list[str] = []
    for i, shot in enumerate(shots):
        began.append(i if int(shot.state.clock) == 0 else began[-1])
        shown = jax.device_get(show(shot.state))
        thought = None if thoughts is None else thoughts[i]
        own = picture(level, shown, env.width, env.height) if thought is None else thought.rgb
        address = webp(own, size.own_quality)
        seen.append(key_of(address))
        pictures[seen[-1]] = address
        held = sorted((thought.held or ()) if thought is not None else ())
        rows = [Row(step, shots[began[i] + step].text, seen[began[i] + step]) for step in held]
        trail = same_phase([shot.state for shot in shots[began[i] : i + 1]])
        told = panels(level, shot, shown, trail, thought, rows)
        view = webp(picture(level, shown, *size.view), size.quality)
        frames.append(told | {"view": view, "seen": seen[-1], "size": [env.width, env.height], "note": _note(thoughts)})
    return {"title": title, "frames": frames, "pictures": pictures}


def _note(thoughts: Sequence[Thought] | None) -> str:
    return "no policy to show: a script acts, which sees the state itself" if thoughts is None else ""
