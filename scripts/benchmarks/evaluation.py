"""How fast a count is evaluated once it is there."""

from __future__ import annotations

from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perfmodel.counts import Count, KernelCounts
from scripts.benchmarks.forked import seconds

STEP = 240  # a multiple of every tile in the corpus
POINTS = 1 << 16
CALLS = 500


def counts_of(counts: KernelCounts) -> list[Count]:
    """Return the distinct counts in the tables of a kernel that depend on its parameters."""
    found: dict[str, Count] = {}
    for table in (counts.operation_table, counts.access_table, counts.barrier_table):
        for row in table:
            for name in ("count", "footprint", "filled"):
                value = getattr(row, name, None)
                if isinstance(value, Count) and value.parameters:
                    found.setdefault(str(value), value)
    return list(found.values())


def evaluation(counts: KernelCounts) -> dict[str, Any]:
    """Return count evaluations a second over arrays, and microseconds of one scalar call.

    Of each count the best of three is taken after a first call that compiles it; of a kernel's
    counts the slowest and the median.
    """
    rates, calls = [], []
    points = STEP * (1 + np.arange(POINTS) % 4096)
    arrays = dict.fromkeys(counts.parameters, points)
    sizes = dict.fromkeys(counts.parameters, 5 * STEP)
    for each in counts_of(counts):
        each.evaluate(arrays)
        each(**sizes)
        rates.append(POINTS / min(_seconds_of_arrays(each, arrays) for _ in range(3)))
        calls.append(min(_seconds_of_calls(each, sizes) for _ in range(3)) / CALLS)
    if not rates:
        return {}
    return {
        "counts": len(rates),
        "slowest_evaluations_per_s": min(rates),
        "median_evaluations_per_s": median(rates),
        "slowest_call_us": 1e6 * max(calls),
        "median_call_us": 1e6 * median(calls),
    }


def _seconds_of_arrays(count: Count, arrays: dict[str, NDArray[np.int64]]) -> float:
    return seconds(lambda: count.evaluate(arrays))


def _seconds_of_calls(count: Count, sizes: dict[str, int]) -> float:
    def call() -> None:
        for _ in range(CALLS):
            count(**sizes)

    return seconds(call)
