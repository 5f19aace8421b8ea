"""What the page shows of one moment, as plain data: the live view and the replay file draw the same panels from it."""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jax import Array
from jaxtyping import Float, Int, UInt8
from PIL import Image

from daxlab.levels.cast import things
from daxlab.levels.env import Env
from daxlab.levels.episode import RIGHT, RUNNING, TIMEOUT, WRONG, Episode, text
from daxlab.levels.layout import furniture_names, plans
from daxlab.levels.spec import DISCOVERY, DISTRACTOR, INSTRUCTION, Level
from daxlab.levels.vocabulary import WORDS
from daxlab.render import cpu
from daxlab.render.scene import Scene
from daxlab.render.setup import TAN
from daxlab.viewer.mind import Thought
from daxlab.viewer.page import Shot, verdict

VIEW = (480, 360)
"""Width and height of the large view, pixels."""
BARS = 7
"""Actions whose probabilities are shown; of more, the likeliest."""
ROWS = 8
"""Views of the memory that are shown of each text that keyed them."""
TRAIL = 120
"""Most points of the agent's way on the map."""

OUTCOMES = {RUNNING: "", RIGHT: "right", WRONG: "wrong", TIMEOUT: "time out"}
PHASES = {DISCOVERY: "discovery", INSTRUCTION: "instruction", DISTRACTOR: "distractor"}

Picture = UInt8[np.ndarray, "h w 3"]
Panels = dict[str, Any]


class Showing(NamedTuple):
    """What a program must work out of a state before it can be shown."""

    scene: Scene
    text: Int[Array, " length"]
    plans: Float[Array, "f 2 2"]
    """Ground plans of the furniture: low and high corner."""


def showing(env: Env, state: Episode) -> Showing:
    """To be compiled: all of a state that takes more than looking it up."""
    return Showing(env.scene(state), text(env.level, state), plans(env.level, state.layout))


def picture(level: Level, shown: Showing, width: int, height: int) -> Picture:
    """The first-person view; drawn without a compiled program, so at any size at once."""
    return cpu.draw(*shown.scene, width, height, things(level))


def jpeg(pixels: Picture, quality: int = 88) -> str:
    """A picture for people, as the address of itself."""
    return _encode(pixels, "jpeg", quality=quality, subsampling=0)


def png(pixels: Picture) -> str:
    """A picture to the last bit, as the address of itself."""
    return _encode(pixels, "png", compress_level=4)


def webp(pixels: Picture, quality: int) -> str:
    """A picture in half the bytes, slower to make; of quality 100 to the last bit."""
    return _encode(pixels, "webp", quality=quality, method=4, lossless=quality == 100)


def _encode(pixels: Picture, kind: str, **options: int) -> str:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind.upper(), **options)
    return f"data:image/{kind};base64,{base64.b64encode(file.getvalue()).decode()}"


def key_of(address: str) -> str:
    """A short name of a picture, the same for the same picture."""
    return hashlib.blake2s(address.encode(), digest_size=8).hexdigest()


class Row(NamedTuple):
    """A view in the memory."""

    step: int
    text: str
    picture: str
    """Its key."""


def panels(
    level: Level, shot: Shot, shown: Showing, trail: Sequence[Episode], thought: Thought | None, rows: Iterable[Row]
) -> Panels:
    """Everything but the pictures. `rows` are those that the memory holds; `trail` the states of this phase so far."""
    state = shot.state
    return {
        "clock": int(state.clock),
        "limit": level.episode_steps,
        "phase": PHASES[int(state.phase)],
        "text": shot.text,
        "heard": [WORDS[int(name)] for name in state.names[state.visited]],
        "reward": round(float(state.reward), 4),
        "earned": round(shot.earned, 4),
        "total": round(shot.total, 4),
        "outcome": OUTCOMES[int(state.outcome)],
        "verdict": verdict(shot) if shot.ended else "",
        "led": shot.action,
        "fixated": int(state.phase) == DISCOVERY and int(state.fixated) >= 0,
        "held": int(state.world.held),
        "map": plan(level, shot, shown, trail),
        "mind": None if thought is None else mind(level.actions, thought, rows),
    }


