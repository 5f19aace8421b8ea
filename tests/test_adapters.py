import importlib
import sys
import warnings
from dataclasses import replace
from functools import cache

import jax
import numpy as np
import pytest

from daxlab.errors import DaxlabError
from daxlab.levels import registry
from daxlab.levels.env import Env
from daxlab.levels.episode import RIGHT, RUNNING, WRONG
from daxlab.levels.expert import actor
from daxlab.levels.vocabulary import decode

gymnasium = pytest.importorskip("gymnasium")
dm_env = pytest.importorskip("dm_env")

from absl.testing import absltest  # noqa: E402
from dm_env import test_utils  # noqa: E402
from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.vector import AutoresetMode  # noqa: E402

from daxlab.adapters.dm import DaxEnvironment  # noqa: E402
from daxlab.adapters.gym import DaxGymEnv, DaxVectorEnv, env_id, read, register  # noqa: E402

DESK = "desk/fast_map_three_objs"
STEPS = 30
SHORT = replace(registry.get(DESK), name="desk/short", discovery_steps=20, episode_steps=STEPS, picture=(48, 36))
"""One level for all tests, so that it is compiled once: time enough for a lift, and soon over without one."""
NOOP, RIGHTWARDS = 0, 1
ROOMS = 3


@cache
def functions(name: str):
    """Start of an episode, and the step of a scripted actor: its action and the state after."""
    env = Env(SHORT)

    def step(state):
        action = actor(name)(SHORT, state)
        return action, env.advance(state, action)

    return jax.jit(env.start), jax.jit(step)


def script(name: str, seed: int) -> tuple[list[int], int]:
    """The actions of a scripted actor in the first episode of a seed, and how it ends."""
    start, step = functions(name)
    state, actions = start(jax.random.key(seed)), []
    while int(state.outcome) == RUNNING:
        action, state = step(state)
        actions.append(int(action))
    return actions, int(state.outcome)


@pytest.fixture(scope="module")
def right() -> list[int]:
    actions, outcome = script("expert", 0)
    assert outcome == RIGHT
    return actions


@pytest.fixture(scope="module")
def wrong() -> tuple[int, list[int]]:
    """A seed and actions that lift another object than the one asked for."""
    for seed in range(20):
        actions, outcome = script("random-object", seed)
        if outcome == WRONG:
            return seed, actions
    raise AssertionError("no wrong lift in 20 seeds")


def play(env, actions, seed=None):
    """Reset and the steps' results."""
    return env.reset(seed=seed), [env.step(action) for action in actions]


def same(a, b) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True))


class TestDmEnv(test_utils.EnvironmentTestMixin, absltest.TestCase):
    def make_object_under_test(self):
        return DaxEnvironment(SHORT)

    def make_action_sequence(self):
        return [RIGHTWARDS] * (STEPS + 5)


class TestDmEnvContinuous(test_utils.EnvironmentTestMixin, absltest.TestCase):
    def make_object_under_test(self):
        return DaxEnvironment(SHORT, continuous=True)


def test_dm_discount_is_one_at_a_timeout():
    env = DaxEnvironment(SHORT)
    env.reset()
    steps = [env.step(NOOP) for _ in range(STEPS)]
    assert [step.last() for step in steps] == [False] * (STEPS - 1) + [True]
    assert steps[-1].discount == 1.0
    assert env.step(NOOP).first()


def test_dm_discount_is_zero_at_a_lift_right_or_wrong(right, wrong):
    for seed, actions, reward in ((0, right, 1.0), (*wrong, 0.0)):
        env = DaxEnvironment(SHORT, seed=seed)
        env.reset()
        steps = [env.step(action) for action in actions]
        assert [step.last() for step in steps] == [False] * (len(actions) - 1) + [True]
        assert (steps[-1].discount, steps[-1].reward) == (0.0, reward)
        assert all(step.discount == 1.0 for step in steps[:-1])


