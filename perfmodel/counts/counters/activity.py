"""Work-items that execute anything at all."""

from __future__ import annotations

import islpy as isl

from perfmodel.counts.counters.cardinality import Cardinalities
from perfmodel.counts.counters.lane_boxes import completed
from perfmodel.counts.program.program import Domain
from perfmodel.counts.quasipoly.count import Count

SET = isl.dim_type.set


def active_work_items(cardinalities: Cardinalities) -> Count:
    """Return the work-items that execute an operation or an access, over all launches.

    They are the union over statements of the projection onto the hardware axes (and the host's
    loops around a launch).
    """
    active: dict[int, isl.Set] = {}
    reasons: list[str] = []
    for statement in cardinalities.program.statements:
        domain = statement.domain
        points = _on_hardware_axes(completed(domain, cardinalities.program.launches[domain.launch]))
        reasons += domain.doubts if domain.chance != 1 or not domain.exact else ()
        known = active.get(domain.launch)
        if known is None:
            active[domain.launch] = points
        elif not points.is_subset(known):
            active[domain.launch] = known.union(points).coalesce()
    total = Count.constant(0)
    for launch, points in active.items():
        count = cardinalities.wrap(cardinalities.size(points), exact=not reasons, reasons=reasons)
        total = total + count.times(cardinalities.repeats(launch))
    return total


def _on_hardware_axes(domain: Domain) -> isl.Set:
    """Return the work-items of a domain, their axes sorted by name."""
    points = domain.points
    for index in reversed(range(len(domain.axes))):
        if not domain.axes[index]:
            points = points.project_out(SET, index, 1)
    axes = [axis for axis in domain.axes if axis]
    names = [f"w{k}" for k in range(len(axes))]
    target = [names[k] for k in sorted(range(len(axes)), key=axes.__getitem__)]
    return points.apply(isl.Map(f"{{ [{', '.join(names)}] -> [{', '.join(target)}] }}")).coalesce()
