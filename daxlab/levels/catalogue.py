"""The levels as data, one function a group. Names are the release's; docs/levels.md says what in them is inferred."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from daxlab.assets.catalog import HELDOUT_OBJECTS, TRAIN_OBJECTS
from daxlab.assets.categories import HELDOUT_CATEGORIES, TRAIN_CATEGORIES
from daxlab.levels.spec import Level
from daxlab.levels.vocabulary import NONSENSE
from daxlab.world.state import Physics

_NUMBERS = {"three": 3, "five": 5, "eight": 8, "ten": 10, "twenty": 20}

_EXEMPLARS = 46
"""Of each class: the paper has 1,437 models of 31 classes, 46 a class on average."""

DESK_ACTIONS = (
    "NOOP",
    "LOOK_RIGHT(1)",
    "LOOK_RIGHT(-1)",
    "LOOK_DOWN(1)",
    "LOOK_DOWN(-1)",
    "GRAB",
    "GRAB + LOOK_DOWN(1)",
    "GRAB + LOOK_DOWN(-1)",
)

_CORRIDOR_ACTIONS = (
    "MOVE_FORWARD(1)",
    "MOVE_FORWARD(-1)",
    "MOVE_RIGHT(1)",
    "MOVE_RIGHT(-1)",
    "LOOK_RIGHT(0.5)",
    "LOOK_RIGHT(-0.5)",
    "MOVE_FORWARD(1) + LOOK_RIGHT(0.5)",
    "MOVE_FORWARD(1) + LOOK_RIGHT(-0.5)",
)
"""Those that agents in DeepMind Lab are usually given, less the one that fires."""


def architecture_comparison() -> Iterator[Level]:
    """Table 1: three objects of thirty; and its twin with permanent names, which is ours."""
    yield Level(name="architecture_comparison/fast_map_three_objs")
    yield Level(name="architecture_comparison/slow_learn_three_objs", regime="slow")


def num_generalization() -> Iterator[Level]:
    """Section 4.1: other numbers of objects in the room."""
    for word in ("three", "five", "eight"):
        yield Level(name=f"num_generalization/fast_map_{word}_objs", num_objects=_NUMBERS[word])


def new_obj_generalization() -> Iterator[Level]:
    """Section 4.1: the first |G| objects by alphabet to train with, and ten others to be tested with."""
    group = "new_obj_generalization"
    for word in ("three", "five", "ten", "twenty"):
        yield Level(name=f"{group}/fast_map_three_objs_global_{word}", objects=TRAIN_OBJECTS[: _NUMBERS[word]])
    yield Level(name=f"{group}/fast_map_heldout_test_objs", objects=HELDOUT_OBJECTS)


def intrinsic_motivation() -> Iterator[Level]:
    """Section 4.2: no reward for visits."""
    yield Level(name="intrinsic_motivation/fast_map_three_objs_no_shaping_reward", shaping=0.0)


def fast_slow() -> Iterator[Level]:
    """Section 4.3, with the release's bed and tray: fast-mapped names, conventional instructions, and both at once."""
    yield Level(name="fast_slow/fast_map_three_objs")
    fast = Level(name="fast_slow/fast_map_three_objs_bed_tray", furniture=("bed", "tray"))
    slow = replace(fast, regime="slow", two_phase=False)
    yield fast
    yield replace(slow, name="fast_slow/slow_learn_three_objs_bed_tray_lifting")
    for relation in ("near", "on"):
        goals = ((relation, "bed"), (relation, "tray"))
        named = f"learn_three_objs_bed_tray_putting_{relation}"
        yield replace(fast, name=f"{fast.name}_putting_{relation}", goals=goals)
        yield replace(slow, name=f"fast_slow/slow_{named}", goals=goals)
        yield replace(slow, name=f"fast_slow/two_phase_slow_{named}", goals=goals, two_phase=True)
    yield replace(
        fast,
        name="fast_slow/test_holdout_fast_map_three_objs_bed_tray_putting_on",
        goals=(("on", "bed"), ("on", "tray")),
        objects=HELDOUT_OBJECTS,
    )


def bed_box() -> Iterator[Level]:
    """Ours by name, section 4.3's by content: the paper's own bed and box, on the one or in the other."""
    fast = Level(name="bed_box/fast_map_three_objs_lifting", furniture=("bed", "box"))
    goals = (("on", "bed"), ("in", "box"))
    for level in (fast, replace(fast, name="bed_box/slow_learn_three_objs_lifting", regime="slow", two_phase=False)):
        yield level
        yield replace(level, name=level.name.replace("lifting", "putting"), goals=goals)
    yield replace(fast, name="bed_box/test_holdout_fast_map_three_objs_putting", goals=goals, objects=HELDOUT_OBJECTS)


