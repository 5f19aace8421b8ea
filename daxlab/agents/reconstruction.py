"""Rebuilding the observation from the latent e (section 3, "Observation reconstruction")."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, PRNGKeyArray

from daxlab.agents.config import LanguageConfig, VisionConfig
from daxlab.agents.layers import Convolution, Linear, Residual, depth_to_space
from daxlab.agents.lstm import LSTMCell
from daxlab.agents.vision import FOLD, is_folded, section_sizes


class ImageDecoder(eqx.Module):
    """e → logits of the picture: the encoder's sections in reverse.

    A transposed convolution of stride s is a convolution to s² times the channels followed by `depth_to_space`; written
    so, the full-size picture is only ever touched by the rearrangement, which is what makes the decoder affordable.
    """

    embed: Linear
    sections: tuple[tuple[tuple[Residual, ...], Convolution], ...]
    sizes: tuple[tuple[int, int], ...] = eqx.field(static=True)
    config: VisionConfig = eqx.field(static=True)

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
        self.config = config

    def __call__(self, e: Float[Array, " e"]) -> Float[Array, "h w 3"]:
        """Logits: the sigmoid of each is the brightness of its pixel and colour."""
        h, w = self.sizes[0]
        x = self.embed(e).reshape(h, w, -1).astype(self.config.dtype)
        folded = is_folded(self.config, *self.sizes[-1])
        last = len(self.sections) - 1
        for i, (residuals, convolution) in enumerate(self.sections):
            fold = FOLD if folded and i == last else None
            for residual in residuals:
                x = residual(x, fold)
            x = convolution(jax.nn.relu(x), fold)
            x = x if fold is None else depth_to_space(x, fold)
            h, w = self.sizes[i + 1]
            # What the last section wants folded is not unfolded first.
            x = x if folded and i == last - 1 else depth_to_space(x, self.config.strides[last - i])[:h, :w]
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
