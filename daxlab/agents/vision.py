"""The picture's encoder: a ResNet and one layer (section 3; sizes in A.4.2). The fovea is ours."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, PRNGKeyArray, UInt8

from daxlab.agents.config import VisionConfig
from daxlab.agents.layers import Convolution, Linear, Residual, initial_weights, space_to_depth


def section_sizes(config: VisionConfig, height: int, width: int) -> list[tuple[int, int]]:
    """Height and width before the ResNet and after each of its sections."""
    sizes = [(height, width)]
    for stride in config.strides:
        h, w = sizes[-1]
        sizes.append((-(-h // stride), -(-w // stride)))
    return sizes


FOLD = 2
"""Pixels of a side of the cells that the first section is folded into, where it is."""


def is_folded(config: VisionConfig, height: int, width: int) -> bool:
    """Whether the first section, with most of the pixels and fewest channels, is computed folded.

    A GPU is two to three times as fast so (docs/performance.md), a CPU slower.
    """
    size = FOLD * config.strides[0]
    fits = height % size == width % size == 0 and config.strides[1:2] == (FOLD,)
    return jax.default_backend() == "gpu" and fits and config.channels[0] <= 16


GRID = 16
"""The fovea looks at no more than GRID × GRID pixels unless it is given a stride."""
LEAST = 1e-4
"""Added before a root is taken: of less than this much of a colour nothing is told."""


def fovea_pixels(config: VisionConfig, height: int) -> tuple[int, int]:
    """Half the side of the square that the fovea looks at, and its stride."""
    half = max(1, round(height * config.fovea_width * 5 / 3))
    return half, config.fovea_stride or max(2, -(-2 * half // GRID))


class Fovea(eqx.Module):
    """Which colours are in the middle of the view: colour units, averaged under a bell of `fovea_width`.

    An untrained ResNet's codes of two views of a thing are hardly more alike than those of two things; its colours
    are, so that views can be compared from the start (docs/results.md). Each unit answers to one side of the colour
    space.
    """

    colours: Float[Array, "3 f"]
    threshold: Float[Array, " f"]
    config: VisionConfig = eqx.field(static=True)

    def __init__(self, key: PRNGKeyArray, config: VisionConfig) -> None:
        k_colours, k_threshold = jax.random.split(key)
        colours = initial_weights(k_colours, (3, config.fovea), 1)
        self.colours = colours / jnp.linalg.norm(colours, axis=0)
        self.threshold = jax.random.uniform(k_threshold, (config.fovea,), minval=0.0, maxval=1.2)
        self.config = config

    def __call__(self, rgb: UInt8[Array, "h w 3"]) -> Float[Array, " f"]:
        """Encode one picture."""
        height, width = rgb.shape[:2]
        half, stride = fovea_pixels(self.config, height)
        top, left = max(0, height // 2 - half), max(0, width // 2 - half)
        middle = rgb[top : top + 2 * half : stride, left : left + 2 * half : stride]
        spread = self.config.fovea_width * height
        rows, columns = (np.exp(-(((np.arange(n) - (n - 1) / 2) * stride / spread) ** 2)) for n in middle.shape[:2])
        bell = (rows[:, None] * columns).reshape(-1, 1) / np.sum(rows[:, None] * columns)
        # The threshold is one more colour, of which every pixel has -1. Where a unit answers at all it is linear in
        # these: what is seen of each there is all that the unit tells, and all that its gradient needs.
        x = jnp.pad(middle.reshape(-1, 3).astype(jnp.float32) / 127.5 - 1, ((0, 0), (0, 1)), constant_values=-1.0)
        units = jnp.concatenate([self.colours, self.threshold[None]])
        fixed = jax.lax.stop_gradient(units)
        level = sum(x[:, i, None] * fixed[i] for i in range(4))
        lit = jnp.where(level > 0, np.float32(bell), 0.0)
        told = jnp.sum(units * jnp.sum(lit[:, None] * x[:, :, None], axis=0), axis=0)
        return jnp.sqrt(told + LEAST) if self.config.fovea_root else told


class Vision(eqx.Module):
    """rgb → v. Sections of one strided convolution and residual blocks, then a linear layer; the fovea, if any, last.

    v is linear in the last features (no relu): what is compared, stored and standardised is signed.
    """

    sections: tuple[tuple[Convolution, tuple[Residual, ...]], ...]
    embed: Linear
    fovea: Fovea | None
    config: VisionConfig = eqx.field(static=True)

    def __init__(self, key: PRNGKeyArray, config: VisionConfig, height: int, width: int) -> None:
        keys = iter(jax.random.split(key, 2 + sum(config.blocks) + len(config.blocks)))
        sections, before = [], 3
        for channels, blocks, stride in zip(config.channels, config.blocks, config.strides, strict=True):
            opening = Convolution(next(keys), before, channels, config.kernel, stride)
            residuals = tuple(Residual(next(keys), channels, config.kernel, config.convolutions) for _ in range(blocks))
            sections.append((opening, residuals))
            before = channels
        h, w = section_sizes(config, height, width)[-1]
        self.sections = tuple(sections)
        self.embed = Linear(next(keys), h * w * before, config.embedding - config.fovea)
        self.fovea = Fovea(next(keys), config) if config.fovea else None
        self.config = config

    def __call__(self, rgb: UInt8[Array, "h w 3"]) -> Float[Array, " v"]:
        """Encode one picture."""
        folded = is_folded(self.config, *rgb.shape[:2])
        x = space_to_depth(rgb, FOLD * self.config.strides[0]) if folded else rgb
        x = x.astype(self.config.dtype) / 255
        for i, (opening, residuals) in enumerate(self.sections):
            # The second section's stride is what the first was folded by.
            x = opening(x, {0: FOLD, 1: 1}.get(i) if folded else None)
            for residual in residuals:
                x = residual(x, FOLD if folded and i == 0 else None)
        v = self.embed(jax.nn.relu(x).reshape(-1).astype(jnp.float32))
        return v if self.fovea is None else jnp.concatenate([v, self.fovea(rgb)])