def with_distractors() -> Iterator[Level]:
    """Of the release's later paper (Lampinen et al. 2021, section 3.3): names to be kept while other things happen."""
    long = Level(name="with_distractors/fast_map_three_objs", episode_steps=4500)
    group, counts = "with_distractors", {"no": 0, "one": 1, "two": 2, "five": 5, "ten": 10, "twenty": 20}
    for word in ("no", "one", "two"):
        yield replace(long, name=f"{group}/fast_map_three_objs_{word}_distractor", distractors=counts[word])
    for word in ("ten", "twenty"):
        yield replace(long, name=f"{group}/eval_fast_map_three_objs_{word}_distractor", distractors=counts[word])
    for rounds, episodes, word in ((2, "two", "five"), (3, "three", "five"), (4, "four", "no"), (4, "four", "one")):
        name = f"{group}/eval_fast_map_{episodes}_episodes_three_objs_{word}_distractor"
        yield replace(long, name=name, rounds=rounds, distractors=counts[word])


def category_extension() -> Iterator[Level]:
    """Section 4.1, ours by name: classes of things, with the same or with other exemplars in the instruction."""
    plain = Level(name="category_extension/fast_map_three_objs", objects=TRAIN_CATEGORIES, exemplars=_EXEMPLARS)
    for level in (plain, replace(plain, name=f"{plain.name}_extension", extension=True)):
        yield level
        yield replace(level, name=level.name.replace("/", "/test_holdout_"), objects=HELDOUT_CATEGORIES)


def corridor() -> Iterator[Level]:
    """The appendix's task in DeepMind Lab, 60 s as in its release: three objects are met in a corridor, then two."""
    train = Level(
        name="corridor/fast_map_train",
        setting="corridor",
        choices=2,
        actions=_CORRIDOR_ACTIONS,
        room=(4.0, 4.0, 2.6),
        # As in the authors' code; the paper's words are that a name is given once its object is collected.
        named_before=True,
        linger=5,
        # Nothing but walking ends the corridor, and there is nothing to grip.
        discovery_steps=599,
        episode_steps=600,
        physics=Physics(eye_height=0.5, reach=0.0),
    )
    for regime in ("fast", "slow"):
        level = replace(train, name=f"corridor/{regime}_map_train", regime=regime)
        yield level
        yield replace(level, name=f"corridor/{regime}_map_test", objects=HELDOUT_OBJECTS)


def desk() -> Iterator[Level]:
    """Ours: the two-phase task without the walking, for minutes on a CPU."""
    yield Level(
        name="desk/fast_map_three_objs",
        setting="desk",
        objects=TRAIN_OBJECTS[::3],
        words=NONSENSE[:20],
        actions=DESK_ACTIONS,
        picture=(24, 24),
        discovery_steps=40,
        episode_steps=80,
        linger=2,
        lift_height=0.1,
        physics=Physics(eye_height=1.15, agent_height=1.25, slack=0.06),
    )


GROUPS = (
    architecture_comparison,
    num_generalization,
    new_obj_generalization,
    intrinsic_motivation,
    fast_slow,
    with_distractors,
    bed_box,
    category_extension,
    corridor,
    desk,
)
"""Every group, in the paper's order; ours last."""

_CONVENTIONAL = (
    "fast_slow/slow_learn_three_objs_bed_tray_lifting",
    "fast_slow/slow_learn_three_objs_bed_tray_putting_near",
    "fast_slow/slow_learn_three_objs_bed_tray_putting_on",
)
_ZERO_SHOT = (*_CONVENTIONAL, "fast_slow/fast_map_three_objs", "fast_slow/fast_map_three_objs_bed_tray")
_CATEGORIES = ("category_extension/fast_map_three_objs", "category_extension/fast_map_three_objs_extension")
_ZERO_SHOT_BOX = (
    "bed_box/slow_learn_three_objs_lifting",
    "bed_box/slow_learn_three_objs_putting",
    "bed_box/fast_map_three_objs_lifting",
)

MIXTURES: dict[str, tuple[str, ...]] = {
    "fast_slow/zero_shot": _ZERO_SHOT,
    "fast_slow/with_fast_putting": (*_ZERO_SHOT, "fast_slow/fast_map_three_objs_bed_tray_putting_on"),
    "bed_box/zero_shot": _ZERO_SHOT_BOX,
    "bed_box/with_fast_putting": (*_ZERO_SHOT_BOX, "bed_box/fast_map_three_objs_putting"),
    "category_extension/with_and_without": _CATEGORIES,
}
"""Section 4.3's two training regimes, all levels with equal weight: without any fast-mapped putting, and with it. And
classes with other and with the same exemplars in the instruction, by halves: an easier way to learn the first."""
