"""How well can an encoder be taught to tell classes at the desk apart, by labels instead of rewards?

    python results/desk_leads/categories/classes_by_shape.py

Scripted play on desk/category_extension/fast_map_three_objs_extension gives views of things; 17 classes, 40 exemplars of
each, teach the encoder (two views of a class are alike, of two classes not: batches of 256 views, Adam). Told is the area
under the curve of cos(v, v') for pairs of views of different exemplars, same class against other class: of those it was
taught, of six further exemplars of those classes, and of six classes that it never saw.
"""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from daxlab.agents.config import VisionConfig
from daxlab.agents.vision import Vision
from daxlab.learning.config import preset
from daxlab.levels.env import Env, Rooms
from daxlab.levels.expert import random_object
from daxlab.levels.registry import find

ROOMS, STEPS, BATCH, RANDOM = 512, 200, 256, 0.3
LOOKS = (0, 300, 600, 1200)
SEES = {
    "the preset's ResNet": replace(preset("desk").agent.vision, fovea=0),
    "channels 16, 32, 32, stride 2": VisionConfig(
        channels=(16, 32, 32), blocks=(0, 0, 0), strides=(2, 2, 2), convolutions=1, embedding=96
    ),
    "the same with a residual block each": VisionConfig(
        channels=(16, 32, 32), blocks=(1, 1, 1), strides=(2, 2, 2), convolutions=1, embedding=96
    ),
}


def views(env, key):
    """Pictures in which an object is fixated, and which mesh that is."""
    rooms = Rooms(env, ROOMS)

    def step(carry, key):
        states, now = carry
        k_when, k_what = jax.random.split(key)
        scripted = jax.vmap(lambda state: random_object(env.level, state))(states)
        drawn = jax.random.randint(k_what, (ROOMS,), 0, env.num_actions)
        action = jnp.where(jax.random.uniform(k_when, (ROOMS,)) < RANDOM, drawn, scripted)
        mesh = jnp.take_along_axis(states.layout.mesh, jnp.maximum(states.fixated, 0)[:, None], 1)[:, 0]
        return rooms.step(states, action), (now.observation.rgb, jnp.where(states.fixated >= 0, mesh, -1))

    k_rooms, k_steps = jax.random.split(key)
    run = jax.jit(lambda k, ks: jax.lax.scan(step, rooms.reset(k), ks)[1])
    rgb, mesh = (np.asarray(x) for x in run(k_rooms, jax.random.split(k_steps, STEPS)))
    rgb, mesh = rgb.reshape(-1, *rgb.shape[2:]), mesh.reshape(-1)
    return rgb[mesh >= 0], mesh[mesh >= 0]


def unit(z):
    """Codes less their mean, at length 1."""
    z = (z - z.mean(0)) / (z.std(0) + 1e-3)
    return z * jax.lax.rsqrt(jnp.sum(z * z, 1, keepdims=True) + 1e-3)


def area(encode, rgb, mesh, per_class):
    """How often a pair of a class is more alike than a pair of two."""
    some = np.random.default_rng(1).choice(len(rgb), 3000)
    z = np.asarray(unit(jax.jit(jax.vmap(encode))(rgb[some])))
    mesh, similarity = mesh[some], z @ z.T
    kind = mesh // per_class
    same, other = kind[:, None] == kind, mesh[:, None] != mesh
    draw = np.random.default_rng(2).choice
    return float(np.mean(draw(similarity[same & other], 200_000) > draw(similarity[~same], 200_000)))


def main():
    """A line for each encoder and look."""
    level = next(iter(find("desk/category_extension/fast_map_three_objs_extension").weights))
    rgb, mesh = views(Env(level), jax.random.key(0))
    kind, exemplar = mesh // level.exemplars, mesh % level.exemplars
    sets = [(exemplar < 40) & (kind < 17), (exemplar >= 40) & (kind < 17), kind >= 17]
    for name, config in SEES.items():
        agent = Vision(jax.random.key(0), config, *level.picture)
        parameters, rest = eqx.partition(agent, eqx.is_inexact_array)
        optimiser = optax.adam(1e-3)
        state = optimiser.init(parameters)

        @eqx.filter_jit
        def update(parameters, state, x, y, rest=rest, optimiser=optimiser):
            def loss(parameters):
                z = unit(jax.vmap(eqx.combine(parameters, rest))(x))
                score = jax.nn.log_softmax(10 * z @ z.T - 1e9 * jnp.eye(len(x)), axis=1)
                alike = (y[:, None] == y) & ~jnp.eye(len(x), dtype=bool)
                return -jnp.sum(jnp.where(alike, score, 0.0)) / jnp.maximum(alike.sum(), 1)

            change, state = optimiser.update(eqx.filter_grad(loss)(parameters), state)
            return eqx.apply_updates(parameters, change), state

        draw, taught = np.random.default_rng(0), np.flatnonzero(sets[0])
        for i in range(LOOKS[-1] + 1):
            if i in LOOKS:
                told = [area(eqx.combine(parameters, rest), rgb[s], mesh[s], level.exemplars) for s in sets]
                print(f"{name}: after {i} batches", *(f"{x:.3f}" for x in told), flush=True)
            some = draw.choice(taught, BATCH)
            parameters, state = update(parameters, state, rgb[some], kind[some])


if __name__ == "__main__":
    main()
