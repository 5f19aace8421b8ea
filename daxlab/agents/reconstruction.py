"""Rebuilding the observation from the latent e (section 3, "Observation reconstruction")."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, PRNGKeyArray

from daxlab.agents.config import LanguageConfig, VisionConfig
from daxlab.agents.layers import Convolution, Linear, Residual
from daxlab.agents.lstm import LSTMCell
from daxlab.agents.vision import section_sizes


def depth_to_space(x: Float[Array, "h w c"], block: int) -> Float[Array, "h2 w2 c2"]:
    """Each pixel's block²·c channels become a block × block patch of c channels."""
    h, w, c = x.shape
    x = x.reshape(h, w, block, block, c // block**2)
    return x.transpose(0, 2, 1, 3, 4).reshape(h * block, w * block, c // block**2)


class ImageDecoder(eqx.Module):
    """e → logits of the picture: the encoder's sections in reverse.

    A transposed convolution of stride s is a convolution to s² times the channels followed by `depth_to_space`; written
    so, the full-size picture is only ever touched by the rearrangement, which is what makes the decoder affordable.
    """

    embed: Linear
    sections: tuple[tuple[tuple[Residual, ...], Convolution], ...]
    sizes: tuple[tuple[int, int], ...] = eqx.field(static=True)
    strides: tuple[int, ...] = eqx.field(static=True)
    dtype: str = eqx.field(static=True)

    def __init__(self, key: PRNGKeyArray, config: VisionConfig, latent: int, height: int, width: int) -> None:
        keys = iter(jax.random.split(key, 1 + sum(config.blocks) + len(config.blocks)))
        sizes = section_sizes(config, height, width)
        h, w = sizes[-1]
        self.embed = Linear(next(keys), latent, h * w * config.channels[-1])
        sections = []
        outputs = (3, *config.channels[:-1])
        for out, channels, blocks, stride in reversed(
            list(zip(outputs, config.channels, config.blocks, config.strides, strict=True))
        ):
            residuals = tuple(Residual(next(keys), channels, config.kernel, config.convolutions) for _ in range(blocks))
            sections.append((residuals, Convolution(next(keys), channels, out * stride**2, config.kernel)))
        self.sections = tuple(sections)
        self.sizes = tuple(reversed(sizes))
        self.strides = tuple(reversed(config.strides))
        self.dtype = config.dtype

    def __call__(self, e: Float[Array, " e"]) -> Float[Array, "h w 3"]:
        """Logits: the sigmoid of each is the brightness of its pixel and colour."""
        h, w = self.sizes[0]
        x = self.embed(e).reshape(h, w, -1).astype(self.dtype)
        for (residuals, convolution), stride, (h, w) in zip(self.sections, self.strides, self.sizes[1:], strict=True):
            for residual in residuals:
                x = residual(x)
            x = depth_to_space(convolution(jax.nn.relu(x)), stride)[:h, :w]
        return x.astype(jnp.float32)


class LanguageDecoder(eqx.Module):
    """e → logits of each word: an LSTM that gets e at every step and hears none of its own words."""

    cell: LSTMCell
    project: Linear
    length: int = eqx.field(static=True)

    def __init__(
        self, key: PRNGKeyArray, config: LanguageConfig, latent: int, vocabulary_size: int, text_length: int
    ) -> None:
        k_cell, k_project = jax.random.split(key)
        self.cell = LSTMCell(k_cell, latent, config.decoder)
        self.project = Linear(k_project, config.decoder, vocabulary_size)
        self.length = text_length

    def __call__(self, e: Float[Array, " e"]) -> Float[Array, "n vocabulary"]:
        """Logits over the vocabulary for each position of the text."""
        e_part = self.cell.project(e)
        state, hidden = self.cell.initial(), []
        for _ in range(self.length):
            state = self.cell.advance(state, e_part)
            hidden.append(state.h)
        return self.project(jnp.stack(hidden))
