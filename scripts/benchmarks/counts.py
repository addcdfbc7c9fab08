"""Time the counting of kernels, ours and the peer's, cold and warm.

Both sides read the same pickled unit anew for every sample, so that nothing that Loopy has remembered
on the kernel helps either. A sample is taken in a fork of a process that has imported everything and
counted one other kernel on both sides: it pays no imports and finds no memory of the kernel. Cold is
the first count there with the caches on disk off, the sides in turns; warm is the same call again, with
the same unit, caches on; disk is the first call in a process after another has counted the kernel. The
clock is the process's CPU time: neither side waits for anything.

``loopy`` is what Loopy takes to preprocess and schedule the kernel, ``count`` is ``pm.count`` of the
scheduled unit: perfmodel's own share. ``check`` is what ``pm.count(..., check=True)`` takes in addition the first time.
``ours`` is that and all that the peer's four counters give too,
footprints included; the peer, too, starts from the scheduled unit. ``total`` is the same from the unit
as its author wrote it. ``all`` adds the other granularities, idle lanes, the lines of every array for
each unit, bank conflicts and utilisation; it, and what is warm, is timed for realistic kernels only. The
ratio is the peer's seconds over ours; a kernel on which a peer's counter fails has none.
"""

from __future__ import annotations

import os
import pickle
import platform
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import median
from typing import Any, TextIO

import loopy as lp
import numpy as np
from numpy.typing import NDArray

from perfmodel.counts import Count, KernelCounts, count
from perfmodel.counts.counters.lines import UNITS
from perfmodel.counts.points.set_counter import can_count
from perfmodel.counts.reading.schedule import check, schedule
from perfmodel.counts.rows import GRANULARITIES
from perfmodel.errors import PerfModelError
from scripts.benchmarks.forked import forked, seconds
from scripts.benchmarks.kernel_sets import BenchKernel, chosen

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


FIRST = "measurement_kernels/matmul_naive"  # counted once before the clock starts: pays a process's one-time costs
WARM = 5
LONG_S = 1.0  # a side that takes longer is timed only three times


