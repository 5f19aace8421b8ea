"""The probe of untrained codes: it tells a code that knows the object from one that does not."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from daxlab.errors import DaxlabError
from daxlab.experiments.separability import Play, separability
from daxlab.levels.episode import DISCOVERY, INSTRUCTION

ROOMS, NAMED, ASKED, OBJECTS = 40, 6, 4, 3


def played(seed: int = 0) -> Play:
    """Each room shows its three objects twice, then some of them; a pixel's red is the object, its green is noise."""
    rng = np.random.default_rng(seed)
    order = np.concatenate([rng.permuted(np.tile(range(OBJECTS), (ROOMS, 1)), axis=1).T for _ in range(2)])
    fixated = np.concatenate([order, rng.integers(-1, OBJECTS, (ASKED, ROOMS))])
    phase = np.repeat([DISCOVERY, INSTRUCTION], [NAMED, ASKED])[:, None] * np.ones((1, ROOMS), int)
    looks = rng.integers(0, 256, (ROOMS, OBJECTS + 1))
    rgb = np.zeros((NAMED + ASKED, ROOMS, 1, 1, 3), np.uint8)
    rgb[..., 0, 0, 0] = looks[np.arange(ROOMS), fixated]
    rgb[..., 0, 0, 1] = rng.integers(0, 256, fixated.shape)
    target = np.broadcast_to(rng.integers(0, OBJECTS, ROOMS), fixated.shape)
    first = np.broadcast_to(np.arange(NAMED + ASKED)[:, None] == 0, fixated.shape)
    return Play(*(jnp.asarray(x) for x in (rgb, fixated, phase, target, first)))


def waves(colour: int):
    """A code in which near colours are alike and others are not."""
    return lambda rgb: jnp.cos(rgb[0, 0, colour].astype(jnp.float32) * jnp.arange(1, 40) / 7 + jnp.arange(39))


@pytest.mark.parametrize(("colour", "low", "high"), [(0, 0.97, 1.0), (1, 0.4, 0.6)])
def test_a_code_of_the_object_tells_the_target_and_a_code_of_noise_does_not(colour, low, high):
    assert low <= separability(played(), waves(colour)) <= high


def test_views_of_an_earlier_episode_do_not_count():
    """As above, but a new episode begins with the instruction: nothing was named in it, so there is no pair at all."""
    play = played()
    first = play.first.at[NAMED].set(True)
    with pytest.raises(DaxlabError, match="no pair of views"):
        separability(play._replace(first=first), waves(0))
