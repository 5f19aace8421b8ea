"""Memory in huge pages.

XLA takes the scratch memory of a CPU program anew at every call. In pages of 4 KB an update at the desk has 28,000 page
faults, 50 ms of system time in 230 (docs/performance.md).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

TUNABLES, HUGE = "GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"
"""The C library reads its settings as a process begins, and never again."""
MODE = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def in_huge_pages() -> None:
    """Begin this command again with memory in huge pages, where Linux gives them to who asks for them.

    Settings of the C library that somebody made are left alone.
    """
    if TUNABLES in os.environ or not _for_who_asks():
        return
    os.environ[TUNABLES] = HUGE
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def _for_who_asks() -> bool:
    try:
        return "[madvise]" in MODE.read_text()
    except OSError:
        return False
