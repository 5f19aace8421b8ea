"""A level as a `dm_env.Environment`.

    env = DaxEnvironment("architecture_comparison/fast_map_three_objs", seed=0)
    timestep = env.reset()
    timestep = env.step(3)
    timestep.observation["TEXT"]                       # "This is a dax"

The discount is 0 where a lift ends the episode, and 1 where time runs out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from daxlab.adapters.room import Host, Report
from daxlab.errors import need
from daxlab.levels.env import Env
from daxlab.levels.spec import Level
from daxlab.levels.vocabulary import decode

try:
    import dm_env
    from dm_env import specs
except ImportError:
    raise need("dm_env", "dm") from None


class DaxEnvironment(dm_env.Environment):
    """One room of a level. The observation's names are the release's; ``TEXT_TOKENS`` is the text as token ids."""

    def __init__(
        self,
        level: str | Level,
        seed: int = 0,
        width: int | None = None,
        height: int | None = None,
        continuous: bool = False,
    ) -> None:
        """Actions are indices into ``level.actions``, or the nine controls if ``continuous``."""
        self._host = Host(Env(level, width, height), continuous)
        self._seed = seed

    def reset(self) -> dm_env.TimeStep:
        """Begin an episode: the seed's first, then its second, and so on."""
        return dm_env.restart(_observation(self._host.begin(self._seed if self._host.fresh else None)))

    def step(self, action: Any) -> dm_env.TimeStep:
        """One action; where no episode is running, it is ignored and one begins."""
        if self._host.over:
            return self.reset()
        report = self._host.step(action)
        reward, observation = float(report.reward), _observation(report)
        if report.truncated:
            return dm_env.truncation(reward, observation, discount=1.0)
        return dm_env.termination(reward, observation) if report.terminated else dm_env.transition(reward, observation)

    def observation_spec(self) -> dict[str, Any]:
        """Picture, readable text, and its token ids."""
        env = self._host.env
        picture = (env.height, env.width, 3)
        return {
            "RGB_INTERLEAVED": specs.BoundedArray(picture, np.uint8, 0, 255, "RGB_INTERLEAVED"),
            "TEXT": specs.StringArray((), str, "TEXT"),
            "TEXT_TOKENS": specs.BoundedArray((env.text_length,), np.int32, 0, env.vocabulary_size - 1, "TEXT_TOKENS"),
        }

    def action_spec(self) -> Any:
        """An index, or nine numbers in -1…1."""
        env = self._host.env
        if self._host.continuous:
            return specs.BoundedArray((env.num_controls,), np.float32, -1.0, 1.0, "controls")
        return specs.DiscreteArray(env.num_actions, np.int32, "action")


def _observation(report: Report) -> dict[str, Any]:
    return {"RGB_INTERLEAVED": report.rgb, "TEXT": decode(report.text), "TEXT_TOKENS": report.text}
