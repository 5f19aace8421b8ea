"""The Numba kernel as an operation of XLA's own: no Python, no copies and no lock on the way.

XLA hands a handler one pointer, to a call frame of 8-byte words (``xla/ffi/api/c_api.h``); the offsets below are its
fields. Rooms are shared out over XLA's own thread pool, so that no second set of threads competes with it: helpers are
queued, everybody (the calling thread too) takes the next few rooms from a counter until none is left, and the caller
waits only for rooms that somebody has already begun. A helper that starts too late finds nothing to do, so a full pool
cannot dead-lock; the last one to leave frees the job.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from typing import Any

import jax
import numba
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils

from daxlab.render import raster
from daxlab.render.intrinsics import exact, external, free, intrinsic, malloc, smaller, words

cfunc: Any = numba.cfunc

TARGET = "daxlab_render"
API_VERSION = 3 << 32  # of the header this was written from: major 0, minor 3
METADATA, EXECUTE = 1, 3
SHARE = 4
"""Rooms a thread takes at a time: enough to spread the cost of a take, few enough that all end together."""

# Words behind those of a job: rooms taken, rooms drawn, threads that still hold the job; what XLA's pool is asked (five
# words) and how many threads it says it has.
TAKEN, DRAWN, HOLDERS, REQUEST, THREADS, SIZE = (8 * (raster.JOB + i) for i in (0, 1, 2, 3, 8, 9))

word = types.intp

_give_way = external("SwitchToThread" if sys.platform == "win32" else "sched_yield", 0)


@intrinsic
def _call(typing: Any, function: Any, arguments: Any) -> Any:
    """Call the C function at an address with a tuple of words; gives back a word (meaningless if it gives none)."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = context.get_value_type(word)
        function_type = ir.FunctionType(kind, [kind] * arguments.count)
        values = cgutils.unpack_tuple(builder, args[1])
        return builder.call(builder.inttoptr(args[0], function_type.as_pointer()), values)

    return word(word, arguments), generate


@intrinsic
def _add(typing: Any, address: Any, amount: Any) -> Any:
    """Atomically add to the word at an address; gives back what was there before."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = builder.inttoptr(args[0], context.get_value_type(word).as_pointer())
        return builder.atomic_rmw("add", pointer, args[1], "seq_cst")

    return word(word, word), generate


@functools.cache
def kernel() -> Any:
    """The compiled `raster.draw_job`, from the cache on disk where there is a place for one."""
    signature = types.void(word, word, word)
    try:
        return cfunc(signature, cache=True, error_model="numpy")(raster.draw_job)
    except RuntimeError:
        return cfunc(signature, error_model="numpy")(raster.draw_job)


@functools.cache
def register() -> None:
    """Compile the handler and make it known to XLA (once in a process)."""
    # Called by address: linking the kernel in would compile all of it again.
    draw_job = kernel().address

    @exact
    def work(job: int) -> None:
        """Take rooms and draw them until none is left."""
        rooms = words(job)[raster.ROOMS]
        while True:
            first = _add(job + TAKEN, SHARE)
            if first >= rooms:
                return
            last = smaller(first + SHARE, rooms)
            _call(draw_job, (first, last, job))
            _add(job + DRAWN, last - first)

    @exact
    def leave(job: int) -> None:
        if _add(job + HOLDERS, -1) == 1:
            free(job)

    @cfunc(types.void(word))
    def helper(job: int) -> None:
        work(job)
        leave(job)

    helper_address = helper.address

    @exact
    def call_helpers(frame: Any, job: int, wanted: int) -> None:
        """Queue helpers on XLA's pool, one for each of its threads but this one, none if it has no pool."""
        api = words(frame[2])
        request, threads = words(job + REQUEST), words(job + THREADS)
        request[0], request[1], request[2], request[3], threads[0] = 32, 0, frame[3], job + THREADS, 0
        if _call(api[18], (job + REQUEST,)) != 0:
            return
        for _ in range(smaller(threads[0] - 1, wanted)):
            _add(job + HOLDERS, 1)
            request[0], request[3], request[4] = 40, helper_address, job
            if _call(api[17], (job + REQUEST,)) != 0:
                _add(job + HOLDERS, -1)
                return

    @exact
    def new_job(frame: Any, shape: Any, out: int) -> int:
        address = malloc(SIZE)
        job, arguments = words(address), words(frame[9])
        job[raster.ROOMS], job[raster.HEIGHT], job[raster.WIDTH] = shape[0], shape[1], shape[2]
        for i in range(raster.INPUTS):
            job[raster.POINTERS + i] = words(arguments[i])[3]
        job[raster.POINTERS + raster.INPUTS] = out
        job[raster.THINGS] = words(words(arguments[2])[5])[1]
        job[raster.MESHES] = words(words(arguments[9])[5])[0]
        job[raster.PALETTES] = words(words(arguments[10])[5])[0]
        job[raster.JOB], job[raster.JOB + 1], job[raster.JOB + 2] = 0, 0, 1
        return address

    @cfunc(word(word))
    def handler(address: int) -> int:
        frame = words(address)
        if frame[1] != 0:
            extension = words(frame[1])
            if (extension[1] & 0xFFFFFFFF) == METADATA:
                words(extension[3])[3] = API_VERSION
                return 0
        if (frame[4] & 0xFFFFFFFF) != EXECUTE:
            return 0
        result = words(words(frame[14])[0])
        shape = words(result[5])
        if shape[0] == 0:
            return 0
        job = new_job(frame, shape, result[3])
        call_helpers(frame, job, (shape[0] - 1) // SHARE)
        work(job)
        while _add(job + DRAWN, 0) < shape[0]:
            _give_way()
        leave(job)
        return 0

    _KEEP.extend([helper, handler])
    capsule = ctypes.pythonapi.PyCapsule_New
    capsule.restype, capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    jax.ffi.register_ffi_target(TARGET, capsule(handler.address, None, None), platform="cpu")


_KEEP: list[Any] = []
"""The compiled handlers: XLA knows only their addresses."""
