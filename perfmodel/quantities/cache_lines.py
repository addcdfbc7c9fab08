"""Lines of global memory that caches of a device fetch, whose lanes run in lockstep."""

from __future__ import annotations

from typing import Any

import numpy as np

from perfmodel.quantities.case import Case

EVERYTHING = 2**50
"""Bytes of a cache into which all data fits."""


def last_cache(case: Case, least: int) -> int | None:
    """Return the bytes of the cache before memory, at least `least`; None where it is not known."""
    size = case.known("l3_bytes", case.known("l2_bytes", case.known("cache_bytes")))
    return None if size is None else max(int(size), least)


def fetched_lines(case: Case, capacity: Any, line: int, ways: int = 0) -> Any:
    """Return the lines that caches of some bytes fetch for loads of global arrays, of the sizes' shape.

    With `ways` a cache has sets of so many lines; by default any line may be anywhere.
    """
    return _lines(case, capacity, line, "loads", ways)


def touched_lines(case: Case, line: int) -> Any:
    """Return the lines of global arrays that launches touch, of the sizes' shape."""
    return _lines(case, EVERYTHING, line, "fetched")


def _lines(case: Case, capacity: Any, line: int, which: str, ways: int = 0) -> Any:
    arrays = sorted({row.array for row in case.counts.access_table if row.space == "global"})
    sizes = {name: np.asarray(size) for name, size in case.parameters.items()}
    shape = np.broadcast_shapes(*(size.shape for size in sizes.values()))
    wanted, total = np.broadcast_to(capacity, shape), np.zeros(shape)
    for size in np.unique(wanted):
        sets = int(size) // line // ways if ways else 0
        for array in arrays:
            model = case.counts.traffic(array, sets * ways * line or int(size), line, sets, "lockstep")
            total = total + np.where(wanted == size, getattr(model.evaluate(sizes), which), 0.0)
    return total[()]
