"""What a layer costs: operations and bytes, forwards and backwards.

Operations are those of matrix products and convolutions; a tap that falls on the zeros round a picture is none. Bytes
are the least that must go to and from the device's memory: every array is read once where it is used and written once
where it is made, and all that works on single numbers is fused into its neighbours. A backward pass repeats each
product of the forward pass for the weights' gradient, and once more for the input's where that is wanted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

FLOAT = 4
"""Bytes of a float32."""


@dataclass(frozen=True)
class Layer:
    """One product, for one step of one room."""

    operations: float
    """A multiplication and an addition are two."""
    bytes: float
    """Of its inputs and outputs; weights are counted apart."""
    weights: int = 0
    """Numbers that are learned, biases included: read once a call, whatever the batch."""
    gradients: int = 2
    """Products of this size in the backward pass: for weights and inputs 2, for one of the two 1, for neither 0."""
    once: bool = False
    """Done once a call, not once a room."""


@dataclass(frozen=True)
class Work:
    """A part of a step: some layers, forwards or backwards."""

    operations: float = 0.0
    """For each step of each room."""
    bytes: float = 0.0
    """For each step of each room."""
    call_operations: float = 0.0
    """For each call, whatever its batch."""
    call_bytes: float = 0.0
    """For each call, whatever its batch: weights."""
    dtype: str = "float32"
    """Type of the products."""

    def over(self, steps: int, calls: int) -> tuple[float, float]:
        """Operations and bytes of so many steps (of all rooms together) in so many calls."""
        operations = steps * self.operations + calls * self.call_operations
        return operations, steps * self.bytes + calls * self.call_bytes


def forward(layers: Iterable[Layer], dtype: str = "float32") -> Work:
    """The layers one after another."""
    layers = list(layers)
    return _work([(layer, 1) for layer in layers], dtype, FLOAT * parameters(layers))


def backward(layers: Iterable[Layer], dtype: str = "float32") -> Work:
    """Their gradients; weights are read and their gradients written."""
    layers = list(layers)
    return _work([(layer, layer.gradients) for layer in layers], dtype, 2 * FLOAT * parameters(layers))


def _work(layers: list[tuple[Layer, int]], dtype: str, weight_bytes: float) -> Work:
    rooms = [(layer, times) for layer, times in layers if not layer.once]
    calls = [(layer, times) for layer, times in layers if layer.once]
    return Work(
        sum(times * layer.operations for layer, times in rooms),
        sum(times * layer.bytes for layer, times in rooms),
        sum(times * layer.operations for layer, times in calls),
        sum(times * layer.bytes for layer, times in calls) + weight_bytes,
        dtype,
    )


def parameters(layers: Iterable[Layer]) -> int:
    """How many numbers are learned."""
    return sum(layer.weights for layer in layers)


def linear(size_in: int, size_out: int, *, rows: int = 1, bias: bool = True, gradients: int = 2) -> Layer:
    """y = x W + b for so many rows."""
    return Layer(
        2 * rows * size_in * size_out,
        FLOAT * rows * (size_in + size_out),
        size_in * size_out + bias * size_out,
        gradients,
    )


def product(rows: int, inner: int, columns: int, *, gradients: int = 2) -> Layer:
    """Two matrices that are both made in the step; small, so that they need not leave the chip."""
    return Layer(2 * rows * inner * columns, 0, 0, gradients)


def taps(size: int, kernel: int, stride: int) -> int:
    """Taps of a convolution along one side that fall inside the picture, over all of its outputs."""
    outputs = -(-size // stride)
    before = max((outputs - 1) * stride + kernel - size, 0) // 2
    return sum(0 <= i * stride + j - before < size for i in range(outputs) for j in range(kernel))


def convolution(
    size: tuple[int, int], kernel: int, channels: tuple[int, int], stride: int, number: int, *, gradients: int = 2
) -> Layer:
    """One convolution of a picture, its numbers of so many bytes."""
    (h, w), (before, after) = size, channels
    products = taps(h, kernel, stride) * taps(w, kernel, stride) * before * after
    made = -(-h // stride) * -(-w // stride) * after
    weights = kernel * kernel * before * after + after
    return Layer(2 * products, number * (h * w * before + made), weights, gradients)
