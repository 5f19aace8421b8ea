"""Playing a level over dm_env_rpc: what is seen, what is done, how episodes begin and end."""

from __future__ import annotations

import jax
import numpy as np
import pytest

pytest.importorskip("dm_env_rpc")

from absl.testing import absltest
from dm_env import specs, test_utils
from dm_env_rpc.v1 import dm_env_adaptor, error
from dm_env_rpc.v1 import dm_env_rpc_pb2 as messages

from daxlab.adapters.room import seeds
from daxlab.adapters.rpc import serving
from daxlab.adapters.rpc_messages import ACTIONS, AgentSettings, WorldSettings
from daxlab.adapters.rpc_room import CROSS, CROSS_IN_REACH, Parcel, alike, draw_cross, first_key, program
from daxlab.bench.serve import expert_over_the_wire
from daxlab.levels import registry
from daxlab.levels.expert import expert
from daxlab.world.control import CONTROLS, action_table
from daxlab.world.sight import aimed
from tests.test_all_levels import RELEASED
from tests.wire import HEIGHT, LEVEL, WIDTH, connected, eventually, joined, pack, settings, state_of, world_of

MEANS = {
    "STRAFE_LEFT_RIGHT": "MOVE_RIGHT",
    "MOVE_BACK_FORWARD": "MOVE_FORWARD",
    "LOOK_LEFT_RIGHT": "LOOK_RIGHT",
    "LOOK_DOWN_UP": "LOOK_DOWN",
    "HAND_ROTATE_AROUND_RIGHT": "SPIN_RIGHT",
    "HAND_ROTATE_AROUND_UP": "SPIN_UP",
    "HAND_ROTATE_AROUND_FORWARD": "SPIN_FORWARD",
    "HAND_PUSH_PULL": "PULL",
    "HAND_GRIP": "GRAB",
}


@pytest.fixture(scope="module")
def server():
    with serving() as running:
        yield running


@pytest.fixture(autouse=True)
def _no_world_is_left(server):
    yield
    assert eventually(lambda: not server.worlds.by_name)


@pytest.fixture(scope="module")
def act():
    """The expert's next action of a packed state, as the wire takes it."""
    level, made = registry.get(LEVEL), program(alike(registry.get(LEVEL)))
    choose = jax.jit(lambda state: expert(level, made.states.unpack(state)))
    table = action_table(level.actions)
    return lambda state: dict(zip(ACTIONS, table[int(choose(state))].tolist(), strict=True))


def rest(**changed: float) -> dict[str, float]:
    return dict.fromkeys(ACTIONS, 0.0) | changed


def same(one, other) -> bool:
    return np.array_equal(one.observation["RGB_INTERLEAVED"], other.observation["RGB_INTERLEAVED"])


# --- what is there -----------------------------------------------------------------------------------------------


def test_observations_and_actions_are_the_release_s(server):
    with joined(server.port) as env:
        seen, acts = env.observation_spec(), env.action_spec()
        assert set(seen) == {"RGB_INTERLEAVED", "TEXT"}
        assert (seen["RGB_INTERLEAVED"].shape, seen["RGB_INTERLEAVED"].dtype) == ((HEIGHT, WIDTH, 3), np.uint8)
        assert isinstance(seen["TEXT"], specs.StringArray)
        assert list(acts) == list(ACTIONS)
        for name, spec in acts.items():
            assert (spec.shape, spec.dtype) == ((), np.float64)
            assert (spec.minimum, spec.maximum) == (0.0 if name == "HAND_GRIP" else -1.0, 1.0)


def test_every_level_of_the_release_can_be_created_by_name(server):
    with connected(server.port) as line:
        for level in RELEASED:
            name = line.send(messages.CreateWorldRequest(settings=pack(**settings(levelName=level)))).world_name
            assert world_of(server).settings.level.name == level
            line.send(messages.DestroyWorldRequest(world_name=name))


def test_levels_last_as_long_as_the_release_s_unless_told_otherwise():
    for name in RELEASED:
        asked = AgentSettings.of(registry.get(name))
        seconds = 450 if name.startswith("with_distractors/") else 120
        assert (asked.seconds, asked.steps(registry.get(name))) == (seconds, 10 * seconds)
        assert (asked.width, asked.height, asked.cross) == (96, 72, False)


