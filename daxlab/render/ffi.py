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
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils

from daxlab.render import raster
from daxlab.render.raster import carray, intrinsic, njit

cfunc: Any = numba.cfunc

TARGET = "daxlab_render"
API_VERSION = 3 << 32  # of the header this was written from: major 0, minor 3
METADATA, EXECUTE = 1, 3
SHARE = 4
"""Rooms a thread takes at a time: enough to spread the cost of a take, few enough that all end together."""

# Words behind those of a job: rooms taken, rooms drawn, threads that still hold the job.
TAKEN, DRAWN, HOLDERS = (8 * (raster.JOB + i) for i in range(3))

word = types.intp


def _external(name: str, argument_count: int) -> Any:
    """A C function of this process, called by name on words."""

    def build(typing: Any, *arguments: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            kind = context.get_value_type(word)
            function_type = ir.FunctionType(kind, [kind] * argument_count)
            return builder.call(cgutils.get_or_insert_function(builder.module, function_type, name), values)

        return word(*[word] * argument_count), generate

    if argument_count:
        return intrinsic(lambda typing, argument: build(typing, argument))
    return intrinsic(lambda typing: build(typing))


_malloc, _free = _external("malloc", 1), _external("free", 1)
_give_way = _external("SwitchToThread" if sys.platform == "win32" else "sched_yield", 0)


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


_pointer = raster.pointer(word)


@njit
def _words(address: int, count: int) -> Any:
    return carray(_pointer(address), count)


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

    @njit
    def work(job: int) -> None:
        """Take rooms and draw them until none is left."""
        rooms = _words(job, raster.JOB)[raster.ROOMS]
        while True:
            first = _add(job + TAKEN, SHARE)
            if first >= rooms:
                return
            last = min(first + SHARE, rooms)
            _call(draw_job, (first, last, job))
            _add(job + DRAWN, last - first)

    @njit
    def leave(job: int) -> None:
        if _add(job + HOLDERS, -1) == 1:
            _free(job)

    @cfunc(types.void(word))
    def helper(job: int) -> None:
        work(job)
        leave(job)

    helper_address = helper.address

    @njit
    def call_helpers(frame: Any, job: int, wanted: int) -> None:
        """Queue helpers on XLA's pool, one for each of its threads but this one, none if it has no pool."""
        api = _words(frame[2], 19)
        threads, request = np.zeros(1, np.intp), np.zeros(5, np.intp)
        request[0], request[2], request[3] = 32, frame[3], threads.ctypes.data
        if _call(api[18], (request.ctypes.data,)) != 0:
            return
        for _ in range(min(threads[0] - 1, wanted)):
            _add(job + HOLDERS, 1)
            request[0], request[2], request[3], request[4] = 40, frame[3], helper_address, job
            if _call(api[17], (request.ctypes.data,)) != 0:
                _add(job + HOLDERS, -1)
                return

    @njit
    def new_job(frame: Any, shape: Any, out: int) -> int:
        address = _malloc(8 * (raster.JOB + 3))
        job, arguments = _words(address, raster.JOB + 3), _words(frame[9], raster.INPUTS)
        job[raster.ROOMS], job[raster.HEIGHT], job[raster.WIDTH] = shape[0], shape[1], shape[2]
        for i in range(raster.INPUTS):
            job[raster.POINTERS + i] = _words(arguments[i], 6)[3]
        job[raster.POINTERS + raster.INPUTS] = out
        job[raster.THINGS] = _words(_words(arguments[2], 6)[5], 2)[1]
        job[raster.MESHES] = _words(_words(arguments[9], 6)[5], 1)[0]
        job[raster.PALETTES] = _words(_words(arguments[10], 6)[5], 1)[0]
        job[raster.JOB], job[raster.JOB + 1], job[raster.JOB + 2] = 0, 0, 1
        return address

    @cfunc(word(word))
    def handler(address: int) -> int:
        frame = _words(address, 15)
        if frame[1] != 0:
            extension = _words(frame[1], 4)
            if (extension[1] & 0xFFFFFFFF) == METADATA:
                _words(extension[3], 4)[3] = API_VERSION
                return 0
        if (frame[4] & 0xFFFFFFFF) != EXECUTE:
            return 0
        result = _words(_words(frame[14], 1)[0], 6)
        shape = _words(result[5], 4)
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
