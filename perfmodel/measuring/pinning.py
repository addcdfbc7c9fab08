"""Pinning of a CPU device's threads to cores."""

from __future__ import annotations

import os
from types import MappingProxyType

#: Variables that the drivers of CPUs read, and the values that keep each thread on a core of its own:
#: PoCL's (its drivers ``pthread`` and ``cpu``), and Intel's (a thread for each hardware thread).
PINNED = MappingProxyType({"POCL_AFFINITY": "1", "DPCPP_CPU_CU_AFFINITY": "close", "DPCPP_CPU_PLACES": "threads"})


def pin_threads() -> None:
    """Ask the drivers of CPUs to keep each of their threads on a core of its own, unless a variable is set already.

    Otherwise the system may wake two threads on one core, and then all short runs of a visit take
    twice as long, or none do.  Call it before devices are first listed.  It does nothing if the
    process may not use all cores.  Records hold the settings in ``versions``.
    """
    cores = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity") and os.sched_getaffinity(0) >= set(range(cores)):
        for name, value in PINNED.items():
            os.environ.setdefault(name, value)
