"""Films of episodes: the room at a size for people, with all that the agent is told and does.

>>> film("architecture_comparison/fast_map_three_objs", "expert", "episode.gif")

`daxlab.viewer.thinking` films trained agents, with what they remember.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import Array
from jaxtyping import Float, Int
from PIL import Image

from daxlab.compilation import BRIEFEST
from daxlab.errors import DaxlabError, unknown
from daxlab.levels import episode, expert
from daxlab.levels.env import Env, key_data
from daxlab.levels.episode import RUNNING, Episode, text
from daxlab.levels.expert import Actor
from daxlab.levels.spec import Level
from daxlab.levels.vocabulary import decode
from daxlab.viewer import movie, replay
from daxlab.viewer.page import STRIP, Page, Shot, pixels
from daxlab.viewer.panels import thing_names
from daxlab.world.control import action_table

END_SECONDS = 2.0
"""How long the end of an episode stands still."""
REWARD_STEPS = 8
"""How long a reward stays on the screen."""


def film(
    level: str | Level,
    actor: str | Actor = "expert",
    out: str | Path = "episode.gif",
    seed: int = 0,
    episodes: int = 1,
    width: int = 640,
    height: int = 480,
    fps: int = 10,
) -> Path:
    """Write a film of an actor's episodes, whole or not at all, as .gif, .mp4 or a page; a seed gives one film."""
    out = Path(out)
    movie.check(out, width, height, fps)
    env = Env(level)
    level, name = env.level, actor if isinstance(actor, str) else "an actor"
    shots = record(level, _actor(actor), seed, episodes)
    if out.suffix == ".html":
        with movie.whole(out) as path:
            replay.write(path, env, shots, None, f"{name} on {level.name}, seed {seed}")
        return out
    movie.write(out, shots, _Camera(level, width, height).draw, attrgetter("ended"), fps, END_SECONDS)
    return out


def frames(
    level: str | Level,
    actor: str | Actor = "expert",
    seed: int = 0,
    episodes: int = 1,
    width: int = 640,
    height: int = 480,
) -> Iterator[Image.Image]:
    """The pictures of a film, one for each state: an episode of n steps has n + 1."""
    level = Env(level).level
    camera = _Camera(level, width, height)
    return map(camera.draw, record(level, _actor(actor), seed, episodes))


def random_action(level: Level, state: Episode) -> Int[Array, ""]:
    """An actor that knows nothing: any action, at random."""
    key = jax.random.fold_in(jax.random.wrap_key_data(state.key), state.clock)
    return jax.random.randint(key, (), 0, len(level.actions))


ACTORS: dict[str, Actor] = {**expert.ACTORS, "random": random_action}
"""Who can play in a film, by name."""


def record(level: Level, actor: Actor, seed: int, episodes: int) -> list[Shot]:
    """Play the first episodes of a seed without drawing them."""
    if episodes < 1:
        raise DaxlabError(f"episodes is {episodes}; at least 1 is needed")
    played = rules(level)
    act = script(level, actor)
    key, shots = key_data(jax.random.key(seed)), []
    for _ in range(episodes):
        states, actions = [played.start(key)], []
        while int(states[-1].outcome) == RUNNING:
            actions.append(int(act(states[-1])))
            states.append(played.advance(states[-1], actions[-1]))
        shots += tell(level, states, actions)
        key = states[-1].key
    return shots


def tell(level: Level, states: Sequence[Episode], actions: Sequence[int]) -> list[Shot]:
    """The shots of one episode, from its states and the actions between them."""
    hear = _hear(level)
    named = thing_names(level)
    shots, total = [], 0.0
    for i, state in enumerate(jax.device_get(states)):
        total += float(state.reward) if i else 0.0
        recent = [float(before.reward) for before in states[max(1, i - REWARD_STEPS + 1) : i + 1]]
        earned = next((reward for reward in reversed(recent) if reward), 0.0)
        action = level.actions[actions[i - 1]] if i else ""
        shots.append(Shot(state, decode(np.asarray(hear(state))), action, earned, total, named))
    return shots


class Rules(NamedTuple):
    """How a level's episodes go, compiled; programs that run for seconds, so compiled in little time."""

    start: Callable[[Any], Episode]
    """An episode from the two numbers of a key."""
    move: Callable[[Episode, Float[np.ndarray, " 9"]], Episode]
    """The state after one step with these controls."""
    controls: Float[np.ndarray, "a 9"]
    """Of each action."""

    def advance(self, state: Episode, action: int) -> Episode:
        """The state after one action."""
        return self.move(state, self.controls[action])


@functools.lru_cache(maxsize=8)
def rules(level: Level) -> Rules:
    """How the level's episodes go."""
    start = jax.jit(Env(level).start, compiler_options=BRIEFEST)
    move = jax.jit(functools.partial(episode.advance, level), compiler_options=BRIEFEST)
    return Rules(start, move, action_table(level.actions))


@functools.lru_cache(maxsize=8)
def script(level: Level, actor: Actor) -> Callable[[Episode], Array]:
    """An actor's action, compiled."""
    return jax.jit(functools.partial(actor, level), compiler_options=BRIEFEST)


@functools.lru_cache(maxsize=8)
def _hear(level: Level) -> Callable[[Episode], Array]:
    """The text channel of a state, compiled."""
    return jax.jit(functools.partial(text, level))


def _actor(given: str | Actor) -> Actor:
    if not isinstance(given, str):
        return given
    if given not in ACTORS:
        raise unknown("actor", given, ACTORS)
    return ACTORS[given]


class _Camera:
    """Draws the shots of a level at one size."""

    def __init__(self, level: Level, width: int, height: int) -> None:
        self.size = width, height
        self.unit = min(height / 480, width / 640)
        self.large = view(level, width, height - pixels(self.unit, STRIP))
        self.small = view(level, *level.picture)

    def draw(self, shot: Shot) -> Image.Image:
        """One frame."""
        page = Page(self.large(shot.state), *self.size, self.unit)
        page.sight(shot)
        page.inset(self.small(shot.state))
        page.corner(shot)
        page.words(shot)
        page.action(shot)
        if shot.ended:
            page.outcome(shot)
        return page.picture


@functools.lru_cache(maxsize=16)
def view(level: Level, width: int, height: int) -> Callable[[Episode], Image.Image]:
    """How a state looks at one size, compiled."""
    env = Env(level)
    draw = jax.jit(lambda state: env.picture(state, width, height))
    return lambda state: Image.fromarray(np.array(draw(state)))
