"""The cache lines that a kernel moves, level by level."""

from __future__ import annotations

from collections.abc import Mapping
from math import log2
from typing import TYPE_CHECKING

from perfmodel.counts.traffic.footprints import Cache
from perfmodel.quantities.bottleneck.device import Device

if TYPE_CHECKING:
    from perfmodel.counts import KernelCounts

UNBOUNDED = 1 << 44
"""Capacity of a cache that keeps everything [B]: it fetches each line once."""


def moved_lines(counts: KernelCounts, sizes: Mapping[str, int], device: Device) -> dict[str, float]:
    r"""Return the quantities of the resources ``near`` and ``far``.

    A level fetches :math:`F` lines in a launch (``counts.traffic``), of which :math:`F_1` would be fetched by a cache
    that keeps everything: what is beyond them is fetched *again*. Kernels are run often, so that the last lines of a
    run are still in the cache when the next begins: :math:`F_1` counts by the share

    .. math:: s = \min(1, \max(0, \tfrac{1}{2} \log_2(4 B / C)))

    of B bytes touched in a cache of C bytes (all units together): none up to a quarter of it, all from C on.
    """
    first, second, last = device.levels
    # vectors run one after another, each in lockstep: what the outer levels fetch is at most that of either order
    orders = ("serial",) if device.order == "serial" else ("serial", "lockstep")
    at = [counts.traffic(line_bytes=device.line, order=order).at(sizes) for order in orders]
    kept, near = at[-1].lines(_cache(UNBOUNDED, 0, device)), at[-1].lines(_cache(first.bytes, first.sets, device))
    fetched, stored = float(kept.fetched), float(kept.stores)
    stored_jumps = min(float(kept.stored_jumps), stored)
    loaded = max(fetched - stored, 0.0)
    loaded_jumps = min(max(float(kept.jumps) - stored_jumps, 0.0), loaded)
    found = {
        "again_loaded": max(float(near.loads) - float(kept.loads), 0.0),
        "again_stored": max(float(near.stores) - stored, 0.0),
        "first_loaded": loaded - loaded_jumps, "first_loaded_jumping": loaded_jumps,
        "first_stored": stored - stored_jumps, "first_stored_jumping": stored_jumps,
    }  # fmt: skip
    touched = fetched * device.line
    for name, level, capacity in (("second_level", second, second.bytes * device.units), ("memory", last, last.bytes)):
        own = _cache(level.bytes, level.sets, device)
        least = min((one.lines(own) for one in at), key=lambda lines: float(lines.fetched))
        stays = 1 - cold_share(touched, capacity)
        lines = max(float(least.fetched) - fetched * stays, 0.0)
        jumping = float(least.jumps) / float(least.fetched) if least.fetched else 0.0
        found[f"{name}_streams"], found[f"{name}_jumps"] = lines * (1 - jumping), lines * jumping
        if name == "memory":
            found["memory_stores"] = max(float(least.stores) - stored * stays, 0.0)
    return found


def _cache(size: int, sets: int, device: Device) -> Cache:
    return Cache(size // device.line, device.line, sets)


def cold_share(touched: float, capacity: float) -> float:
    """Return the share of the lines of B bytes that a cache of C bytes does not hold from the run before.

    Examples
    --------
    >>> [cold_share(touched, 1024) for touched in (256, 512, 1024, 4096)]
    [0.0, 0.5, 1.0, 1.0]
    """
    return min(max(log2(4 * max(touched, 1.0) / capacity) / 2, 0.0), 1.0)
