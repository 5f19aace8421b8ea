"""Levels at the desk: the same question as in the room, and the expert answers it."""

import dataclasses

import numpy as np
import pytest

from daxlab.assets.catalog import TRAIN_OBJECTS
from daxlab.errors import DaxlabError
from daxlab.levels.catalogue import MIXTURES
from daxlab.levels.env import Env
from daxlab.levels.layout import furniture_names
from daxlab.levels.play import play_both
from daxlab.levels.registry import get, levels, weights
from daxlab.levels.twin import twin

HAS_TWIN = [level for level in levels().values() if not level.has_agenda and level.setting != "desk"]
ASKED = ("exemplars", "extension", "num_objects", "choices", "regime", "two_phase", "shaping")


@pytest.mark.parametrize("level", HAS_TWIN, ids=lambda level: level.name)
def test_a_twin_asks_what_its_level_asks(level):
    at_desk = get(f"desk/{level.name}")
    assert at_desk.name == f"desk/{level.name}"
    for name in ASKED:
        assert getattr(at_desk, name) == getattr(level, name), name
    assert at_desk.chance == level.chance
    assert bool(at_desk.goals) == bool(level.goals)
    assert at_desk.picture == (24, 24)
    if level.objects != TRAIN_OBJECTS:
        assert at_desk.objects == level.objects
    else:
        assert set(at_desk.objects) <= set(level.objects)


def test_the_plain_twin_is_the_desk():
    mine, home = get("desk/architecture_comparison/fast_map_three_objs"), get("desk/fast_map_three_objs")
    assert {**mine.facts, "name": ""} == {**home.facts, "name": ""}


@pytest.mark.parametrize("name", MIXTURES)
def test_the_levels_of_a_mixture_can_be_mixed_at_the_desk(name):
    at_desk = weights(f"desk/{name}")
    assert [level.name for level in at_desk] == [f"desk/{level}" for level in MIXTURES[name]]
    assert len({level.actions for level in at_desk}) == 1


@pytest.mark.parametrize("name", ["desk/with_distractors/fast_map_three_objs_one_distractor"])
def test_there_is_no_twin_of_many_phases(name):
    with pytest.raises(DaxlabError, match="no twin at the desk"):
        get(name)
    with pytest.raises(DaxlabError, match="no twin at the desk"):
        twin(get("desk/fast_map_three_objs"))


@pytest.mark.parametrize("name", ["num_generalization/fast_map_eight_objs", "bed_box/fast_map_three_objs_putting"])
def test_the_expert_solves_it_and_chance_is_chance(name):
    env = Env(f"desk/{name}")
    played = play_both(env, 200, seed=1)
    assert np.mean(played["expert"].outcome == 1) >= 0.99
    assert played["expert"].discovered.all()
    chance = env.level.chance
    assert abs(np.mean(played["random-object"].outcome == 1) - chance) < 4 * np.sqrt(chance * (1 - chance) / 200)


def test_many_objects_stand_all_round():
    assert furniture_names(get("desk/num_generalization/fast_map_five_objs")) == ("ring",)
    assert furniture_names(get("desk/fast_map_three_objs")) == ("desk",)


@pytest.mark.parametrize(
    "changes",
    [{"furniture": ("bed",)}, {"furniture": ("box", "tray", "box")}, {"furniture": ("box",), "num_objects": 5}],
)
def test_what_has_no_place_beside_a_desk_is_refused(changes):
    with pytest.raises(DaxlabError, match="beside a desk"):
        dataclasses.replace(get("desk/fast_map_three_objs"), **changes)
