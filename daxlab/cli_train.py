"""The commands that train, evaluate and list agents."""

from __future__ import annotations

import json
import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from daxlab.errors import DaxlabError

LevelName = Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="LEVEL")]


@dataclass(frozen=True)
class Train:
    """Train an agent, in a folder with its config, log, curve and checkpoints; then see what it can do.

    Ctrl-C saves and says how to go on.

    Example: daxlab train desk/fast_map_three_objs --agent dcem_match --budget 9m
    """

    level: LevelName = "desk/fast_map_three_objs"
    """Name of the level or mixture, or a level's file (see: daxlab levels)."""
    agent: str | None = None
    """lstm, dnc, dcem, dcem_match or gtrxl; the preset's unless given."""
    preset: str | None = None
    """paper, room or desk: where all other numbers come from. Unless given: desk for desk levels, room for the rest."""
    reconstruction: bool | None = None
    """Rebuild picture and text from the latent (the paper's "+ R"); the preset's unless given."""
    steps: int | None = None
    """Steps of the world, over all rooms; the preset's unless given."""
    seed: int = 0
    """Of everything that is random."""
    budget: str | None = None
    """Time to stop after, compilation, saving and evaluation included: 90s, 9m, 1h30m."""
    evaluate: int = 500
    """Episodes to play with frozen weights when it is done, of each level; fewer if the budget is short. 0: none."""
    until: float | None = None
    """Success in training, averaged over the log's last three lines, to stop at: 0.95"""
    out: Path | None = None
    """Folder of the run; runs/LEVEL-AGENT-SEED unless given."""
    resume: Path | None = None
    """Go on with the run in this folder; only --steps, --budget, --evaluate, --until, --light and --devices count."""
    weights: str | None = None
    """Start from these weights: a run folder, a checkpoint in it, a weights file, or pretrained:NAME."""
    light: bool = False
    """Save weights, optimiser, statistics, step and key only, in files of at most 16 MiB; rooms restart on resume."""
    devices: int | None = None
    """Devices of this process to use; all accelerators unless given, or one CPU. They share rooms and minibatches."""
    coordinator: str | None = None
    """One run of many processes, all started like this: HOST:PORT of process 0; auto under Slurm or Open MPI."""
    processes: int | None = None
    """How many processes there are, with --coordinator HOST:PORT."""
    process: int | None = None
    """Which of them this is: 0 (it writes the run's folder), 1, …"""
    set: tuple[str, ...] = ()
    """Any other field of the config: --set rooms=64 agent.memory.size=100 optimiser.learning_rate=1e-3"""

    def run(self) -> None:
        """Train."""
        from daxlab.learning.devices import joined

        with joined(self.coordinator, self.processes, self.process):
            self.train()

    def train(self) -> None:
        """Train, once all processes have met."""
        from daxlab.learning import exam
        from daxlab.learning.devices import take
        from daxlab.learning.progress import duration
        from daxlab.learning.run import STOPPED, train

        if self.evaluate < 0:
            raise DaxlabError(f"evaluate is {self.evaluate}; it must be at least 0")
        began = time.monotonic()
        budget = None if self.budget is None else duration(self.budget)
        # Of a run of many processes one alone would play, while the others wait.
        examines = self.evaluate > 0 and self.coordinator is None
        options: dict[str, Any] = {
            "budget": budget if budget is None or not examines else budget - exam.reserve(budget),
            "light": self.light,
            "until": self.until,
            "devices": take(self.devices),
        }
        if self.resume is not None:
            folder, line = self.resume, train(None, self.resume, steps=self.steps, **options)
        else:
            folder, line = self.begin(options)
        if examines and line["ended"] != STOPPED:
            deadline = math.inf if budget is None else began + budget
            print("\nWith frozen weights:", flush=True)
            try:
                results = exam.examine(folder, self.evaluate, deadline)
            except KeyboardInterrupt:
                print(f"stopped; the run itself is saved, and daxlab evaluate {folder} plays again")
                return
            for told in results:
                print(_in_words(told))
            print(f"\n{folder / 'curve.png'}: how it learned; {folder / 'evaluation.json'}: what it can do")

    def begin(self, options: dict[str, Any]) -> tuple[Path, dict[str, Any]]:
        """A new run: its folder and its last line."""
        from daxlab.learning.run import train

        config, agent = self.config(), None
        if self.weights is not None:
            from daxlab.learning.config import change
            from daxlab.learning.evaluate import load_agent

            trained = load_agent(self.weights)
            config, agent = change(config, agent=trained.config.agent), trained.agent
        name = f"{config.title.replace('/', '-')}-{config.agent.core}-{config.seed}"
        folder = self.out or Path("runs") / name
        return folder, train(config, folder, agent=agent, **options)

    def config(self) -> Any:
        """The config that the flags ask for."""
        from daxlab.learning.config import change, preset, with_agent
        from daxlab.levels import registry

        at_desk = all(level.setting == "desk" for level in registry.weights(self.level))
        config = preset(self.preset or ("desk" if at_desk else "room"))
        config = change(config, level=self.level, seed=self.seed)
        if self.agent is not None:
            config = with_agent(config, self.agent)
        if self.reconstruction is not None:
            config = change(config, agent__reconstruction=self.reconstruction)
        if self.steps is not None:
            config = change(config, steps=self.steps)
        return change(config, **dict(_setting(text) for text in self.set))


