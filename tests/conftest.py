"""Most of the tests' time is compiling: it is done with little effort, and kept on disk. Long files come first."""

from __future__ import annotations

import os
from importlib.metadata import version
from pathlib import Path

import pytest

os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parent.parent / ".cache" / "jax"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
# Less than `daxlab.compilation.BRIEF`: a step of the desk compiles in 0.3 of the time and runs for 1.3 times as long.
BRIEFEST = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
if version("jaxlib").startswith("0.10."):
    # XLA ends the process at a flag that it does not know, and this one need not outlive the version it was seen in.
    BRIEFEST += " --xla_cpu_use_fusion_emitters=false"
os.environ.setdefault("XLA_FLAGS", BRIEFEST)

# Ray's workers would wait for ever beside a long run: it gives them what nobody else wants of the processor.
os.environ.setdefault("RAY_worker_niceness", "0")

LONGEST = ("test_learning_desk", "test_world", "test_runs", "test_learning_loop", "test_levels", "test_all_levels")
"""Files that take minutes. Begun last, one of them would leave the other worker with nothing to do."""


def pytest_collection_modifyitems(items):
    """Files keep their order but for the longest (see the Makefile: --no-loadscope-reorder)."""
    place = {name: at for at, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path.stem, len(LONGEST)))


@pytest.fixture(scope="module")
def server():
    """A server of worlds for the tests of a file."""
    from daxlab.adapters.rpc import serving
    from tests.wire import MOST

    with serving(max_worlds=MOST) as running:
        yield running


@pytest.fixture
def no_world_is_left(server):
    """A test that leaves a world on the server fails."""
    from tests.wire import eventually

    yield
    assert eventually(lambda: not server.worlds.by_name)
