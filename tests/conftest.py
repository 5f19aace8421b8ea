"""Most of the tests' time is compiling: it is done with less effort, and programs are kept on disk to be shared."""

from __future__ import annotations

import os
from pathlib import Path

os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parent.parent / ".cache" / "jax"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
# As `daxlab.compilation.BRIEF`, which cannot be imported before this is said.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=1 --xla_llvm_disable_expensive_passes=true")
