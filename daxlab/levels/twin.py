"""A level's twin at the desk: the same question, asked where a run takes minutes.

    daxlab train desk/num_generalization/fast_map_five_objs

Every level without rounds and distractors has a twin, whose name is ``desk/`` and the level's own. It differs as
`desk/fast_map_three_objs` does from `architecture_comparison/fast_map_three_objs`: the agent sits at a desk and turns
its head, its view is 24×24 pixels, a G of thirty objects shrinks to ten, and twenty words are enough. Where something
is to be put, it is put on the tray or on the box that stand beside the agent. A corridor's twin is the same corridor in
24×24 pixels. Mixtures have twins, too.
"""

from __future__ import annotations

from dataclasses import replace

from daxlab.assets.catalog import TRAIN_OBJECTS
from daxlab.errors import DaxlabError
from daxlab.levels.catalogue import DESK_ACTIONS, desk
from daxlab.levels.spec import Level

PREFIX = "desk/"
_PUTTING_ACTIONS = (
    *DESK_ACTIONS,
    "GRAB + LOOK_RIGHT(1)",
    "GRAB + LOOK_RIGHT(-1)",
    "GRAB + LOOK_RIGHT(0.2)",
    "GRAB + LOOK_RIGHT(-0.2)",
)
_GOALS = (("on", "tray"), ("on", "box"))
"""For every pair of places. To drop something into the box takes centimetres that a turning head does not have."""


def twin(level: Level, carries: bool = False) -> Level:
    """The level at the desk; with ``carries``, with the actions to turn with something in the hand in any case."""
    (home,) = desk()
    name = PREFIX + level.name
    if level.setting == "corridor":
        return replace(level, name=name, picture=home.picture)
    if level.has_agenda or level.setting == "desk":
        raise DaxlabError(f"{level.name!r} has no twin at the desk: rounds, distractors and the desk's own have none")
    goals = _GOALS if level.goals else ()
    longer = max(1.0, level.num_objects / home.num_objects) + (0.5 if goals else 0.0)
    return replace(
        home,
        name=name,
        objects=home.objects if level.objects == TRAIN_OBJECTS else level.objects,
        exemplars=level.exemplars,
        extension=level.extension,
        num_objects=level.num_objects,
        regime=level.regime,
        two_phase=level.two_phase,
        shaping=level.shaping,
        furniture=("box", "tray") if level.furniture else (),
        goals=goals,
        actions=_PUTTING_ACTIONS if level.furniture or carries else home.actions,
        discovery_steps=int(home.discovery_steps * longer),
        episode_steps=int(home.episode_steps * longer),
    )
