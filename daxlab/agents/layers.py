"""The few layers everything else is made of. Weights start as in Sonnet: truncated normal, deviation 1/√(fan in)."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, PRNGKeyArray


def initial_weights(key: PRNGKeyArray, shape: tuple[int, ...], fan_in: int, scale: float = 1.0) -> Array:
    """Truncated normal numbers of deviation scale/√fan_in. NumPy draws them: JAX would compile one program a shape."""
    rng = np.random.default_rng(np.asarray(jax.random.bits(key, (4,))))
    x = rng.standard_normal(shape, np.float32)
    while (far := np.abs(x) > 2).any():
        x[far] = rng.standard_normal(far.sum(), np.float32)
    return jnp.asarray(x * np.float32(scale / fan_in**0.5))


def orthogonal(key: PRNGKeyArray, rows: int, columns: int) -> Float[Array, "rows columns"]:
    """A random matrix with orthonormal rows or columns, whichever are fewer."""
    rng = np.random.default_rng(np.asarray(jax.random.bits(key, (4,))))
    q, _ = np.linalg.qr(rng.standard_normal((max(rows, columns), min(rows, columns))))
    return jnp.asarray(q if rows >= columns else q.T, jnp.float32)


class Linear(eqx.Module):
    """y = x W + b over the last axis, whatever stands before it."""

    weight: Float[Array, "i o"]
    bias: Float[Array, " o"] | None

    def __init__(
        self, key: PRNGKeyArray, size_in: int, size_out: int, *, bias: bool = True, scale: float = 1.0
    ) -> None:
        self.weight = initial_weights(key, (size_in, size_out), size_in, scale)
        self.bias = jnp.zeros(size_out) if bias else None

    def __call__(self, x: Float[Array, "... i"]) -> Float[Array, "... o"]:
        """Apply the layer."""
        y = x @ self.weight
        return y if self.bias is None else y + self.bias


class Convolution(eqx.Module):
    """A convolution of one picture with zero padding, so that a stride s gives ⌈size / s⌉."""

    weight: Float[Array, "k k i o"]
    bias: Float[Array, " o"]
    stride: int = eqx.field(static=True)

    def __init__(self, key: PRNGKeyArray, size_in: int, size_out: int, kernel: int, stride: int = 1) -> None:
        self.weight = initial_weights(key, (kernel, kernel, size_in, size_out), kernel * kernel * size_in)
        self.bias = jnp.zeros(size_out)
        self.stride = stride

    def __call__(self, x: Float[Array, "h w i"]) -> Float[Array, "h2 w2 o"]:
        """Convolve in the type of x; channels stay last, which is what the GPU's tensor cores read."""
        y = jax.lax.conv_general_dilated(
            x[None],
            self.weight.astype(x.dtype),
            (self.stride, self.stride),
            "SAME",
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
        )[0]
        return y + self.bias.astype(x.dtype)


class Residual(eqx.Module):
    """x + conv(relu(… conv(relu(x)))): the pre-activation block of the IMPALA network."""

    convolutions: tuple[Convolution, ...]

    def __init__(self, key: PRNGKeyArray, channels: int, kernel: int, depth: int) -> None:
        keys = jax.random.split(key, depth)
        self.convolutions = tuple(Convolution(k, channels, channels, kernel) for k in keys)

    def __call__(self, x: Float[Array, "h w c"]) -> Float[Array, "h w c"]:
        """Apply the block."""
        y = x
        for convolution in self.convolutions:
            y = convolution(jax.nn.relu(y))
        return x + y


class LayerNorm(eqx.Module):
    """(x − mean) / deviation · scale + offset over the last axis."""

    scale: Float[Array, " c"]
    offset: Float[Array, " c"]

    def __init__(self, size: int) -> None:
        self.scale = jnp.ones(size)
        self.offset = jnp.zeros(size)

    def __call__(self, x: Float[Array, "... c"]) -> Float[Array, "... c"]:
        """Apply the layer."""
        centred = x - jnp.mean(x, -1, keepdims=True)
        return centred * jax.lax.rsqrt(jnp.mean(centred**2, -1, keepdims=True) + 1e-5) * self.scale + self.offset


def masked_softmax(logits: Float[Array, "... n"], mask: Array) -> Float[Array, "... n"]:
    """Softmax over the last axis among the entries where mask holds; all zeros where it holds nowhere."""
    weights = jax.nn.softmax(jnp.where(mask, logits, -1e9), axis=-1)
    return jnp.where(mask, weights, 0.0)
