"""Levels as gymnasium environments, one room or many.

    env = gymnasium.make("daxlab.adapters.gym:daxlab/desk-fast_map_three_objs-v0")
    envs = gymnasium.make_vec("daxlab.adapters.gym:daxlab/desk-fast_map_three_objs-v0", num_envs=256)

`reset(seed=s)` gives room i of many the episodes that one room has with seed s + i.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from daxlab.adapters.room import PHASES, Host, Report
from daxlab.errors import need, unknown
from daxlab.levels import registry
from daxlab.levels.env import Env
from daxlab.levels.spec import Level
from daxlab.levels.vocabulary import decode

try:
    import gymnasium
    from gymnasium import spaces
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ImportError:
    raise need("gymnasium", "gym") from None

RENDER_MODES = ["rgb_array"]
FPS = 10
"""Steps a second of the room's own time."""


class DaxGymEnv(gymnasium.Env):
    """One room. Observations are ``rgb`` and ``text`` (token ids); ``info`` has the readable text and the phase."""

    metadata = {"render_modes": RENDER_MODES, "render_fps": FPS}  # noqa: RUF012 (gymnasium's own form)

    def __init__(
        self,
        level: str | Level,
        width: int | None = None,
        height: int | None = None,
        continuous: bool = False,
        render_mode: str | None = None,
    ) -> None:
        """Actions are indices into ``level.actions``, or the nine controls if ``continuous``."""
        self.render_mode = _render_mode(render_mode)
        self._host = Host(Env(level, width, height), continuous)
        self.observation_space = _observation_space(self._host.env)
        self.action_space = _action_space(self._host)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin the seed's first episode, or without a seed the one after the last."""
        super().reset(seed=seed)
        report = self._host.begin(_first_seed(self, seed))
        return _observation(report), _info(report)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """One action."""
        report = self._host.step(action)
        ended = bool(report.terminated), bool(report.truncated)
        return _observation(report), float(report.reward), *ended, _info(report)

    def render(self) -> Any:
        """The view at 640×480, if that is the render mode."""
        return None if self.render_mode is None else self._host.picture()


class DaxVectorEnv(VectorEnv):
    """Many rooms in one compiled step. A room that has ended begins its next episode at the step after (NEXT_STEP).

    ``info`` has ``phase`` and ``success``; `read` makes the texts readable.
    """

    metadata = {  # noqa: RUF012 (gymnasium's own form)
        "render_modes": RENDER_MODES,
        "render_fps": FPS,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        level: str | Level,
        num_envs: int = 1,
        width: int | None = None,
        height: int | None = None,
        continuous: bool = False,
        render_mode: str | None = None,
    ) -> None:
        """Actions are indices into ``level.actions``, or the nine controls if ``continuous``."""
        self.render_mode = _render_mode(render_mode)
        self.num_envs = num_envs
        self._host = Host(Env(level, width, height), continuous, num_envs)
        self.single_observation_space = _observation_space(self._host.env)
        self.single_action_space = _action_space(self._host)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode in every room: room i the first of seed + i, or without a seed the one after its last."""
        super().reset(seed=seed)
        report = self._host.begin(_first_seed(self, seed))
        return _observation(report), _infos(report)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """One action in every room; a room that ended at the last step ignores it and begins its next episode."""
        report = self._host.step(actions)
        reward = report.reward.astype(np.float64)
        return _observation(report), reward, report.terminated, report.truncated, _infos(report)

    def render(self) -> tuple[Any, ...] | None:
        """Every room's view at 640×480, if that is the render mode."""
        return None if self.render_mode is None else tuple(self._host.picture())


def read(text: Any) -> list[str]:
    """The readable texts of a batch of token ids."""
    return [decode(ids) for ids in np.asarray(text)]


def env_id(level: str) -> str:
    """A level's id; gymnasium allows one slash only, so the level's own becomes a hyphen."""
    return f"daxlab/{level.replace('/', '-')}-v0"


def register() -> None:
    """Make every level known to `gymnasium.make` and `gymnasium.make_vec`. Calling it again does nothing."""
    for level in registry.levels():
        if env_id(level) not in gymnasium.registry:
            gymnasium.register(
                id=env_id(level),
                entry_point="daxlab.adapters.gym:DaxGymEnv",
                vector_entry_point="daxlab.adapters.gym:DaxVectorEnv",
                kwargs={"level": level},
            )


def _first_seed(env: Any, seed: int | None) -> int | None:
    """The seed; a random one where neither a seed was given nor an episode has begun."""
    return int(env.np_random.integers(2**31)) if seed is None and env._host.fresh else seed


def _observation_space(env: Env) -> spaces.Dict:
    rgb = spaces.Box(0, 255, (env.height, env.width, 3), np.uint8)
    # MultiDiscrete and not Box: ids are names, not amounts (stable-baselines3 makes them one-hot).
    text = spaces.MultiDiscrete(np.full(env.text_length, env.vocabulary_size), dtype=np.int32)
    return spaces.Dict({"rgb": rgb, "text": text})


def _action_space(host: Host) -> spaces.Space:
    if host.continuous:
        return spaces.Box(-1.0, 1.0, (host.env.num_controls,), np.float32)
    return spaces.Discrete(host.env.num_actions)


def _render_mode(mode: str | None) -> str | None:
    if mode is not None and mode not in RENDER_MODES:
        raise unknown("render mode", mode, RENDER_MODES)
    return mode


def _observation(report: Report) -> dict[str, Any]:
    return {"rgb": report.rgb, "text": report.text}


def _info(report: Report) -> dict[str, Any]:
    return {"text": decode(report.text), "phase": PHASES[int(report.phase)], "success": bool(report.success)}


def _infos(report: Report) -> dict[str, Any]:
    """As gymnasium batches infos: ``_name`` says which rooms have the value, here all."""
    every = np.ones(len(report.phase), bool)
    phase = np.array(PHASES, object)[report.phase]
    return {"phase": phase, "_phase": every, "success": report.success, "_success": every.copy()}


# Gymnasium finds a package's ids by importing the module before the colon of "daxlab.adapters.gym:daxlab/…-v0".
register()
