"""What the Numba kernels are made of, in few instructions each: Numba's own take most of its time to compile.

Pointers are indexed as arrays are, but an index is taken as it is: no length, and nothing counted from the end.
Numba's cache on disk notices changes of `raster` only: after a change here, touch that file.
"""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic as _intrinsic

# Any: what Numba compiles is not what its annotations promise.
intrinsic: Any = _intrinsic
_INNER: Any = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
exact: Any = numba.njit(**_INNER)
"""A function that only compiled ones call."""
fast: Any = numba.njit(fastmath=True, **_INNER)
"""The same, whose sums may be taken in any order."""


@intrinsic
def select(typing: Any, condition: Any, yes: Any, no: Any) -> Any:
    """``yes if condition else no`` without a branch, which would keep a loop from being vectorised."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.select(args[0], args[1], args[2])

    return yes(types.boolean, yes, yes), generate


def _chosen(wins: str) -> Any:
    """Of two numbers the one that wins, as Python's ``min`` and ``max``."""

    def build(typing: Any, a: Any, b: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            compare = builder.fcmp_ordered if isinstance(signature.return_type, types.Float) else builder.icmp_signed
            return builder.select(compare(wins, args[1], args[0]), args[1], args[0])

        kind = types.unliteral(a)
        return kind(kind, kind), generate

    return intrinsic(build)


smaller, larger = _chosen("<"), _chosen(">")


def _pointer(kind: Any) -> Any:
    """From an address to a pointer at that kind of number."""

    def build(typing: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.inttoptr(args[0], context.get_value_type(types.CPointer(kind)))

        return types.CPointer(kind)(types.intp), generate

    return intrinsic(build)


floats, ints, octets, words = (_pointer(kind) for kind in (types.float32, types.int32, types.uint8, types.intp))


def external(name: str, argument_count: int) -> Any:
    """A C function of this process, called by name on words."""

    def build(typing: Any, *arguments: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            kind = context.get_value_type(types.intp)
            function_type = ir.FunctionType(kind, [kind] * argument_count)
            return builder.call(cgutils.get_or_insert_function(builder.module, function_type, name), values)

        return types.intp(*[types.intp] * argument_count), generate

    if argument_count:
        return intrinsic(lambda typing, argument: build(typing, argument))
    return intrinsic(lambda typing: build(typing))


malloc, free = external("malloc", 1), external("free", 1)
