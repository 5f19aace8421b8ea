"""Compiled programs are kept on disk, so that a second start of the same config does not compile again."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import jax
from jax.experimental.compilation_cache import compilation_cache

FOLDER, FROM = "jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs"
"""JAX's names of where programs are kept, and from how many seconds of compilation on."""
KEEP_FROM = 0.0
"""All are kept: a run starts with about a hundred small ones."""

BRIEF = {"xla_backend_optimization_level": 1, "xla_llvm_disable_expensive_passes": True}
"""`compiler_options` of `jax.jit` for a program that runs for seconds only: a CPU compiles it in 0.6 of the time, and
it runs for 1.5 times as long (both actors on a level with putting)."""
BRIEFEST = BRIEF | {"xla_backend_optimization_level": 0}
"""Of one room that somebody waits to see: its start compiles in 0.3 of `BRIEF`'s time and runs as long."""
if version("jaxlib").startswith("0.10."):
    # XLA refuses an option that it does not know, and this one need not outlive the version it was seen in.
    BRIEFEST["xla_cpu_use_fusion_emitters"] = False


def enable_cache() -> Path | None:
    """Keep compiled programs in $DAXLAB_CACHE or in the user's cache folder; returns where, None if nowhere.

    A folder that JAX was already told of (JAX_COMPILATION_CACHE_DIR) stays. Nothing is raised where there is no folder
    that can be written: compiling then takes its time, as it would without this.
    """
    if given := getattr(jax.config, FOLDER):
        return Path(given)
    try:
        folder = cache_folder() / "jax"
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return None
    if not os.access(folder, os.W_OK | os.X_OK):
        return None
    _use(str(folder), KEEP_FROM)
    return folder


def cache_folder() -> Path:
    """Where daxlab keeps what it can make again: $DAXLAB_CACHE, else `daxlab` in the user's cache folder."""
    if given := os.environ.get("DAXLAB_CACHE"):
        return Path(given).expanduser()
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "daxlab"


@contextmanager
def empty_cache() -> Iterator[Path]:
    """A cache of its own that starts empty and keeps everything, for measuring; what was configured is back after."""
    before = [getattr(jax.config, name) for name in (FOLDER, FROM)]
    with tempfile.TemporaryDirectory() as folder:
        _use(folder, 0.0)
        try:
            yield Path(folder)
        finally:
            _use(*before)


def _use(folder: str | None, keep_from: float) -> None:
    jax.config.update(FOLDER, folder)
    jax.config.update(FROM, keep_from)
    # JAX settles on a folder at its first compilation and does not look again until told.
    compilation_cache.reset_cache()
