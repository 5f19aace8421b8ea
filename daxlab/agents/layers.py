"""The few layers everything else is made of. Weights start as in Sonnet: truncated normal, deviation 1/√(fan in)."""

from __future__ import annotations

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, PRNGKeyArray, Shaped


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

    def __call__(self, x: Float[Array, "h w i"], fold: int | None = None) -> Float[Array, "h2 w2 o"]:
        """Convolve in the type of x; channels stay last, which is what the GPU's tensor cores read.

        With `fold` the picture comes and goes folded (`space_to_depth`): x by fold · stride, the result by fold. It is
        the same convolution from cell to cell, with zeros where a pixel of the one does not reach one of the other.
        Tensor cores idle over sixteen channels, and are quicker with four times the sums over wider pixels.
        """
        weight, bias = self.weight.astype(x.dtype), self.bias.astype(x.dtype)
        if fold is not None:
            weight, padding = _folded(self.weight, self.stride, fold)
            return _convolve(x, weight.astype(x.dtype), 1, padding) + jnp.tile(bias, fold**2)
        if self.weight.shape[0] == self.stride and not any(size % self.stride for size in x.shape[:2]):
            # Patches that do not overlap are one product.
            return space_to_depth(x, self.stride) @ weight.reshape(-1, weight.shape[-1]) + bias
        if x.size > FEW:
            padding = jax.lax.padtype_to_pads(x.shape[:2], weight.shape[:2], 2 * (self.stride,), "SAME")
            return _convolve(x, weight, self.stride, padding) + bias
        # A small picture is multiplied by one matrix: libraries of convolutions are slow where most of it is padding.
        reaches = (_reach(size, self.weight.shape[0], self.stride) for size in x.shape[:2])
        rows, columns = (reach[padding[0]] for reach, padding in reaches)
        matrix = jnp.einsum("ayk,bwl,klio->abiywo", rows, columns, self.weight, precision="highest")
        return jnp.tensordot(x, matrix.astype(x.dtype), 3) + bias


FEW = 256
"""Numbers of a picture up to which a convolution of it is done as one matrix."""


FEW_IN_PATCHES = 3000
"""Likewise on a GPU as one product with its patches. That stays one where every seed has weights of its own (see
`daxlab.learning.together`), of which a convolution would have to be made that is cut into groups. All pictures at the
desk are so small; none in the room is (the least has 9 x 12 x 32), whose program stays the one that was measured."""


def _convolve(x: Array, weight: Array, stride: int, padding: Sequence[tuple[int, int]]) -> Array:
    if _in_patches(x):
        # What is put together for a product must not become a part of its kernel (docs/performance.md, "When acting
        # and learning differ").
        patches = jax.lax.optimization_barrier(_patches(x, weight.shape[0], weight.shape[1], stride, padding))
        return patches @ weight.reshape(-1, weight.shape[-1])
    numbers = ("NHWC", "HWIO", "NHWC")
    return jax.lax.conv_general_dilated(x[None], weight, (stride, stride), padding, dimension_numbers=numbers)[0]


def _in_patches(x: Array) -> bool:
    return jax.default_backend() == "gpu" and x.size <= FEW_IN_PATCHES


def _patches(
    x: Shaped[Array, "h w i"], rows: int, columns: int, stride: int, padding: Sequence[tuple[int, int]]
) -> Shaped[Array, "h2 w2 c"]:
    """What each result of a convolution sees, tap after tap."""
    x = jnp.pad(x, (*padding, (0, 0)))
    high, wide = (size - taps + 1 for size, taps in zip(x.shape[:2], (rows, columns), strict=True))
    taps = [x[k : k + high : stride, l : l + wide : stride] for k in range(rows) for l in range(columns)]  # noqa: E741
    return taps[0] if len(taps) == 1 else jnp.concatenate(taps, axis=-1)


def _folded(weight: Array, stride: int, fold: int) -> tuple[Array, list[tuple[int, int]]]:
    """The weights from cell to cell, and the padding in cells."""
    reach, padding = _reach(stride * fold, weight.shape[0], stride)
    weight = jnp.einsum("xayk,zbwl,klio->xzabiywo", reach, reach, weight, precision="highest")
    return weight.reshape(*weight.shape[:2], np.prod(weight.shape[2:5]), -1), 2 * [padding]


def _reach(size: int, kernel: int, stride: int) -> tuple[Float[np.ndarray, "x a y k"], tuple[int, int]]:
    """Along one axis cut into cells: whether tap k of a cell's result y falls on pixel a of the cell x cells on.

    Also how many cells it reaches back and ahead: which is the padding, and where in x the cell itself stands.
    """
    results = -(-size // stride)
    before = max((results - 1) * stride + kernel - size, 0) // 2
    tap = stride * np.arange(results)[:, None] + np.arange(kernel) - before
    first, last = tap.min() // size, tap.max() // size
    cell, pixel = np.ogrid[first : last + 1, :size]
    reach = tap == (cell * size + pixel)[..., None, None]
    return reach.astype(np.float32), (int(-first), int(last))


def space_to_depth(x: Shaped[Array, "h w c"], block: int) -> Shaped[Array, "h2 w2 c2"]:
    """Each block × block patch of c channels becomes one pixel of block²·c channels."""
    h, w, c = x.shape
    x = x.reshape(h // block, block, w // block, block, c)
    return x.transpose(0, 2, 1, 3, 4).reshape(h // block, w // block, block**2 * c)


def depth_to_space(x: Shaped[Array, "h w c"], block: int) -> Shaped[Array, "h2 w2 c2"]:
    """Each pixel's block²·c channels become a block × block patch of c channels."""
    h, w, c = x.shape
    x = x.reshape(h, w, block, block, c // block**2)
    return x.transpose(0, 2, 1, 3, 4).reshape(h * block, w * block, c // block**2)


class Residual(eqx.Module):
    """x + conv(relu(… conv(relu(x)))): the pre-activation block of the IMPALA network."""

    convolutions: tuple[Convolution, ...]

    def __init__(self, key: PRNGKeyArray, channels: int, kernel: int, depth: int) -> None:
        keys = jax.random.split(key, depth)
        self.convolutions = tuple(Convolution(k, channels, channels, kernel) for k in keys)

    def __call__(self, x: Float[Array, "h w c"], fold: int | None = None) -> Float[Array, "h w c"]:
        """Apply the block, to a folded picture too."""
        y = x
        for convolution in self.convolutions:
            y = convolution(jax.nn.relu(y), fold)
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
        return normal(x) * self.scale + self.offset


def normal(x: Float[Array, "... c"]) -> Float[Array, "... c"]:
    """(x − mean) / deviation over the last axis."""
    centred = x - jnp.mean(x, -1, keepdims=True)
    return centred * jax.lax.rsqrt(jnp.mean(centred**2, -1, keepdims=True) + 1e-5)


def masked_softmax(logits: Float[Array, "... n"], mask: Array) -> Float[Array, "... n"]:
    """Softmax over the last axis among the entries where mask holds; all zeros where it holds nowhere."""
    weights = jax.nn.softmax(jnp.where(mask, logits, -1e9), axis=-1)
    return jnp.where(mask, weights, 0.0)
