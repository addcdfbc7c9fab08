"""Work-items that execute anything at all."""

from __future__ import annotations

from fractions import Fraction

import islpy as isl

from perfmodel.counts.counters.cardinality import Cardinalities
from perfmodel.counts.counters.lane_boxes import completed
from perfmodel.counts.quasipoly.count import Count

SET = isl.dim_type.set


def active_work_items(cardinalities: Cardinalities) -> Count:
    """Return the work-items that execute an operation or an access, over all launches.

    They are the union over statements of the projection onto the hardware axes (and the host's
    loops around a launch).
    """
    active: dict[int, isl.Set] = {}
    exact = True
    for statement in cardinalities.program.statements:
        domain = statement.domain
        whole = completed(domain, cardinalities.program.launches[domain.launch])
        points = whole.points
        exact = exact and domain.exact and domain.chance == 1
        for index in reversed(range(len(whole.axes))):
            if not whole.axes[index]:
                points = points.project_out(SET, index, 1)
        axes = [axis for axis in whole.axes if axis]
        order = sorted(range(len(axes)), key=axes.__getitem__)
        names = [f"w{k}" for k in range(points.dim(SET))]
        target = ", ".join(names[k] for k in order)
        points = points.apply(isl.Map(f"{{ [{', '.join(names)}] -> [{target}] }}")).coalesce()
        known = active.get(domain.launch)
        if known is None:
            active[domain.launch] = points
        elif not points.is_subset(known):
            active[domain.launch] = known.union(points).coalesce()
    total = Count.constant(0)
    for launch, points in active.items():
        number = cardinalities.size(points)
        count = cardinalities.wrap(number, Fraction(1), exact, "workitem")
        total = total + count.times(cardinalities.repeats(launch))
    return total
