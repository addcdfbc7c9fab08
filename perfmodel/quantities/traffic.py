"""Bytes and cache lines that a kernel moves, transactions with global memory, and miss ratios of caches."""

from collections.abc import Iterable
from math import log2
from typing import Any

import numpy as np

from perfmodel.counts import AccessCount
from perfmodel.counts.traffic.footprints import Cache
from perfmodel.counts.traffic.traffic import NO_LINES, MovedLines
from perfmodel.facts import DeviceFacts
from perfmodel.quantities.case import Case, active_units
from perfmodel.values import grouped

TRANSFER_FACTS = ("global_transaction_bytes", "l2_line_bytes", "cache_line_bytes")
"""Facts with the size of a transfer; the first known one counts."""
UNBOUNDED = 1 << 44  # capacity [B] of a cache that keeps everything and so fetches each line once
LAST_LEVEL = ("last_level_bytes", "l3_told_bytes", "cache_bytes", "l3_bytes")
"""Facts with the last level's capacity; the first known one counts.

The size that the system reports comes after the measured one: in a virtual machine it is the size of the whole host.
The size from a pointer chase comes last: one pass takes so long that other users of the cache evict its lines.
"""


def transfer_bytes(case: Case) -> float:
    """Return the size L of a transfer with global memory [B]: a transaction if known, otherwise a cache line."""
    return float(case.fact(next(filter(case.knows, TRANSFER_FACTS), TRANSFER_FACTS[0])))


def global_bytes(case: Case) -> Any:
    r"""Return the bytes that must move between global memory and the chip.

    The bytes are counted for each array and direction, with gaps filled that whole transfers of L bytes move too. For
    cells of b bytes the result is :math:`\min(|F_{filled}| \, b, |F| \, L)`. If cells depend on data, the result is b
    bytes for each access. Data that is accessed again is assumed to be on the chip: the on-chip memory Z of Kim et al.
    (2012), section 2.3, is unlimited. If the fact ``on_chip_bytes`` gives Z, the bytes are instead the lines that a
    cache of Z bytes fetches for loads and writes back (:func:`moved_lines`).
    """
    line = transfer_bytes(case)
    if case.knows("on_chip_bytes"):
        moved = moved_lines(case, case.fact("on_chip_bytes"))
        return (moved.loads + moved.stores) * line
    return sum((_bytes(case, rows, line, least=False) for rows in _by_array(case)), 0.0)


def least_bytes(case: Case) -> Any:
    r"""Return a lower bound of the bytes that a kernel moves between global memory and the chip.

    As :func:`global_bytes`, but with a lane stride of s cells, each s cells move at least :math:`\min(s b, L)` bytes,
    because the accessed cells may be in one transfer. An array with data-dependent cells counts as zero bytes, unless
    their number was counted in the data.
    """
    line = transfer_bytes(case)
    return sum((_bytes(case, rows, line, least=True) for rows in _by_array(case)), 0.0)


def _by_array(case: Case) -> Iterable[list[AccessCount]]:
    rows = case.counts.access_table
    return grouped(((row.array, row.direction), row) for row in rows if row.space == "global").values()


def _bytes(case: Case, rows: list[AccessCount], line: float, least: bool) -> Any:
    size = rows[0].bits / 8
    cells = next((row.footprint for row in rows if row.footprint is not None), None)
    if least and (cells is None or (any(row.indirect for row in rows) and not cells.exact)):
        return 0.0
    if cells is None:
        return sum(case.value(row.count) for row in rows) * size
    touched = case.value(cells)
    moved, line = touched * size, max(line, size)
    for row in rows:
        if row.filled is not None and least:
            stride = np.maximum(np.abs(case.value(row.stride)), 1)
            moved = np.maximum(moved, case.value(row.filled) / stride * np.minimum(stride * size, line))
        elif row.filled is not None:
            moved = np.maximum(moved, case.value(row.filled) * size)
    return np.minimum(moved, touched * line)