def test_dm_text_is_readable_and_equals_its_tokens(right):
    env = DaxEnvironment(SHORT)
    env.reset()
    texts = [env.step(action).observation for action in right]
    assert all(o["TEXT"] == decode(o["TEXT_TOKENS"]) for o in texts)
    assert texts[-1]["TEXT"].startswith("Pick up a ")
    assert any(o["TEXT"].startswith("This is a ") for o in texts)


def test_dm_episodes_of_a_seed_are_the_same_again_and_differ_from_one_another():
    def firsts(seed):
        env = DaxEnvironment(SHORT, seed=seed)
        return [env.reset().observation["RGB_INTERLEAVED"] for _ in range(3)]

    a, b, c = firsts(0), firsts(0), firsts(1)
    assert same(a, b)
    assert not same(a, c)
    assert not np.array_equal(a[0], a[1])
    assert not np.array_equal(a[1], a[2])


@pytest.mark.parametrize("continuous", [False, True])
def test_gymnasium_checker(continuous):
    env = gymnasium.make(env_id(DESK), level=SHORT, continuous=continuous, render_mode="rgb_array")
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        check_env(env.unwrapped)


@pytest.mark.parametrize("continuous", [False, True])
def test_stable_baselines3_checker(continuous):
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        checker.check_env(DaxGymEnv(SHORT, continuous=continuous, render_mode="rgb_array"))


def test_every_level_has_an_id_and_registering_twice_is_harmless():
    register()
    for level in registry.levels():
        spec = gymnasium.spec(env_id(level))
        assert spec.kwargs == {"level": level}
        assert spec.vector_entry_point is not None
    assert env_id(DESK) == "daxlab/desk-fast_map_three_objs-v0"


def test_make_by_module_and_id():
    env = gymnasium.make(f"daxlab.adapters.gym:{env_id(DESK)}")
    assert isinstance(env.unwrapped, DaxGymEnv)


@pytest.fixture(params=["toml", "py"])
def file(request, tmp_path) -> str:
    """A file that says what `SHORT` is."""
    path = tmp_path / f"short.{request.param}"
    fields = f"discovery_steps = 20\nepisode_steps = {STEPS}\npicture = [48, 36]"
    script = "import tests.test_adapters\nlevel = tests.test_adapters.SHORT"
    path.write_text(script if request.param == "py" else f'name = "desk/short"\nbase = "{DESK}"\n{fields}')
    return str(path)


def test_a_level_s_file_is_as_good_as_a_level(file):
    made = gymnasium.make(env_id(DESK), level=file).unwrapped
    many = gymnasium.make_vec(env_id(DESK), num_envs=ROOMS, level=file).unwrapped
    for env, other in ((made, DaxGymEnv(SHORT)), (DaxGymEnv(file), DaxGymEnv(SHORT))):
        assert env.observation_space == other.observation_space
        assert same(play(env, [RIGHTWARDS] * 3, seed=1), play(other, [RIGHTWARDS] * 3, seed=1))
    wanted = play(DaxVectorEnv(SHORT, num_envs=ROOMS), [[RIGHTWARDS] * ROOMS], seed=1)
    assert same(play(many, [[RIGHTWARDS] * ROOMS], seed=1)[1][0][:4], wanted[1][0][:4])
    one, other = DaxEnvironment(file, seed=1), DaxEnvironment(SHORT, seed=1)
    assert one.observation_spec() == other.observation_spec()
    assert same(one.reset().observation["RGB_INTERLEAVED"], other.reset().observation["RGB_INTERLEAVED"])
    assert same(one.step(RIGHTWARDS).observation["TEXT_TOKENS"], other.step(RIGHTWARDS).observation["TEXT_TOKENS"])


def test_gym_info_and_render():
    env = DaxGymEnv(SHORT, render_mode="rgb_array")
    _, info = env.reset(seed=0)
    assert info["phase"] == "discovery"
    infos = [env.step(NOOP)[4] for _ in range(STEPS - 1)]
    assert infos[-1]["phase"] == "instruction"
    assert infos[-1]["text"].startswith("Pick up a ")
    assert env.render().shape == (480, 640, 3)
    assert DaxGymEnv(SHORT).render() is None


