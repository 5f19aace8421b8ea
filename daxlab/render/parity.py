"""Do two backends draw the same pictures, and how fast is each?

python -m daxlab.render.parity gpu reference
"""

from __future__ import annotations

import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

from daxlab.assets.mesh import Bank
from daxlab.render import render
from daxlab.render.scene import Scene

TOLERANCE = 2
"""Steps of 1/255 that a pixel may differ by and still count as equal."""


def random_scenes(
    seed: int, rooms: int, things: int = 3, meshes: int = 3, nearest: float = 1.0, furthest: float = 3.0
) -> Scene:
    """A batch of views into 5×5 m rooms, with things on the floor in front of the camera, turned in any direction."""
    rng = np.random.default_rng(seed)
    yaw, pitch = rng.uniform(-np.pi, np.pi, rooms), rng.uniform(-0.6, 0.1, rooms)
    forward = np.stack([np.cos(yaw) * np.cos(pitch), np.sin(yaw) * np.cos(pitch), np.sin(pitch)], -1)
    right = np.stack([np.sin(yaw), -np.cos(yaw), np.zeros(rooms)], -1)
    eye = np.stack([rng.uniform(-2, 2, rooms), rng.uniform(-2, 2, rooms), rng.uniform(0.8, 1.0, rooms)], -1)
    distance = rng.uniform(nearest, furthest, (rooms, things))
    angle = yaw[:, None] + rng.uniform(-0.6, 0.6, (rooms, things))
    ground = eye[:, None, :2] + distance[..., None] * np.stack([np.cos(angle), np.sin(angle)], -1)
    position = np.concatenate([ground.clip(-2.3, 2.3), rng.uniform(0.15, 0.4, (rooms, things, 1))], -1)
    turn = np.linalg.qr(rng.normal(size=(rooms, things, 3, 3)))[0]
    turn[..., 0] *= np.sign(np.linalg.det(turn))[..., None]
    return Scene(
        eye=jnp.asarray(eye, jnp.float32),
        look=jnp.asarray(np.stack([right, np.cross(right, forward), forward], 1), jnp.float32),
        mesh=jnp.asarray(rng.integers(0, meshes, (rooms, things)), jnp.int32),
        position=jnp.asarray(position, jnp.float32),
        rotation=jnp.asarray(turn, jnp.float32),
        room=jnp.broadcast_to(jnp.array([2.5, 2.5, 2.5], jnp.float32), (rooms, 3)),
        decor=jnp.asarray(rng.integers(0, 4, rooms), jnp.int32),
    )


def parity(
    first: str, second: str, scenes: Scene, width: int = 96, height: int = 72, bank: Bank | None = None
) -> float:
    """The share of pixels that two backends draw equal within 2/255 in all three channels."""

    def pictures(backend: str) -> np.ndarray:
        drawn = jax.vmap(lambda scene: render(scene, width, height, bank, backend))(scenes)
        return np.asarray(drawn).astype(np.int32)

    return float((np.abs(pictures(first) - pictures(second)) <= TOLERANCE).all(-1).mean())


def frames_per_second(
    backend: str, scenes: Scene, width: int = 96, height: int = 72, bank: Bank | None = None, seconds: float = 3.0
) -> float:
    """Pictures a second of one backend alone: after compilation, waiting for the device, the best of several runs."""
    draw = jax.jit(jax.vmap(lambda scene: render(scene, width, height, bank, backend)))
    scenes = jax.device_put(scenes)
    draw(scenes).block_until_ready()
    best, end = np.inf, time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(4):
            pictures = draw(scenes)
        pictures.block_until_ready()
        best = min(best, (time.perf_counter() - start) / 4)
    return len(scenes.decor) / best


def main() -> None:
    """Compare the two backends named on the command line."""
    first, second = sys.argv[1:3]
    print(f"{parity(first, second, random_scenes(0, 64)):.5f} of pixels equal")
    for backend in (first, second):
        rooms = 64 if backend == "reference" else 4096 if jax.default_backend() == "gpu" else 1024
        print(f"{backend}: {frames_per_second(backend, random_scenes(1, rooms)):,.0f} frames/s, {rooms} rooms")


if __name__ == "__main__":
    main()
