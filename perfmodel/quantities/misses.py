"""The shares of a kernel's requests to global memory that caches miss, and what it waits for those that they answer.

They are the miss_ratio and the hit_lat of Kim et al. (2012), Eq. 4.12, which the authors read off hardware counters.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from perfmodel.quantities.bottleneck.device import UNBOUNDED, cold_share
from perfmodel.quantities.case import Case
from perfmodel.quantities.occupancy import active_units
from perfmodel.quantities.traffic import LAST_LEVEL, fetched_lines, transfer_bytes


def miss_ratios(case: Case, requests: Any) -> tuple[Any, Any]:
    """Return the share of the transactions that miss the first-level cache, and the share that no cache answers.

    `requests` are the transactions of all sub-groups with global memory. A cache misses a transaction for each line
    that it fetches (:func:`~perfmodel.quantities.traffic.fetched_lines`). The first level (``l1_bytes``) is shared by
    the work-groups that a unit holds at once. The last one (:data:`~perfmodel.quantities.traffic.LAST_LEVEL`,
    else ``l2_bytes``) is that of all units, and holds what is left of the run before
    (:func:`~perfmodel.quantities.bottleneck.device.cold_share`): kernels are run often. A cache of unknown size misses
    all that reach it. The facts ``l1_miss_ratio`` and ``l2_miss_ratio``, a share of the first, replace a ratio.
    """
    first, memory = _fetched(case, np.where(requests > 0, requests, 1))
    first = case.known("l1_miss_ratio", first)
    if case.knows("l2_miss_ratio"):
        return first, first * float(case.fact("l2_miss_ratio"))
    return first, np.minimum(first, memory)


def hit_waits(case: Case, missed: Any) -> Any:
    """Return the latencies of the first-level cache that a request waits for the caches, `missed` of it for the second.

    The latency of the second is a multiple of the first's, where both are known; else both are one.
    """
    second = case.known("l2_latency_s", case.known("l2_load_s"))
    if second is None or not case.knows("l1_load_s"):
        return 1.0
    return 1.0 + missed * (float(second) / float(case.fact("l1_load_s")))


def _fetched(case: Case, requests: Any) -> tuple[Any, Any]:
    """Return the lines that the first and the last cache fetch, over the requests; 1 where a size is not known."""
    line = int(transfer_bytes(case))
    near, last = case.known("l1_bytes"), next(filter(case.knows, (*LAST_LEVEL, "l2_bytes")), None)
    first: Any = 1.0
    if near is not None:
        _, groups, _ = active_units(case)
        first = np.minimum(fetched_lines(case, np.maximum(near / groups, line))[0] / requests, 1)
    if last is None:
        return first, 1.0
    capacity = float(case.fact(last))
    touched, fetched = fetched_lines(case, UNBOUNDED, capacity)
    cold = cold_share if np.ndim(touched) == 0 else np.vectorize(cold_share, otypes=[float])
    return first, np.clip((fetched - touched * (1 - cold(touched * line, capacity))) / requests, 0, 1)