def test_gym_truncates_at_a_timeout_and_terminates_at_a_lift(right, wrong):
    _, steps = play(DaxGymEnv(SHORT), [NOOP] * STEPS, seed=0)
    assert [step[2:4] for step in steps] == [(False, False)] * (STEPS - 1) + [(False, True)]
    for seed, actions, success in ((0, right, True), (*wrong, False)):
        _, steps = play(DaxGymEnv(SHORT), actions, seed=seed)
        assert [step[2:4] for step in steps] == [(False, False)] * (len(actions) - 1) + [(True, False)]
        assert steps[-1][4]["success"] is success
        assert steps[-1][1] == float(success)


def test_an_unseeded_reset_is_random_at_first_and_then_the_next_episode():
    a, b = DaxGymEnv(SHORT), DaxGymEnv(SHORT)
    assert not same(a.reset()[0], b.reset()[0])
    a.reset(seed=3), b.reset(seed=3)
    assert same(a.reset(), b.reset())


def test_arrays_belong_to_the_caller():
    env = DaxGymEnv(SHORT)
    observation, _ = env.reset(seed=0)
    observation["rgb"][:] = 0
    assert env.step(NOOP)[0]["rgb"].any()


def some_actions():
    """Longer than an episode."""
    return np.random.default_rng(0).integers(0, len(SHORT.actions), (STEPS + 10, ROOMS))


def test_rooms_of_a_seed_play_what_single_rooms_play_across_episode_ends():
    envs = DaxVectorEnv(SHORT, num_envs=ROOMS)
    actions = some_actions()
    (observation, info), steps = play(envs, actions, seed=5)
    for i in range(ROOMS):
        env = DaxGymEnv(SHORT)
        first, first_info = env.reset(seed=5 + i)
        assert same(first, {k: v[i] for k, v in observation.items()})
        assert first_info["text"] == read(observation["text"])[i]
        assert first_info["phase"] == info["phase"][i]
        ended = False
        for action, step in zip(actions[:, i], steps, strict=True):
            expected = (env.reset()[0], 0.0, False, False) if ended else env.step(action)[:4]
            ended = expected[2] or expected[3]
            got = ({k: v[i] for k, v in step[0].items()}, step[1][i], step[2][i], step[3][i])
            assert same(expected, got)


def test_vector_agrees_with_gymnasiums_own_vector_of_single_rooms():
    ours = gymnasium.make_vec(env_id(DESK), num_envs=ROOMS, level=SHORT)
    theirs = gymnasium.make_vec(env_id(DESK), num_envs=ROOMS, level=SHORT, vectorization_mode="sync")
    assert isinstance(ours.unwrapped, DaxVectorEnv)
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    (a, _), a_steps = play(ours, some_actions(), seed=0)
    (b, _), b_steps = play(theirs, some_actions(), seed=0)
    assert same(a, b)
    assert all(same(x[:4], y[:4]) for x, y in zip(a_steps, b_steps, strict=True))
    assert any(x[3].any() for x in a_steps)


def test_next_step_autoreset_law():
    envs = DaxVectorEnv(SHORT, num_envs=ROOMS)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    still, turn = [NOOP] * ROOMS, [RIGHTWARDS] * ROOMS
    (first, _), steps = play(envs, [still] * (STEPS + 1), seed=0)
    last, fresh = steps[-2:]
    assert not any(step[3].any() for step in (*steps[:-2], fresh))
    assert last[3].all()
    assert (last[4]["phase"] == "instruction").all()
    assert (fresh[4]["phase"] == "discovery").all()
    assert (fresh[1] == 0).all()
    assert not same(first, fresh[0])
    # The action of that step is ignored.
    _, others = play(envs, [still] * STEPS + [turn], seed=0)
    assert same(fresh[0], others[-1][0])