@dataclass
class Timings:
    """The samples of one kernel, in CPU seconds."""

    kernel: BenchKernel
    pickled: dict[str, bytes]  # the unit as its author wrote it, and scheduled
    instructions: int
    samples: dict[str, list[float]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    evaluation: dict[str, Any] = field(default_factory=dict)
    peak_bytes: int = 0

    def seconds(self, name: str) -> float | None:
        """Return the median of a side's samples; None if it failed."""
        return median(self.samples[name]) if self.samples.get(name) else None

    def enough(self, name: str) -> bool:
        """Whether a side needs no further samples."""
        found = self.samples.get(name, [])
        return name in self.failures or (len(found) >= 3 and min(found) > LONG_S)


def measure(kernels: Sequence[BenchKernel], repeats: int, progress: TextIO) -> dict[str, Any]:
    """Return everything that was measured, as a JSON-able dictionary; what perfmodel refuses to count is only named."""
    warnings.simplefilter("ignore")
    first = _prepared(chosen([FIRST])[0]).pickled["scheduled"]
    rows: list[Timings] = []
    refused: dict[str, str] = {}
    for kernel in kernels:
        ran = forked(partial(_why_refused, kernel))
        if ran.value:
            refused[kernel.name] = ran.value
        else:
            rows.append(_prepared(kernel))
    _pay_one_time_costs(first)
    for turn in range(repeats):
        print(f"cold, {turn + 1} of {repeats}", file=progress, flush=True)
        for row in rows:
            _time_cold(row, first)
    for row in rows:
        if row.kernel.realistic:
            print(f"warm: {row.kernel.name}", file=progress, flush=True)
            _time_repeated(row)
            ran = forked(partial(_evaluation, row.pickled["scheduled"]))
            row.evaluation = ran.value or {}
    return {
        "machine": platform.processor() or platform.machine(),
        "python": platform.python_version(),
        "loopy": lp.version.VERSION_TEXT,
        "barvinok": can_count(),
        "repeats": repeats,
        "refused": refused,
        "kernels": [_row(row) for row in rows],
    }


def _why_refused(kernel: BenchKernel) -> str:
    """Return the error that perfmodel answers with; "" where it counts the kernel."""
    try:
        count(kernel.build(), SUBGROUP_SIZE, cache=False)
    except PerfModelError as error:
        return f"{type(error).__name__}: {error}".splitlines()[0]
    return ""


def _prepared(kernel: BenchKernel) -> Timings:
    written = kernel.build()
    unit = schedule(written)
    (entry,) = unit.entrypoints
    pickled = {"written": pickle.dumps(written), "scheduled": pickle.dumps(unit)}
    return Timings(kernel, pickled, len(unit[entry].instructions))


def _pay_one_time_costs(first: bytes) -> None:
    """Import what is imported on first use, on both sides, and use the caches once."""
    everything(pickle.loads(first))
    ours(pickle.loads(first), True)
    peer(pickle.loads(first))


def _time_cold(row: Timings, first: bytes) -> None:
    for name, (start, function) in COLD.items():
        if not row.enough(name) and (row.kernel.realistic or name != "all cold"):
            _sample(row, name, partial(_cold, function, first, row.pickled[start]))


def _time_repeated(row: Timings) -> None:
    for name, function in REPEATED.items():
        if f"{name.split()[0]} cold" not in row.failures:
            _sample(row, name, partial(function, row.pickled["scheduled"]))


def _evaluation(pickled: bytes) -> dict[str, Any]:
    return evaluation(ours(pickle.loads(pickled), False))


def _cold(function: Callable[[Any], object], first: bytes, pickled: bytes) -> list[float]:
    """Time one call on a fresh copy of the unit, with no cache on disk and none in memory.

    The other kernel comes first so that the child has its own copy of the memory that
    counting touches.
    """
    os.environ["PERFMODEL_NO_CACHE"] = "1"
    lp.set_caching_enabled(False)
    everything(pickle.loads(first))
    peer(pickle.loads(first))
    unit = pickle.loads(pickled)
    return [seconds(lambda: function(unit))]


def _ours_warm(pickled: bytes) -> list[float]:
    unit = pickle.loads(pickled)
    ours(unit, True)
    return [seconds(lambda: ours(unit, True)) for _ in range(WARM)]


def _peer_warm(pickled: bytes) -> list[float]:
    unit = pickle.loads(pickled)
    first = seconds(lambda: peer(unit))
    return [seconds(lambda: peer(unit)) for _ in range(1 if first > LONG_S else WARM)]


def _ours_disk(pickled: bytes) -> list[float]:
    """Time the first count in a process, of a kernel that another has counted before."""
    unit = pickle.loads(pickled)
    return [seconds(lambda: ours(unit, True))]


COLD: dict[str, tuple[str, Callable[[Any], object]]] = {
    "loopy cold": ("written", schedule),
    "count cold": ("scheduled", own_share),
    "check cold": ("scheduled", lambda unit: check(lambda: unit).refuse()),
    "ours cold": ("scheduled", lambda unit: ours(unit, False)),
    "peer cold": ("scheduled", peer),
    "ours total": ("written", lambda unit: ours(unit, False)),
    "peer total": ("written", peer),
    "all cold": ("scheduled", everything),
}
REPEATED = {"ours warm": _ours_warm, "peer warm": _peer_warm, "ours disk": _ours_disk}


def _sample(row: Timings, name: str, function: Callable[[], list[float]]) -> None:
    ran = forked(function)
    if ran.error:
        row.failures[name] = ran.error
    else:
        row.samples.setdefault(name, []).extend(ran.value)
    if not name.startswith("peer"):
        row.peak_bytes = max(row.peak_bytes, ran.peak_bytes)


def _row(row: Timings) -> dict[str, Any]:
    times = {f"{name.replace(' ', '_')}_s": row.seconds(name) for name in (*COLD, *REPEATED)}
    return {
        "kernel": row.kernel.name, "instructions": row.instructions, **times,
        "failures": row.failures, "peak_bytes": row.peak_bytes, "evaluation": row.evaluation,
    }
