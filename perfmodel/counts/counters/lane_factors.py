"""Sub-groups and work-groups in a domain that is a product: lanes eliminated factor by factor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from perfmodel.counts.counters.lane_boxes import Box, boxes_of_sub_groups
from perfmodel.counts.points.affine_forms import AffineForm
from perfmodel.counts.points.elimination import eliminated
from perfmodel.counts.points.factors import FactoredSet, variable
from perfmodel.counts.points.polytopes import Polytope
from perfmodel.counts.program.program import Domain, Launch


def factors_of_lanes(
    product: FactoredSet, domain: Domain, launch: Launch, size: int
) -> Iterator[list[Polytope | None]]:
    """Yield, for each ``size`` lanes of a group, factors of the instances that they execute.

    The instances with a lane in a box are the product of the factors' projections. Where lanes
    are several boxes, it must be seen that one of them reaches the instances of the others; the
    factors are None where it is not, or where a projection is not a polytope of integers.
    """
    lanes = {
        variable(k): int(axis[2:]) for k, axis in enumerate(domain.axes) if axis.startswith("l")
    }
    tied = [variable(k) for k, name in enumerate(domain.names) if name in domain.tied]
    removed = {*lanes, *tied}
    whole: list[Polytope | None] = [f for f in product.factors if not removed & {*f.variables}]
    touched = [f for f in product.factors if removed & {*f.variables}]
    projections: dict[object, Polytope | None] = {}  # sub-groups that differ along one axis share those of the others

    def projected(factor: Polytope, box: Box) -> Polytope | None:
        limits = tuple((name, *box[lanes[name]]) for name in factor.variables if name in lanes)
        key = (factor.variables, limits)
        if key not in projections:
            projections[key] = _projected(factor, limits, removed)
        return projections[key]

    for boxes in boxes_of_sub_groups(launch, size):
        found = [[projected(factor, box) for factor in touched] for box in boxes]
        widest = next((one for one in found if all(_reaches(one, other) for other in found)), [None])
        yield [*whole, *widest]


def _reaches(larger: list[Polytope | None], smaller: list[Polytope | None]) -> bool:
    """Whether each of the polytopes is seen to hold its counterpart."""
    return larger is smaller or all(
        one is not None and other is not None and one.equalities == other.equalities
        and all(
            any((row - tighter).is_certain() for tighter in other.inequalities)
            for row in one.inequalities
        )
        for one, other in zip(larger, smaller, strict=True)
    )


def _projected(
    factor: Polytope, limits: Iterable[tuple[str, int, int]], removed: set[str]
) -> Polytope | None:
    """Return the factor's values of its other variables for which some lane is in the limits."""
    rows = list(factor.inequalities)
    for name, low, high in limits:
        lane = AffineForm.variable(name)
        rows += [lane - low, -lane + high]
    result: Polytope | None = Polytope(factor.variables, factor.equalities, tuple(rows))
    for name in factor.variables:
        if name in removed and result is not None:
            result = eliminated(result, name)
    return result
