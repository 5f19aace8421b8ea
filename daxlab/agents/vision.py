"""The picture's encoder: a ResNet and one layer (section 3; sizes in A.4.2)."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, PRNGKeyArray, UInt8

from daxlab.agents.config import VisionConfig
from daxlab.agents.layers import Convolution, Linear, Residual


def section_sizes(config: VisionConfig, height: int, width: int) -> list[tuple[int, int]]:
    """Height and width before the ResNet and after each of its sections."""
    sizes = [(height, width)]
    for stride in config.strides:
        h, w = sizes[-1]
        sizes.append((-(-h // stride), -(-w // stride)))
    return sizes


class Vision(eqx.Module):
    """rgb → v. Sections of one strided convolution and residual blocks, then a linear layer.

    v is linear in the last features (no relu): what is compared, stored and standardised is signed.
    """

    sections: tuple[tuple[Convolution, tuple[Residual, ...]], ...]
    embed: Linear
    dtype: str = eqx.field(static=True)

    def __init__(self, key: PRNGKeyArray, config: VisionConfig, height: int, width: int) -> None:
        keys = iter(jax.random.split(key, 1 + sum(config.blocks) + len(config.blocks)))
        sections, before = [], 3
        for channels, blocks, stride in zip(config.channels, config.blocks, config.strides, strict=True):
            opening = Convolution(next(keys), before, channels, config.kernel, stride)
            residuals = tuple(Residual(next(keys), channels, config.kernel, config.convolutions) for _ in range(blocks))
            sections.append((opening, residuals))
            before = channels
        h, w = section_sizes(config, height, width)[-1]
        self.sections = tuple(sections)
        self.embed = Linear(next(keys), h * w * before, config.embedding)
        self.dtype = config.dtype

    def __call__(self, rgb: UInt8[Array, "h w 3"]) -> Float[Array, " v"]:
        """Encode one picture."""
        x = rgb.astype(self.dtype) / 255
        for opening, residuals in self.sections:
            x = opening(x)
            for residual in residuals:
                x = residual(x)
        return self.embed(jax.nn.relu(x).reshape(-1).astype(jnp.float32))
