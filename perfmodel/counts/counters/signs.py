"""Parameters that may be negative, such as an offset of an index; a number of iterations or cells may not."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

import islpy as isl

from perfmodel.counts.program.program import Program
from perfmodel.counts.quasipoly.arguments import parameters_of

PARAM, SET = isl.dim_type.param, isl.dim_type.set


def signed_parameters(program: Program) -> frozenset[str]:
    """Return the parameters that may be negative.

    A negative value must neither break the assumptions nor leave a loop nest or the extent of an array without points.
    Tests of parameters alone do not count, since a test may be false. Strides of arrays are never negative.
    """
    open_below = [name for name in program.parameters if _below_zero(program.assumptions, name)]
    if not open_below:
        return frozenset()
    nests = [*_nests(program), *([extent] for extent in _extents(program))]
    strides = {name for stride in _strides(program) for name in parameters_of(stride)}
    return frozenset(
        name for name in open_below
        if name not in strides and all(any(_below_zero(part, name) for part in nest) for nest in nests)
    )


def _below_zero(points: isl.Set, name: str) -> bool:
    """Return whether a set has points where a parameter is negative."""
    position = points.find_dim_by_name(PARAM, name)
    return position < 0 or not points.upper_bound_val(PARAM, position, isl.Val(-1)).is_empty()


def _nests(program: Program) -> Iterator[list[isl.Set]]:
    """Yield the points of the statements of each loop nest, without conditions on parameters alone."""
    nests: defaultdict[tuple[int, tuple[str, ...]], dict[int, isl.Set]] = defaultdict(dict)
    for statement in (*program.statements, *program.decisions):
        domain = statement.domain
        nests[domain.launch, domain.names][id(domain.points)] = domain.points
    yield from ([_of_dimensions(points) for points in parts.values()] for parts in nests.values())
    yield from ([_of_dimensions(launch.repeats)] for launch in program.launches)


def _of_dimensions(points: isl.Set) -> isl.Set:
    return points.drop_constraints_not_involving_dims(SET, 0, points.dim(SET))


def _extents(program: Program) -> Iterable[isl.Set]:
    accesses = (access for statement in program.statements for access in statement.accesses)
    return {id(extent): extent for access in accesses for extent in access.shape or ()}.values()


def _strides(program: Program) -> Iterable[isl.PwQPolynomial]:
    accesses = [access for statement in program.statements for access in statement.accesses]
    distances = [stride.distance for access in accesses for stride in access.lane_stride]
    strides = (stride for access in accesses for stride in access.strides)
    return {id(stride): stride for stride in (*distances, *strides)}.values()
