"""Steps a second of the world: cumulative modes, rooms and size as asked, every pixel consumed."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from daxlab.bench import peers
from daxlab.errors import DaxlabError
from daxlab.levels import registry
from daxlab.levels.env import Rooms
from daxlab.levels.mixture import Mixture, make_rooms

CHUNK = 16
"""Steps in one compiled call."""

Carry = tuple[Any, jax.Array, jax.Array]
"""The rooms' states, a key, and a number that all that is seen goes into."""


def bench_world(
    level: str,
    rooms: int,
    width: int,
    height: int,
    seconds: float,
    repeats: int,
    with_peers: bool = True,
) -> dict[str, Any]:
    """Random play: rules and physics alone, then with pictures; then the peers that are installed, in the same run."""
    if seconds <= 0 or repeats < 1:
        raise DaxlabError(f"seconds is {seconds} and repeats {repeats}; both must be more than 0")
    many = make_rooms(registry.weights(level), rooms, width=width, height=height)
    cores = sorted(os.sched_getaffinity(0))
    report: dict[str, Any] = {
        "level": level,
        "rooms": rooms,
        "width": width,
        "height": height,
        "device": jax.devices()[0].device_kind,
        "cores": len(cores),
        "jax": jax.__version__,
        "step": measure(many, False, seconds, repeats),
        "step + pixels": measure(many, True, seconds, repeats),
    }
    if with_peers and jax.default_backend() == "cpu" and len(cores) > 1:
        asked = {"level": level, "rooms": rooms, "width": width, "height": height}
        report["step + pixels, a process a core"] = peers.rate("daxlab", asked, cores, seconds, repeats)
    if with_peers:
        ours = max(value["steps_per_second"] for key, value in report.items() if key.startswith("step + pixels"))
        report["peers"] = peers.compare(ours, width, height, cores, seconds, repeats)
    return report


def measure(rooms: Rooms | Mixture, pixels: bool, seconds: float, repeats: int) -> dict[str, Any]:
    """Time random play in compiled chunks, after a warm-up, each chunk waited for."""
    play, carry, start = prepare(rooms, pixels)
    rates = []
    for _ in range(repeats):
        done, begin = 0, time.perf_counter()
        while time.perf_counter() - begin < seconds:
            carry = jax.block_until_ready(play(carry))
            done += CHUNK * rooms.count
        rates.append(done / (time.perf_counter() - begin))
    return summary(rates) | {"start_seconds": round(start, 2)}


def summary(rates: list[float]) -> dict[str, Any]:
    """Median and spread."""
    return {
        "steps_per_second": round(statistics.median(rates)),
        "spread": [round(min(rates)), round(max(rates))],
    }


def chunk(rooms: Rooms | Mixture, pixels: bool) -> Callable[[Carry], Carry]:
    """Some steps of random play."""

    def one(carry: Carry, _: None) -> tuple[Carry, None]:
        before, key, total = carry
        key, k_action = jax.random.split(key)
        actions = jax.random.randint(k_action, (rooms.count,), 0, rooms.env.num_actions)
        states: Any = rooms.advance(before, actions)
        seen = rooms.map(lambda level, state: state.reward, states).sum()
        if pixels:
            # Every pixel goes into the sum, so none of the drawing can be optimised away. Bytes are added up over rooms
            # and may wrap round: XLA widens slowly on a CPU, and the sum means nothing anyway.
            rgb = rooms.pictures(states)
            seen = seen + jnp.sum(jnp.sum(rgb, axis=0, dtype=jnp.uint8).astype(jnp.float32))
        return (states, key, total + seen), None

    return lambda carry: jax.lax.scan(one, carry, None, length=CHUNK)[0]


def begin(rooms: Rooms | Mixture) -> Carry:
    """Rooms at the start of their episodes."""
    return jax.jit(rooms.start)(jax.random.key(0)), jax.random.key(1), jnp.zeros(())


def prepare(rooms: Rooms | Mixture, pixels: bool) -> tuple[Callable[[Carry], Carry], Carry, float]:
    """A compiled chunk of random play, rooms some way into their episodes, and the seconds this took."""
    play, started = jax.jit(chunk(rooms, pixels)), time.perf_counter()
    carry = jax.block_until_ready(play(begin(rooms)))
    start = time.perf_counter() - started
    for _ in range(4):
        carry = play(carry)
    return play, jax.block_until_ready(carry), start
