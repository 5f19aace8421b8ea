"""Does acting do what learning thinks it did? Of one cell of an experiment: logits of acting against an unroll's.

    PYTHONPATH=. python results/acting_apart/compare.py desk architectures dcem_match [--weights FILE] [--old]

An untrained policy is made a hundred times as sharp; --old has the read-out of dcem_match as it was until f7c31fe.
"""

import argparse
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from daxlab.agents import dcem, memory
from daxlab.compilation import enable_cache
from daxlab.experiments.ledger import cells
from daxlab.experiments.paper import experiment
from daxlab.experiments.scales import scale
from daxlab.learning import loop
from daxlab.learning.evaluate import load_agent
from daxlab.levels.env import Env, Rooms


def old_read(self, h, moment):
    """`DCEM._read` with the concatenation."""
    weights = self._weights(h, moment)
    r = self.aggregation(weights, moment.found)
    if not self.match:
        return self.latent_r(r.reshape(-1))
    seen_before = jnp.einsum("nk,nkv->nv", weights, moment.found.values)
    latent = self.latent_r(jnp.concatenate([r, moment.v * seen_before], axis=-1).reshape(-1))
    if self.latent_c is not None:
        latent += self.latent_c(memory.unit(seen_before) @ memory.unit(moment.v))
    return latent


parser = argparse.ArgumentParser()
parser.add_argument("scale")
parser.add_argument("experiment")
parser.add_argument("part", help="of the cell's name")
parser.add_argument("--weights", type=Path)
parser.add_argument("--old", action="store_true")
given = parser.parse_args()
enable_cache()
if given.old:
    dcem.DCEM._read = old_read
found = cells(scale(given.scale), experiment(given.experiment), 1)
config = next(cell.config for cell in found if given.part in cell.name)
rooms = Rooms(Env(config.spec), config.rooms)
state = loop.start(config, rooms)
if given.weights:
    agent = load_agent(given.weights).agent
else:
    agent = eqx.tree_at(lambda a: a.heads.policy.weight, state.agent, replace_fn=lambda w: 100 * w)


@jax.jit
def act(actor, key):
    """One unroll as it is played."""
    return loop.act(config, rooms, agent, actor, key)[:2]


@jax.jit
def unroll(memories, seen):
    """The same as it is learned from."""
    return jax.vmap(agent.unroll, in_axes=(0, 1, 1), out_axes=(0, 1))(memories, seen.observation, seen.first)[1].logits


actor = state.actor
for key in jax.random.split(jax.random.key(0), 4):
    before = actor
    actor, seen = act(before, key)
few = slice(0, min(128, config.rooms))
memories, seen = jax.tree.map(lambda x: x[few], before.memory), jax.tree.map(lambda x: x[:, few], seen)
acted, learned = np.asarray(seen.logits)[:-1], np.asarray(unroll(memories, seen))[:-1]
apart = np.abs(acted - learned).max(-1) / learned.std()
beyond = (apart > 0.2).any(0).mean()
print(f"{given.part}: mean {apart.mean():.5f}, greatest {apart.max():.4f}, rooms beyond 0.2: {beyond:.3f}")
