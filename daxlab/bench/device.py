"""What the device can do at best: bytes copied and matrices multiplied in a second, measured."""

from __future__ import annotations

import statistics
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from daxlab.bench import timing
from daxlab.errors import DaxlabError


class Rates(NamedTuple):
    """The two ceilings of a roofline."""

    bytes: float
    """Bytes a second from and to the device's memory."""
    bfloat16: float
    """Operations a second of a matrix product; a multiplication and an addition are two."""
    float32: float
    """The same in float32, as JAX computes it unless told otherwise (on a GPU: TF32)."""

    def of(self, dtype: str) -> float:
        """Operations a second in that type."""
        return self.bfloat16 if dtype == "bfloat16" else self.float32


def bench_device(
    copy_bytes: int | None = None, matrix: int | None = None, seconds: float = 0.5, repeats: int = 5
) -> dict[str, Any]:
    """Measure the ceilings: an array of `copy_bytes` read and written, `matrix` × `matrix` matrices multiplied."""
    timing.check(seconds, repeats)
    small = jax.default_backend() == "cpu"
    copy_bytes = copy_bytes or (2**27 if small else 2**31)
    matrix = matrix or (1024 if small else 8192)
    if copy_bytes < 4 or matrix < 1:
        raise DaxlabError(
            f"copy_bytes is {copy_bytes} and matrix {matrix}; at least 4 bytes and a 1×1 matrix are needed"
        )
    copied = 4 * (copy_bytes // 4)
    return {
        **timing.machine(),
        "copy_bytes": copied,
        "matrix": matrix,
        "copy_bytes_per_second": 2 * copied / _copy(copied // 4, seconds, repeats),
        "bfloat16_per_second": 2 * matrix**3 / _matmul(matrix, "bfloat16", None, seconds, repeats),
        "float32_per_second": 2 * matrix**3 / _matmul(matrix, "float32", None, seconds, repeats),
        "float32_highest_per_second": 2 * matrix**3 / _matmul(matrix, "float32", "highest", seconds, repeats),
    }


def rates_of(report: dict[str, Any]) -> Rates:
    """The ceilings in a report of `bench_device`."""
    names = ("copy_bytes_per_second", "bfloat16_per_second", "float32_per_second")
    return Rates(*(report[name] for name in names))


def _copy(count: int, seconds: float, repeats: int) -> float:
    """Seconds to read and write that many float32."""
    x = jnp.ones(count, jnp.float32)
    return statistics.median(timing.seconds_a_call(jax.jit(lambda x: x + 1), (x,), seconds, repeats))


def _matmul(size: int, dtype: str, precision: str | None, seconds: float, repeats: int) -> float:
    """Seconds of one matrix product."""
    # Random numbers: a GPU multiplies zeros faster, for want of heat.
    a, b = (jax.random.normal(jax.random.key(i), (size, size)).astype(dtype) for i in range(2))
    multiply = jax.jit(lambda a, b: jnp.matmul(a, b, precision=precision))
    return statistics.median(timing.seconds_a_call(multiply, (a, b), seconds, repeats))