def _setting(text: str) -> tuple[str, Any]:
    """`agent.memory.size=100` as a name and a value."""
    name, equals, value = text.partition("=")
    if not equals:
        raise DaxlabError(f"--set takes field=value, for example rooms=64; got {text!r}")
    try:
        parsed = json.loads(value.lower() if value.lower() in ("true", "false") else value)
    except json.JSONDecodeError:
        parsed = value
    return name.replace(".", "__"), tuple(parsed) if isinstance(parsed, list) else parsed


@dataclass(frozen=True)
class Evaluate:
    """Play a fixed set of episodes with frozen weights: success with its interval, lift rate, length, return.

    Example: daxlab evaluate --weights pretrained:room --episodes 500 --json
    """

    run_folder: Annotated[tyro.conf.Positional[str | None], tyro.conf.arg(metavar="RUN")] = None
    """Folder of a run; or anything that --weights takes."""
    weights: str | None = None
    """Folder of a run, a checkpoint in it, a weights file, or pretrained:NAME (see: daxlab pretrained)."""
    level: str | None = None
    """Level to play; the one it was trained on unless given."""
    episodes: int = 500
    """How many episodes."""
    seed: int = 0
    """Which episodes."""
    greedy: bool = False
    """Take the likeliest action; actions are drawn from the policy otherwise, as in training."""
    as_json: Annotated[bool, tyro.conf.arg(name="json")] = False
    """Print JSON."""

    def run(self) -> None:
        """Play and print."""
        from daxlab.learning.evaluate import evaluate, to_text

        if (self.run_folder is None) == (self.weights is None):
            raise DaxlabError("evaluate takes one agent: a run folder, or --weights")
        result = evaluate(self.weights or self.run_folder or "", self.level, self.episodes, self.seed, self.greedy)
        if self.as_json:
            print(to_text(result))
            return
        print(_in_words(result))


def _in_words(told: dict[str, Any]) -> str:
    """An evaluation for people."""
    low, high = told["interval"]
    return (
        f"{told['agent']} on {told['level']}, trained for {told['trained_steps']:,} steps\n"
        f"episodes  {told['episodes']}\n"
        f"success   {told['success']:.3f}  ({low:.3f}…{high:.3f}; chance {told['chance']:.3f})\n"
        f"lift rate {told['lift_rate']:.3f}\nlength    {told['length']:.1f}\nreturn    {told['return']:.3f}"
    )


@dataclass(frozen=True)
class Agents:
    """List the agents with their parameter counts.

    Example: daxlab agents --preset paper
    """

    preset: str = "paper"
    """paper, room or desk: the sizes."""
    reconstruction: bool = True
    """Count the decoders too."""
    as_json: Annotated[bool, tyro.conf.arg(name="json")] = False
    """Print JSON."""

    def run(self) -> None:
        """Print a row an agent."""
        rows = agent_table(self.preset, self.reconstruction)
        if self.as_json:
            print(json.dumps(rows, indent=2))
            return
        for row in rows:
            print(f"{row['agent']:<12}{row['parameters']:>12,}  {row['about']}")


ABOUT = {
    "lstm": "no memory but its state",
    "dnc": "latents written, read by cosine with a strength",
    "dcem": "dual-coding episodic memory: language keys, visual values (the paper's)",
    "dcem_match": "dcem with a residual query and the match of what is seen with what is recalled (ours)",
    "gtrxl": "gated TransformerXL",
}


def agent_table(preset_name: str, reconstruction: bool) -> list[dict[str, Any]]:
    """Name, parameter count and a few words on each agent."""
    import jax

    from daxlab.agents.agent import count_parameters
    from daxlab.agents.config import CORES
    from daxlab.learning.config import change, preset, with_agent
    from daxlab.learning.loop import new_agent
    from daxlab.levels.env import Env

    base = change(preset(preset_name), agent__reconstruction=reconstruction)
    env = Env(base.level)
    count = {core: count_parameters(new_agent(with_agent(base, core), env, jax.random.key(0))) for core in CORES}
    return [{"agent": core, "parameters": count[core], "about": ABOUT[core]} for core in CORES]
