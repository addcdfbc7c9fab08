"""Threads of a CPU device that stay where they are."""

from __future__ import annotations

import os

VARIABLE = "POCL_AFFINITY"


def pin_threads() -> None:
    """Ask PoCL to keep each of its threads on a core of its own, unless that is decided already.

    Otherwise the system may wake two of them on one core, and then all short runs of a
    configuration take twice as long, or none.  It must be called before the devices are first
    listed, and does nothing where the process may not use all cores.  Records name the setting
    among their ``versions``.
    """
    cores = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity") and os.sched_getaffinity(0) >= set(range(cores)):
        os.environ.setdefault(VARIABLE, "1")
