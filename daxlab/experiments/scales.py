"""How much a condition gets: the paper's 10^9 steps in the room, some 10^7 with our learner, or minutes at the desk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from daxlab.agents.config import AgentConfig
from daxlab.errors import unknown
from daxlab.experiments.claims import BEST, OURS, Condition, Experiment
from daxlab.experiments.paper import SIZE, WRITE
from daxlab.learning.config import TrainConfig, change, preset, with_agent
from daxlab.levels.twin import PREFIX


@dataclass(frozen=True)
class Scale:
    """One way to run all experiments."""

    name: str
    about: str
    config: Callable[[Experiment, Condition, int], TrainConfig]
    """Of one run, given its seed."""
    level: Callable[[str], str]
    """The level that stands for one of the room's."""
    seeds: Callable[[Experiment], int]
    """How many runs of each condition."""
    episodes: int
    """That each trained agent plays in each test."""


def _paper(experiment: Experiment, condition: Condition, seed: int) -> TrainConfig:
    """The paper's table of numbers, and its steps."""
    config = _with_agent(preset("paper"), "dcem" if condition.agent == BEST else condition.agent, condition)
    return change(config, level=condition.level, steps=int(experiment.steps), seed=seed, **dict(condition.options))


def _lite(experiment: Experiment, condition: Condition, seed: int) -> TrainConfig:
    """The `room` preset's learner with the paper's agents; where the paper has its best one, with ours."""
    config = preset("room")
    steps = int(config.steps * experiment.effort)
    if condition.agent not in (BEST, OURS):
        agent = change(preset("paper").agent, vision__dtype="bfloat16")
        config = _with_agent(replace(config, agent=agent), condition.agent, condition)
    config = change(config, level=condition.level, steps=steps, seed=seed, optimiser__decay_steps=steps)
    return change(config, **dict(condition.options))


DESK_STEPS = 2_000_000
DESK_MEMORY = {1024: 64, 100: 50, 50: 25, 20: 10}
"""Rows at the desk for rows in the room: the trained agent's episodes are half as long there (28 steps, and 55). Where
writing is selective, the room's three steps for each change of the text are one at the desk."""


def _desk(experiment: Experiment, condition: Condition, seed: int) -> TrainConfig:
    """The `desk` preset on the level's twin, twice as wide, with a learning rate that falls; memories shrink, too."""
    config = preset("desk")
    if condition.agent not in (BEST, OURS):
        config = _with_agent(config, condition.agent, condition)
    options: dict[str, Any] = dict(condition.options) | dict(condition.desk)
    steps = options.pop("steps", int(DESK_STEPS * experiment.effort))
    if SIZE in options:
        options[SIZE] = DESK_MEMORY[options[SIZE]]
    if options.get(WRITE):
        options["agent__memory__window"] = 1
    level = PREFIX + options.pop("level", condition.level)
    options = {"rooms": 256, "minibatch": 64, "optimiser__decay_steps": steps} | options
    return change(config, level=level, steps=steps, seed=seed, **options)


def _with_agent(config: TrainConfig, core: str, condition: Condition) -> TrainConfig:
    config = with_agent(config, core)
    agent: AgentConfig = replace(config.agent, reconstruction=condition.reconstruction)
    return replace(config, agent=agent)


SCALES = {
    scale.name: scale
    for scale in (
        Scale("desk", "twins at the desk, minutes", _desk, lambda level: PREFIX + level, lambda _: 3, 500),
        Scale("lite", "the room, our learner, 4·10^7 steps", _lite, lambda level: level, lambda _: 3, 1000),
        Scale(
            "paper", "the room, the paper's values, 10^9 steps", _paper, lambda level: level, lambda e: e.seeds, 2000
        ),
    )
}
"""From minutes to weeks."""


def scale(name: str) -> Scale:
    """The scale of that name."""
    if name not in SCALES:
        raise unknown("scale", name, SCALES)
    return SCALES[name]
