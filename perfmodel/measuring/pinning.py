"""Pinning of a CPU device's threads to cores."""

from __future__ import annotations

import os

VARIABLE = "POCL_AFFINITY"


def pin_threads() -> None:
    """Ask PoCL to keep each of its threads on a core of its own, unless the variable is set already.

    Otherwise the system may wake two threads on one core, and then all short runs of a
    configuration take twice as long, or none do.  Call it before devices are first listed.  It
    does nothing if the process may not use all cores.  Records hold the setting in ``versions``.
    """
    cores = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity") and os.sched_getaffinity(0) >= set(range(cores)):
        os.environ.setdefault(VARIABLE, "1")
