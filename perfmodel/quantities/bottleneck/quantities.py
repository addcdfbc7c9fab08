"""The quantities of a case, at one size or at arrays of sizes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from perfmodel.quantities.bottleneck.device import Device, device_of
from perfmodel.quantities.bottleneck.lines import moved_lines
from perfmodel.quantities.bottleneck.plan import plan_of
from perfmodel.quantities.bottleneck.resources import QUANTITIES
from perfmodel.quantities.bottleneck.work import LaunchWork
from perfmodel.quantities.case import Case

if TYPE_CHECKING:
    from perfmodel.counts import KernelCounts

MOST_KEPT = 4096
"""Sizes of one kernel whose quantities are kept."""

Point = tuple[tuple[str, int], ...]
_kept: WeakKeyDictionary[KernelCounts, dict[tuple[Device, Point], Mapping[str, float]]] = WeakKeyDictionary()


def bottleneck_quantities(case: Case) -> dict[str, Any]:
    """Return each quantity of :data:`~perfmodel.quantities.bottleneck.QUANTITIES`, of the sizes' shape.

    Raises
    ------
    FlowUnknownError, PlacesUnknownError
        The counts were stored before dataflow, or the places of instructions, were recorded.
    """
    device = device_of(case)
    if not any(isinstance(size, np.ndarray | list | tuple) for size in case.parameters.values()):
        return dict(at_sizes(case.counts, case.parameters, device))
    names = sorted(case.parameters)
    columns = np.broadcast_arrays(*(np.asarray(case.parameters[name]) for name in names))
    points = zip(*(column.ravel().tolist() for column in columns), strict=True)
    rows = [at_sizes(case.counts, dict(zip(names, point, strict=True)), device) for point in points]
    return {name: np.array([row[name] for row in rows]).reshape(columns[0].shape) for name in QUANTITIES}


def at_sizes(counts: KernelCounts, sizes: Mapping[str, int], device: Device) -> Mapping[str, float]:
    """Return the quantities at one size; they are kept as long as the kernel's counts."""
    known = _kept.setdefault(counts, {})
    key = device, tuple(sorted((name, int(size)) for name, size in sizes.items()))
    if key not in known:
        if len(known) >= MOST_KEPT:
            known.clear()
        known[key] = _at_sizes(counts, sizes, device)
    return known[key]


def _at_sizes(counts: KernelCounts, sizes: Mapping[str, int], device: Device) -> Mapping[str, float]:
    plan = plan_of(counts)
    values = [float(value) for value in plan.counts.at(sizes)]
    sums: defaultdict[str, float] = defaultdict(float, runs=1.0, waiting_items=values[plan.barriers])
    for launch in plan.launches:
        LaunchWork(launch, plan, values, device).add_to(sums)
    sums.update(moved_lines(counts, sizes, device))
    return {name: max(sums[name], 0.0) for name in QUANTITIES}
