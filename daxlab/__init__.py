"""daxlab: learn a word from one look, in a 3D room.

An open, fast implementation of *Grounded Language Learning Fast and Slow* (Hill et al., ICLR 2021).
"""

import os
from importlib.metadata import version

__version__ = "0.1.0"

OVERLAP = "--xla_gpu_enable_pdl"
"""XLA's flag for GPU kernels that begin before those ahead of them have ended, from Hopper on. A kernel may then read
what the last but one has not written yet: suspected, not proven, to have made an agent act wrongly
(docs/performance.md)."""


def _one_after_another() -> None:
    flags = os.environ.get("XLA_FLAGS", "")
    # XLA ends the process at a flag that it does not know: only for versions that were seen to know it.
    if OVERLAP not in flags and version("jaxlib").startswith(("0.10.", "0.11.")):
        os.environ["XLA_FLAGS"] = f"{flags} {OVERLAP}=false".strip()


_one_after_another()
