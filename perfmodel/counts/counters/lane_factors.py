"""Sub-groups and work-groups in a domain that is a product: lanes eliminated factor by factor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from perfmodel.counts.counters.lane_boxes import Box, boxes_of_sub_groups
from perfmodel.counts.points.affine_forms import AffineForm
from perfmodel.counts.points.elimination import Factors, eliminated
from perfmodel.counts.points.factors import FactoredSet, variable
from perfmodel.counts.points.polytopes import Polytope
from perfmodel.counts.program.program import Domain, Launch


def factors_of_lanes(
    product: FactoredSet, domain: Domain, launch: Launch, size: int
) -> Iterator[list[Factors]]:
    """Yield, for each ``size`` lanes of a group, the instances that they execute, as a union of products.

    The instances with a lane in a box are the product of the factors' projections. Of the boxes that the lanes are,
    those are left out whose instances another one is seen to reach. A factor is None where its projection is not
    seen to be a polytope of integers.
    """
    lanes = {
        variable(k): int(axis[2:]) for k, axis in enumerate(domain.axes) if axis.startswith("l")
    }
    tied = [variable(k) for k, name in enumerate(domain.names) if name in domain.tied]
    removed = {*lanes, *tied}
    whole = tuple(f for f in product.factors if not removed & {*f.variables})
    touched = [f for f in product.factors if removed & {*f.variables}]
    projections: dict[object, Polytope | None] = {}  # sub-groups that differ along one axis share those of the others

    def projected(factor: Polytope, box: Box) -> Polytope | None:
        limits = tuple((name, *box[lanes[name]]) for name in factor.variables if name in lanes)
        key = (factor.variables, limits)
        if key not in projections:
            projections[key] = _projected(factor, limits, removed)
        return projections[key]

    for boxes in boxes_of_sub_groups(launch, size):
        found = [tuple(projected(factor, box) for factor in touched) for box in boxes]
        yield [(*whole, *one) for one in _largest(found)]


def _largest(found: list[Factors]) -> list[Factors]:
    """Return the products that no other is seen to hold."""
    kept: list[Factors] = []
    for one in found:
        if not any(_reaches(other, one) for other in kept):
            kept = [other for other in kept if not _reaches(one, other)] + [one]
    return kept


def _reaches(larger: Factors, smaller: Factors) -> bool:
    """Whether each of the polytopes is seen to hold its counterpart."""
    return larger == smaller or all(
        one is not None and other is not None and one.equalities == other.equalities
        and all(
            any(row.follows_from(tighter) for tighter in other.inequalities)
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
