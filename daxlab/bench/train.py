"""Steps a second of training, in four modes that add up: the world, + pixels, + acting, + learning.

from daxlab.bench.train import bench_train
from daxlab.learning.config import change, preset
print(bench_train(change(preset("paper"), rooms=2048, minibatch=128)))
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from daxlab.agents.agent import Agent, count_parameters
from daxlab.bench import timing
from daxlab.bench.device import Rates
from daxlab.bench.parts import bench_parts
from daxlab.errors import unknown
from daxlab.learning import loop
from daxlab.learning.config import TrainConfig, to_json
from daxlab.levels import registry
from daxlab.levels.env import Rooms
from daxlab.levels.mixture import Mixture, make_rooms

MODES = ("world", "pixels", "acting", "learning")
"""Each does what those before it do, and one part more."""


class Program(NamedTuple):
    """One mode: a compiled function that plays an unroll in every room, and the state it begins with.

    `state, … = function(state)`; the state that it is given is used up.
    """

    function: Any
    state: Any


class Wandering(NamedTuple):
    """Rooms in which somebody acts at random."""

    rooms: Any
    key: Array
    seen: Array
    """A number that every reward and every pixel goes into, so that no drawing can be optimised away."""


class Acting(NamedTuple):
    """Rooms in which an agent acts."""

    agent: Agent
    actor: loop.Actor
    key: Array


def bench_train(
    config: TrainConfig,
    *,
    modes: Sequence[str] = MODES,
    seconds: float = 2.0,
    repeats: int = 3,
    cold: bool = True,
    parts: bool = False,
    rates: Rates | None = None,
    out: Path | None = None,
) -> dict[str, Any]:
    """Time the modes one after another; the report is written to `out` after each.

    `seconds` is the least length of one measurement, `repeats` how many there are: the median counts. With `cold` each
    program is compiled from nothing and then as from another process's cache; without, the cache that is configured is
    used. With `parts` the pieces of acting and learning are timed alone too, beside their bounds if `rates` (from
    `daxlab.bench.device`) says what the device can do.
    """
    timing.check(seconds, repeats)
    for mode in modes:
        if mode not in MODES:
            raise unknown("mode", mode, MODES)
    if parts:
        registry.get(config.level)  # refuses a mixture, before anything is timed
    rooms = make_rooms(config.weights, config.rooms)
    report: dict[str, Any] = {
        **timing.machine(),
        "level": config.title,
        "agent": config.agent.core,
        "picture": [rooms.env.width, rooms.env.height],
        "rooms": config.rooms,
        "unroll": config.unroll,
        "minibatch": config.minibatch,
        "config": to_json(config),
        "modes": {},
    }
    before = 0.0
    for mode in (name for name in MODES if name in modes):
        program = make_program(mode, config, rooms)
        if not isinstance(program.state, Wandering):
            report |= sizes(program.state)
        compiled, compilation = timing.compile_program(program.function, program.state, cold=cold)
        row = measure(compiled, program.state, config, seconds, repeats)
        # A part is what a mode takes beyond the one before it.
        row |= {"part_milliseconds": row["milliseconds"] - before, "compile": compilation, **timing.peak_bytes()}
        before = row["milliseconds"]
        report["modes"][mode] = row
        timing.write(out, report)
        del program, compiled
    if parts:
        report["parts"] = {}
        for name, row in bench_parts(config, seconds=seconds, repeats=repeats, rates=rates):
            report["parts"][name] = row
            timing.write(out, report)
    return report


def measure(compiled: Any, state: Any, config: TrainConfig, seconds: float, repeats: int) -> dict[str, Any]:
    """One mode: steps a second, milliseconds of one step of all rooms, and what the program needs in memory."""
    turns = timing.seconds_a_turn(compiled, state, seconds, repeats)
    return {
        **timing.rates(config.steps_per_update, turns),
        "milliseconds": 1e3 * statistics.median(turns) / config.unroll,
        "program_bytes": timing.program_bytes(compiled),
    }


def make_program(mode: str, config: TrainConfig, rooms: Rooms | Mixture) -> Program:
    """The program of a mode, not yet compiled."""
    key = jax.random.key(config.seed)
    if mode in ("world", "pixels"):
        states = jax.jit(rooms.start)(key)
        return Program(wander(rooms, config.unroll, mode == "pixels"), Wandering(states, key, jnp.zeros(())))
    state = loop.start(config, rooms)
    if mode == "learning":
        return Program(loop.make_update(config, rooms), state)

    def play(state: Acting) -> tuple[Acting, loop.Trajectory]:
        key, k_act = jax.random.split(state.key)
        actor, trajectory, _ = loop.act(config, rooms, state.agent, state.actor, k_act)
        return Acting(state.agent, actor, key), trajectory

    return Program(jax.jit(play, donate_argnums=0), Acting(state.agent, state.actor, key))


def wander(rooms: Rooms | Mixture, unroll: int, pixels: bool) -> Any:
    """Random actions in every room for an unroll; with `pixels`, look at each step."""

    def step(state: Wandering, key: Array) -> tuple[Wandering, None]:
        actions = jax.random.randint(key, (rooms.count,), 0, rooms.env.num_actions)
        states: Any = rooms.advance(state.rooms, actions)
        seen = state.seen + rooms.map(lambda level, room: room.reward, states).sum()
        if pixels:
            rgb = rooms.pictures(states)
            # Bytes may wrap round as they are added over rooms: XLA widens slowly on a CPU, and the sum means nothing.
            seen = seen + jnp.sum(jnp.sum(rgb, axis=0, dtype=jnp.uint8).astype(jnp.float32))
        return Wandering(states, state.key, seen), None

    def play(state: Wandering) -> tuple[Wandering, None]:
        key, k_actions = jax.random.split(state.key)
        return jax.lax.scan(step, state._replace(key=key), jax.random.split(k_actions, unroll))[0], None

    return jax.jit(play, donate_argnums=0)


def sizes(state: Acting | loop.TrainState) -> dict[str, int]:
    """Parameters, and the bytes that one room keeps from step to step: its world, its memory and its last picture."""
    kept = (state.actor.rooms, state.actor.now, state.actor.memory, state.actor.notes)
    room = sum(math.prod(x.shape[1:]) * x.dtype.itemsize for x in jax.tree.leaves(kept))
    return {"parameters": count_parameters(state.agent), "room_bytes": room}
