"""The two sides: perfmodel's counts, and the four counters of loopy.statistics."""

from __future__ import annotations

from typing import Any

import loopy as lp

from perfmodel.counts import KernelCounts, count
from perfmodel.counts.counters.lines import UNITS
from perfmodel.counts.rows import GRANULARITIES

SUBGROUP_SIZE = 32


def own_share(unit: lp.TranslationUnit) -> KernelCounts:
    """Count a scheduled unit without a cache."""
    return count(unit, SUBGROUP_SIZE, cache=False)


def ours(unit: lp.TranslationUnit, cache: bool) -> KernelCounts:
    """Count what the peer's four counters also give.

    The peer gives accesses by work-item where neighbouring lanes' addresses differ, and by
    sub-group in local memory and where they are the same; ours is asked for both. It has no footprint of scalars and
    private arrays.
    """
    counts = count(unit, SUBGROUP_SIZE, cache=cache)
    for row in counts.access_table:
        if row.space == "local" or str(row.stride) == "0":
            counts.accesses(row.space, row.direction, row.array, granularity="subgroup")
        if row.space != "private":
            counts.footprint(row.array, row.direction)
    counts.barriers()
    counts.launches()
    return counts


def peer(unit: lp.TranslationUnit) -> tuple[Any, ...]:
    """Count with Loopy; repeated work is counted, as ours does and its own tests do."""
    options = {"subgroup_size": SUBGROUP_SIZE, "count_redundant_work": True}
    return (
        lp.get_op_map(unit, **options),
        lp.get_mem_access_map(unit, **options),
        lp.get_synchronization_map(unit, subgroup_size=SUBGROUP_SIZE),
        lp.gather_access_footprints(unit),
    )


def everything(unit: lp.TranslationUnit) -> KernelCounts:
    """Count, without a cache, also what the peer has no counter for."""
    counts = ours(unit, False)
    for granularity in GRANULARITIES:
        counts.accesses(granularity=granularity)
    counts.idle_lanes()
    for array in sorted({row.array for row in counts.access_table if row.space == "global"}):
        for per in UNITS:
            counts.lines(array, per=per)
    for array in sorted({row.array for row in counts.access_table if row.space == "local"}):
        counts.bank_conflicts(array)
    for row in counts.access_table:
        if row.footprint is not None:
            counts.utilization(row.array, row.direction)
    return counts