def plan(level: Level, shot: Shot, shown: Showing, trail: Sequence[Episode]) -> Panels:
    """The room from above, metres."""
    state = shot.state
    world, props = state.world, state.props
    width, height = level.picture
    every = -(-len(trail) // TRAIL)
    walked = [*trail[: -1 or None : max(1, every)], *trail[-1:]]
    return {
        "room": _list(props.room[:2]),
        "furniture": [
            {"name": name, "low": _list(low), "high": _list(high)}
            for name, (low, high) in zip(furniture_names(level), np.asarray(shown.plans), strict=True)
        ],
        "objects": [
            {
                "slot": slot,
                "name": WORDS[int(state.names[slot])],
                "thing": shot.things[int(state.layout.mesh[slot])],
                "at": _list(world.position[slot]),
                "radius": round(float(props.radius[slot]), 3),
                "there": bool(props.present[slot]),
                "heard": bool(state.visited[slot]),
                "asked": slot == int(state.target) and int(state.phase) != DISCOVERY,
                "seen": slot == int(state.fixated),
                "held": slot == int(world.held),
            }
            for slot in range(len(state.names))
        ],
        "agent": [*_list(world.agent), round(float(world.heading), 3)],
        "half_view": round(float(np.arctan(TAN * width / height)), 3),
        "trail": [_list(past.world.agent) for past in walked],
    }


def mind(actions: Sequence[str], thought: Thought, rows: Iterable[Row]) -> Panels:
    """What the agent makes of what it sees: likeliest actions, value, and its memory by the texts that keyed it."""
    order = np.argsort(-thought.probabilities, kind="stable")[:BARS].tolist()
    if thought.action >= 0 and thought.action not in order:
        order[-1] = thought.action
    bars = [
        {"action": actions[i], "p": round(float(thought.probabilities[i]), 4), "taken": i == thought.action}
        for i in order
    ]
    memory = None if thought.held is None else _memory(thought, rows)
    return {"value": round(thought.value, 3), "actions": len(actions), "bars": bars, "memory": memory}


def _memory(thought: Thought, rows: Iterable[Row]) -> Panels:
    groups: dict[str, list[Row]] = {}
    for row in sorted(rows):
        groups.setdefault(row.text, []).append(row)
    return {"rows": len(thought.held or ()), "groups": [_group(text, rows, thought) for text, rows in groups.items()]}


def _group(text: str, rows: list[Row], thought: Thought) -> Panels:
    """The rows that one text keyed: those read most now, then the newest, in the order they were written."""
    share = {row.step: thought.shares.get(row.step, 0.0) for row in rows}
    shown = sorted(sorted(rows, key=lambda row: (-share[row.step], -row.step))[:ROWS])
    return {
        "text": text,
        "word": text.rpartition(" ")[2],
        "count": len(rows),
        "share": round(sum(share.values()), 4),
        "rows": [{"step": row.step, "share": round(share[row.step], 4), "picture": row.picture} for row in shown],
    }


def same_phase(states: Sequence[Episode]) -> Sequence[Episode]:
    """The last of the states, as far back as the present phase goes."""
    first = len(states) - 1
    while first > 0 and _place(states[first - 1]) == _place(states[-1]):
        first -= 1
    return states[first:]


def _place(state: Episode) -> tuple[int, int]:
    return int(state.phase), 0 if state.agenda is None else int(state.agenda.at)


def thing_names(level: Level) -> tuple[str, ...]:
    """What each mesh of a level is, in a word."""
    return tuple(name.rstrip(" 0123456789") for name in things(level).names)


def _list(numbers: Any) -> list[float]:
    return [round(float(x), 3) for x in numbers]
