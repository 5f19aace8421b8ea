"""The levels by name."""

from __future__ import annotations

from functools import cache

from daxlab.assets.catalog import TRAIN_OBJECTS
from daxlab.errors import unknown
from daxlab.levels.spec import Level
from daxlab.levels.vocabulary import NONSENSE
from daxlab.world.state import Physics

_DESK_ACTIONS = (
    "NOOP",
    "LOOK_RIGHT(1)",
    "LOOK_RIGHT(-1)",
    "LOOK_DOWN(1)",
    "LOOK_DOWN(-1)",
    "GRAB",
    "GRAB + LOOK_DOWN(1)",
    "GRAB + LOOK_DOWN(-1)",
)


@cache
def levels() -> dict[str, Level]:
    """Every level, by name."""
    desk = Level(
        name="desk/fast_map_three_objs",
        setting="desk",
        objects=TRAIN_OBJECTS[::3],
        words=NONSENSE[:20],
        actions=_DESK_ACTIONS,
        picture=(24, 24),
        discovery_steps=40,
        episode_steps=80,
        linger=2,
        lift_height=0.1,
        physics=Physics(eye_height=1.15, agent_height=1.25, slack=0.06),
    )
    every = (
        Level(name="architecture_comparison/fast_map_three_objs"),
        Level(name="architecture_comparison/slow_learn_three_objs", regime="slow"),
        desk,
    )
    return {level.name: level for level in every}


def get(name: str) -> Level:
    """The level of that name; an error that lists near names if there is none."""
    if name not in levels():
        raise unknown("level", name, levels())
    return levels()[name]