def test_vector_same_seed_same_trajectory():
    def run(seed):
        return play(DaxVectorEnv(SHORT, num_envs=ROOMS), some_actions(), seed=seed)

    a, b, c = run(7), run(7), run(8)
    assert same([s[:4] for s in a[1]], [s[:4] for s in b[1]])
    assert not same(a[0][0], c[0][0])


def test_vector_spaces_hold_what_comes_back():
    for continuous in (False, True):
        envs = DaxVectorEnv(SHORT, num_envs=ROOMS, continuous=continuous, render_mode="rgb_array")
        envs.action_space.seed(0)
        observation, _ = envs.reset(seed=0)
        assert observation in envs.observation_space
        assert envs.step(envs.action_space.sample())[0] in envs.observation_space
    assert [frame.shape for frame in envs.render()] == [(480, 640, 3)] * ROOMS


@pytest.mark.parametrize(
    ("continuous", "action", "sentence"),
    [
        (False, 8, r"the action is 8; this level has actions 0…7"),
        (False, -1, r"the action is -1; this level has actions 0…7"),
        (False, 1.5, r"the action is of type float64; a whole number in 0…7 is needed"),
        (False, [1, 2], r"the action has shape \(2,\); \(\) is needed"),
        (True, 1.0, r"the action has shape \(\); \(9,\) is needed"),
        (True, [float("nan")] * 9, r"each must be a number in -1…1"),
        (True, ["a"] * 9, r"each must be a number in -1…1"),
    ],
)
def test_bad_actions_are_refused_with_a_sentence(continuous, action, sentence):
    env = DaxGymEnv(SHORT, continuous=continuous)
    env.reset(seed=0)
    with pytest.raises(DaxlabError, match=sentence):
        env.step(action)
    env = DaxEnvironment(SHORT, continuous=continuous)
    env.reset()
    with pytest.raises(DaxlabError, match=sentence):
        env.step(action)


def test_bad_input_is_refused_with_a_sentence():
    for make in (DaxEnvironment, DaxGymEnv, DaxVectorEnv):
        with pytest.raises(DaxlabError, match=f"did you mean {DESK}"):
            make("desk/fast_map_three_obj")
        with pytest.raises(DaxlabError, match=r"there is no level file mine\.toml"):
            make("mine.toml")
        with pytest.raises(DaxlabError, match="is a mixture; choose one of its levels: bed_box/"):
            make("bed_box/zero_shot")
        with pytest.raises(DaxlabError, match="at least 1 pixel"):
            make(DESK, width=0)
    with pytest.raises(DaxlabError, match="rooms is 0; at least 1 is needed"):
        DaxVectorEnv(DESK, num_envs=0)
    with pytest.raises(DaxlabError, match="unknown render mode 'human'; allowed: rgb_array"):
        DaxGymEnv(DESK, render_mode="human")
    with pytest.raises(DaxlabError, match=r"the action has shape \(2,\); \(3,\) is needed"):
        play(DaxVectorEnv(SHORT, num_envs=ROOMS), [[0, 0]], seed=0)


def test_a_step_without_an_episode_is_refused():
    env = DaxGymEnv(SHORT)
    with pytest.raises(DaxlabError, match=r"call reset\(\) first"):
        env.step(NOOP)
    play(env, [NOOP] * STEPS, seed=0)
    with pytest.raises(DaxlabError, match=r"call reset\(\) first"):
        env.step(NOOP)


@pytest.mark.parametrize(("module", "package", "extra"), [("dm", "dm_env", "dm"), ("gym", "gymnasium", "gym")])
def test_a_missing_package_names_its_extra(monkeypatch, module, package, extra):
    for name in [n for n in sys.modules if n == package or n.startswith(f"{package}.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"daxlab.adapters.{module}")
    monkeypatch.delitem(sys.modules, "daxlab.adapters")
    importlib.import_module("daxlab.adapters")
    with pytest.raises(DaxlabError, match=rf"{package} is not installed; .*daxlab\[{extra}\]"):
        importlib.import_module(f"daxlab.adapters.{module}")