def test_a_level_is_a_name_and_never_a_file(tmp_path):
    path = tmp_path / "level.py"
    path.write_text("raise SystemExit('this file was run')")
    with pytest.raises(Exception, match="unknown level"):
        WorldSettings.read(pack(seed=1, levelName=str(path)))


class TestDmEnv(test_utils.EnvironmentTestMixin, absltest.TestCase):
    """The checks that the release runs on its own client."""

    @pytest.fixture(autouse=True)
    def _server(self, server):
        self.port = server.port

    def make_object_under_test(self):
        context = joined(self.port, EpisodeLengthSeconds=1.5)
        env = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        return env


# --- what is done ------------------------------------------------------------------------------------------------


def test_each_action_is_one_control_of_the_world(server):
    assert list(MEANS) == list(ACTIONS)
    with joined(server.port) as env:
        env.reset()
        for place, name in enumerate(ACTIONS):
            env.step(rest(**{name: 0.25}))
            controls = world_of(server).room._controls
            assert CONTROLS[place] == MEANS[name]
            np.testing.assert_array_equal(controls, 0.25 * np.eye(len(CONTROLS))[place])


def test_positive_is_right_forward_right_and_down(server):
    def moved(name: str) -> tuple[float, float, float, float]:
        with joined(server.port, settings(seed=2)) as env:
            env.reset()
            before = state_of(server).world
            env.step({name: 1.0})
            after = state_of(server).world
        way, heading = np.asarray(after.agent) - np.asarray(before.agent), float(before.heading)
        ahead, right = np.array([np.sin(heading), np.cos(heading)]), np.array([np.cos(heading), -np.sin(heading)])
        return way @ ahead, way @ right, float(after.heading - before.heading), float(after.pitch - before.pitch)

    walked, strafed = moved("MOVE_BACK_FORWARD"), moved("STRAFE_LEFT_RIGHT")
    assert walked[0] > 0.05
    assert abs(walked[1]) < 1e-3
    assert strafed[1] > 0.05
    assert abs(strafed[0]) < 1e-3
    assert moved("LOOK_LEFT_RIGHT")[2] > 0.1
    # As the release's keyboard has it: the down arrow is +1.
    assert moved("LOOK_DOWN_UP")[3] < -0.1


def test_the_view_turns_right_when_the_agent_looks_right(server):
    """Not by the state but by the picture: what was right of the middle comes towards it."""
    with joined(server.port, settings(seed=2), width=96, height=72) as env:
        before = env.reset().observation["RGB_INTERLEAVED"].astype(int)
        after = env.step({"LOOK_LEFT_RIGHT": 0.3}).observation["RGB_INTERLEAVED"].astype(int)
    shifts = range(-12, 13)
    differ = [np.abs(after[:, 20:-20] - np.roll(before, -by, 1)[:, 20:-20]).mean() for by in shifts]
    assert shifts[int(np.argmin(differ))] > 0