def moved_lines(case: Case, capacity: Any) -> MovedLines:
    """Return the lines that move between a cache of some bytes and the memory behind it, over all launches.

    Lines are as long as a transfer. If ``lane_order`` is ``serial``, work-items run one after another. Otherwise they
    run in vectors.
    """
    line = int(transfer_bytes(case))
    arrays = sorted({row.array for row in case.counts.access_table if row.space == "global"})
    order = "serial" if case.known("lane_order") == "serial" else "vectors"
    at_sizes = case.counts.traffic(capacity=line, line_bytes=line, order=order).plan.at_arrays(case.parameters, line)
    caches = [Cache(max(int(size) // line, 1), line, 0) for size in np.broadcast_to(capacity, case.shape).ravel()]
    moved = [[at.lines(cache, array) for array in arrays] for at, cache in zip(at_sizes, caches, strict=True)]
    sums = np.array([np.array([NO_LINES, *row]).sum(axis=0) for row in moved]).reshape(-1, len(NO_LINES))
    return MovedLines(*(column.reshape(case.shape)[()] for column in sums.T))


def local_bytes(case: Case) -> Any:
    """Return a lower bound of the bytes between local memory and registers.

    A cell that all lanes of a sub-group access at once moves once: a scalar load on a CPU, a broadcast on a GPU.
    """
    total: Any = 0.0
    for row in case.counts.access_table:
        if row.space == "local":
            shared = (not row.indirect) & (case.value(row.stride) == 0)
            total = total + case.value(row.count) * row.bits / 8 / np.where(shared, case.counts.subgroup_size, 1)
    return total


def least_local_bytes(case: Case) -> Any:
    """Return :func:`local_bytes`, or 0 without a barrier. A compiler then keeps all values in registers."""
    return local_bytes(case) * (np.asarray(case.value(case.counts.barriers("local"))) > 0)


def cached_bytes(facts: DeviceFacts | None) -> float:
    """Return the bytes of the last level, or of all second levels if larger. Data may stay there between runs."""
    if facts is None:
        return 0.0
    last = next((float(facts.value(key)) for key in LAST_LEVEL if key in facts), 0.0)
    cores = facts.known("compute_units", 1) if facts.known("device_type") == "cpu" else 1
    return max(last, float(facts.known("l2_bytes", 0)) * float(cores))


def row_transactions(case: Case) -> Any:
    """Return M, the transactions of all accesses when neighbouring work-items along l.0 access together.

    A row has r work-items, whose cells are s bytes apart. Each work-item takes s/C transactions of C bytes, at least
    1/r and at most 1 (Ma et al. 2014, footnote 6). If the access depends on data, a work-item takes 1 transaction. The
    length r is the first axis of the work-group, at most a sub-group.
    """
    amounts, strides, sizes = global_accesses(case)
    row_of_lanes = min(case.counts.subgroup_size, (*case.counts.launch.group_shape, 1)[0])
    return sum(amounts * np.clip(strides * sizes / transfer_bytes(case), 1 / row_of_lanes, 1.0), 0.0)


def global_accesses(case: Case) -> tuple[Any, Any, Any]:
    """Return three numbers of each global access: executions, lane stride in accesses, and bytes.

    The lane stride is infinite if the access depends on data.
    """
    rows = [row for row in case.counts.access_table if row.space == "global"]
    amounts = np.array([case.value(row.count) for row in rows] or [case.total("work_groups") * 0.0])
    strides = [np.inf + 0 * amount if row.indirect else np.abs(case.value(row.stride)) + 0 * amount
               for row, amount in zip(rows, amounts, strict=False)]  # fmt: skip
    size = np.array([row.bits / 8 for row in rows] or [4.0]).reshape(-1, *(1,) * (amounts.ndim - 1))
    return amounts, np.array(strides or amounts), size


def subgroup_transactions(case: Case, strides: Any, sizes: Any) -> Any:
    r"""Return the transactions of one access by a sub-group of S lanes.

    For accesses of b bytes with lane stride s and transactions of C bytes, the number is :math:`\lceil b S s / C
    \rceil`. It is at least 1 and at most S (Wang and Lou 2017, section 3.2). `strides` and `sizes` are s and b of
    :func:`global_accesses`.
    """
    lanes = case.counts.subgroup_size
    return np.clip(np.ceil(sizes * lanes * strides / transfer_bytes(case)), 1, lanes)


def cold_share(touched: float, capacity: float) -> float:
    """Return the share of B touched bytes that a cache of C bytes lacks from the previous run. Up to C/4 it is 0."""
    return min(max(log2(4 * max(touched, 1.0) / capacity) / 2, 0.0), 1.0)


def miss_ratios(case: Case, requests: Any) -> tuple[Any, Any]:
    """Return the share of transactions that miss the first-level cache, and the share that misses all caches.

    The shares are the miss_ratio of Kim et al. (2012), Eq. 4.12, which the authors read from hardware counters. Here
    `requests` are the transactions of all sub-groups with global memory. A cache misses one request for each line that
    the cache fetches. A cache of unknown size misses all requests. The work-groups on a unit share the first level, and
    all units share the last level. The last level holds lines of the run before (:func:`cold_share`). The facts
    ``l1_miss_ratio`` and ``l2_miss_ratio`` (a share of the first level's misses) replace a ratio.
    """
    line, requests = int(transfer_bytes(case)), np.where(requests > 0, requests, 1)
    first: Any = 1.0
    memory: Any = 1.0
    if case.knows("l1_bytes"):
        _, groups, _ = active_units(case)
        first = np.minimum(moved_lines(case, np.maximum(case.fact("l1_bytes") / groups, line)).fetched / requests, 1)
    last = next(filter(case.knows, (*LAST_LEVEL, "l2_bytes")), None)
    if last is not None:
        capacity = float(case.fact(last))
        touched, fetched = (moved_lines(case, size).fetched for size in (UNBOUNDED, capacity))
        cold = np.vectorize(cold_share, otypes=[float])(touched * line, capacity)[()]
        memory = np.clip((fetched - touched * (1 - cold)) / requests, 0, 1)
    first = case.known("l1_miss_ratio", first)
    if case.knows("l2_miss_ratio"):
        return first, first * float(case.fact("l2_miss_ratio"))
    return first, np.minimum(first, memory)


def hit_waits(case: Case, missed: Any) -> Any:
    """Return the wait of a request, in latencies of the first-level cache. The share `missed` goes to the second level.

    The wait is the hit_lat of Kim et al. (2012), Eq. 4.12. If a latency is unknown, the wait is 1.
    """
    second = case.known("l2_latency_s", case.known("l2_load_s"))
    if second is None or not case.knows("l1_load_s"):
        return 1.0
    return 1.0 + missed * (float(second) / float(case.fact("l1_load_s")))