def test_the_hand_grips_pulls_turns_and_lets_go(server, act):
    with joined(server.port, settings(seed=3), ShowReachabilityHUD=True) as env:
        env.reset()
        while int(state_of(server).world.held) < 0:
            seen = env.step(act(world_of(server).room.state))
            assert not seen.last()
        assert tuple(seen.observation["RGB_INTERLEAVED"][HEIGHT // 2, WIDTH // 2]) == CROSS_IN_REACH
        gripping = rest(HAND_GRIP=1.0)
        before = state_of(server).world
        env.step(gripping | {"HAND_PUSH_PULL": 1.0})
        nearer = state_of(server).world
        assert nearer.distance < before.distance
        for _ in range(3):
            env.step(gripping | {"HAND_PUSH_PULL": -1.0})
        assert state_of(server).world.distance > nearer.distance
        for axis, name in enumerate(("RIGHT", "UP", "FORWARD")):
            was = state_of(server).world.spin[axis]
            env.step(gripping | {f"HAND_ROTATE_AROUND_{name}": 1.0})
            assert state_of(server).world.spin[axis] > was
        # The release's random agent draws the grip from 0…1: below the middle the hand is open.
        env.step({"HAND_GRIP": 0.4})
        assert int(state_of(server).world.held) == -1


def test_actions_are_sticky(server):
    def play(script):
        with joined(server.port, settings(seed=2)) as env:
            env.reset()
            return [env.step(actions) for actions in script]

    both = {"MOVE_BACK_FORWARD": 0.5, "LOOK_LEFT_RIGHT": -0.25}
    once = play([both, {}, {}, {"LOOK_LEFT_RIGHT": 0.0}, {}, {"MOVE_BACK_FORWARD": 0.0}])
    spelled = play([rest(**both)] * 3 + [rest(MOVE_BACK_FORWARD=0.5)] * 2 + [rest()])
    let_go = play([both, rest(), rest()])
    assert all(same(a, b) for a, b in zip(once, spelled, strict=True))
    assert not same(once[2], let_go[2])


def test_a_refused_step_changes_nothing(server):
    with joined(server.port, settings(seed=2)) as env, joined(server.port, settings(seed=2)) as undisturbed:
        env.reset()
        undisturbed.reset()
        for wrong in ({"HAND_GRIP": -0.1}, {"LOOK_DOWN_UP": 1.5}, {"STRAFE_LEFT_RIGHT": float("nan")}):
            with pytest.raises(error.DmEnvRpcError, match="is needed"):
                env.step({"MOVE_BACK_FORWARD": 1.0} | wrong)
        for _ in range(2):
            assert same(env.step({"LOOK_LEFT_RIGHT": 0.5}), undisturbed.step({"LOOK_LEFT_RIGHT": 0.5}))


# --- how episodes begin and end ----------------------------------------------------------------------------------


def test_time_up_is_an_interruption_with_discount_one(server):
    with joined(server.port, EpisodeLengthSeconds=0.5) as env:
        for _ in range(2):
            assert env.reset().first()
            steps = [env.step({}) for _ in range(5)]
            assert [step.last() for step in steps] == [False] * 4 + [True]
            assert steps[-1].discount == 1.0


def test_an_episode_begins_at_rest_and_ignores_its_first_actions(server):
    with joined(server.port, EpisodeLengthSeconds=0.2) as env:
        env.reset()
        env.step({"LOOK_LEFT_RIGHT": 1.0})
        assert env.step({}).last()
        assert env.step({"LOOK_LEFT_RIGHT": 1.0}).first()
        begun = state_of(server).world.heading
        env.step({})
        assert state_of(server).world.heading == begun


def test_the_same_seed_and_episode_are_the_same_episodes(server):
    def pictures(seed: int, **more: int):
        with joined(server.port, settings(seed=seed, **more), EpisodeLengthSeconds=0.1) as env:
            steps = []
            for _ in range(2):
                steps += [env.reset(), env.step({"MOVE_BACK_FORWARD": 1.0})]
            return steps

    one = pictures(5)
    assert all(same(a, b) for a, b in zip(one, pictures(5, episodeId=0), strict=True))
    assert not same(one[0], one[2])
    assert not any(same(one[0], other[0]) for other in (pictures(6), pictures(5, episodeId=1), pictures(5 + 2**32)))
    again = pictures(5, episodeId=1)
    assert all(same(a, b) for a, b in zip(again, pictures(5, episodeId=1), strict=True))


def test_a_seed_is_that_of_the_other_adapters():
    for seed in (0, 7, 2**32 - 1):
        np.testing.assert_array_equal(first_key(seed, 0), seeds(seed, 1)[0])
    numbers = [(seed, episode) for seed in (-1, 0, 1, 2**32, 2**64 - 1) for episode in (0, 1, -2, 2**63)]
    keys = {tuple(first_key(*pair).tolist()) for pair in numbers}
    # −1 and 2⁶⁴ − 1 are the same 64 bits.
    assert len(keys) == len(numbers) - 4


def test_a_state_is_packed_without_loss():
    tree = {
        "key": np.array([2**32 - 1, 2**24 + 1], np.uint32),
        "count": np.array([[-(2**31), 2**31 - 1], [2**24 + 1, 0]], np.int32),
        "flag": np.array(True),
        "value": np.array([0.1, -np.inf], np.float32),
        "more": (np.array(7, np.int32), np.zeros((0, 3), np.float32)),
    }
    parcel = Parcel(tree)
    packed = parcel.pack(tree)
    assert [(part.ndim, part.dtype) for part in packed] == [(1, "bool"), (1, "float32"), (1, "int32"), (1, "uint32")]
    back = parcel.unpack(packed)
    assert jax.tree.structure(back) == jax.tree.structure(tree)
    jax.tree.map(np.testing.assert_array_equal, back, tree)


def test_reset_gives_the_next_episode_and_nothing_if_none_is_running(server):
    with joined(server.port) as env, joined(server.port) as straight:
        first = env.reset()
        env.step({})
        second = env.reset()
        straight.reset()
        for _ in range(2):
            straight._connection.send(messages.ResetRequest())
        assert same(second, straight.step({}))
        assert not same(first, second)


def test_reset_may_change_what_was_joined_with(server):
    with connected(server.port) as line:
        world = line.send(messages.CreateWorldRequest(settings=pack(**settings()))).world_name
        specs = line.send(messages.JoinWorldRequest(world_name=world)).specs
        assert list(specs.observations[1].shape) == [72, 96, 3]
        specs = line.send(messages.ResetRequest(settings=pack(width=8, height=6, EpisodeLengthSeconds=0.1))).specs
        assert list(specs.observations[1].shape) == [6, 8, 3]
        begun = line.send(messages.StepRequest(requested_observations=[1]))
        assert len(begun.observations[1].uint8s.array) == 6 * 8 * 3
        assert line.send(messages.StepRequest()).state == messages.INTERRUPTED


def test_a_world_that_is_left_is_as_new(server):
    with connected(server.port) as line:
        world = line.send(messages.CreateWorldRequest(settings=pack(**settings()))).world_name
        seen = []
        for _ in range(2):
            env = dm_env_adaptor.join_world(line, world, {"width": WIDTH, "height": HEIGHT})
            seen += [env.reset(), env.step({"LOOK_LEFT_RIGHT": 1.0})]
            env.close()
        assert same(seen[0], seen[2])
        assert same(seen[1], seen[3])


def test_reset_world_begins_another_seed(server):
    with joined(server.port) as env, joined(server.port, settings(seed=9)) as other:
        env.reset()
        env.step({})
        world = next(iter(server.worlds.by_name))
        env._connection.send(messages.ResetWorldRequest(world_name=world, settings=pack(seed=9)))
        assert same(env.step({}), other.reset())


# --- what is seen ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reachable", [False, True])
def test_the_cross_is_in_the_middle_and_small(reachable):
    for height, width in ((72, 96), (1, 1), (2, 400)):
        rgb = np.zeros((height, width, 3), np.uint8)
        draw_cross(rgb, reachable)
        assert tuple(rgb[height // 2, width // 2]) == (CROSS_IN_REACH if reachable else CROSS)
        assert rgb.any(-1).sum() <= 9


def test_the_cross_is_drawn_if_asked_for_and_lit_within_reach(server, act):
    physics, lit = registry.get(LEVEL).physics, set()
    in_reach = jax.jit(
        lambda state: (aimed(physics, state.props, state.world, physics.reach) >= 0) | (state.world.held >= 0)
    )
    with joined(server.port, settings(seed=3), ShowReachabilityHUD=True) as env:
        env.reset()
        while len(lit) < 2:
            seen = env.step(act(world_of(server).room.state))
            reachable = bool(in_reach(state_of(server)))
            lit.add(reachable)
            colour = CROSS_IN_REACH if reachable else CROSS
            assert tuple(seen.observation["RGB_INTERLEAVED"][HEIGHT // 2, WIDTH // 2]) == colour
    with joined(server.port, settings(seed=3)) as env:
        rgb = env.reset().observation["RGB_INTERLEAVED"]
        assert tuple(rgb[HEIGHT // 2, WIDTH // 2]) not in (CROSS, CROSS_IN_REACH)


def test_an_answer_ends_an_episode_for_good(server, act):
    texts = set()
    with joined(server.port, settings(seed=3)) as env:
        step = env.reset()
        while not step.last():
            texts.add(str(step.observation["TEXT"])[:9])
            step = env.step(act(world_of(server).room.state))
    assert (step.reward, step.discount) == (1.0, 0.0)
    assert texts == {"", "This is a", "Pick up a"}


def test_the_expert_succeeds_through_the_wire_in_step_with_a_twin(server):
    report = expert_over_the_wire(server.port, LEVEL, WIDTH, HEIGHT, episodes=3, seed=4)
    assert report["success"] == 1.0
    assert report["steps_that_differ"] == 0
