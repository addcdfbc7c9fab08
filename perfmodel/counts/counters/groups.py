"""The work of each work-group of a launch, as a function of the sizes and of the group's coordinates."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod

import islpy as isl
import numpy as np
from numpy.typing import NDArray

from perfmodel.counts.counters.executions import Cardinalities, repetitions
from perfmodel.counts.points.set_counter import OPERATIONS
from perfmodel.counts.program.program import Domain, Launch
from perfmodel.counts.quasipoly.count import Count
from perfmodel.counts.quasipoly.evaluation import evaluated
from perfmodel.counts.rows import total
from perfmodel.values import FrozenValue

PARAM, SET = isl.dim_type.param, isl.dim_type.set
BELOW = isl.Map("{ [n] -> [x] : 0 <= x < n }")
COORDINATE = "group_axis_"  # a group's coordinate is a parameter with this prefix and the number of the axis


def _coordinate(axis: int) -> str:
    return f"{COORDINATE}{axis}"


@dataclass(frozen=True, eq=False)
class GroupWork(FrozenValue):
    """The number of operations and accesses of each work-group of a launch."""

    amount: Count  # of one group; its parameters are sizes and the group's coordinates
    grid: tuple[Count, ...]  # groups along ``g.0``, ``g.1``, ...

    def groups(self, sizes: Mapping[str, int]) -> int:
        return prod(self._extents(sizes))

    def at(self, sizes: Mapping[str, int]) -> NDArray[np.float64]:
        """Return the amount of work of each group at some sizes. ``g.0`` is the fastest axis."""
        extents, function = self._extents(sizes), self.amount.function
        names = [_coordinate(axis) for axis in range(len(extents))]
        moving = [extent if name in function.parameters else 1 for name, extent in zip(names, extents, strict=True)]
        indices = dict(zip(names, np.indices(moving[::-1]).reshape(len(moving), -1)[::-1], strict=True))
        number = prod(moving)
        columns = [indices[name] if name in indices else np.full(number, sizes[name]) for name in function.parameters]
        return np.broadcast_to(evaluated(function, columns, number).reshape(moving[::-1]), extents[::-1]).ravel()

    def _extents(self, sizes: Mapping[str, int]) -> list[int]:
        functions = [extent.function for extent in self.grid]
        return [int(function.exact(*[sizes[name] for name in function.parameters])) for function in functions]


def group_works(cardinalities: Cardinalities) -> Iterator[GroupWork | None]:
    """Yield the work of each launch's groups, or None if all groups do the same work or there is no formula."""
    for number, launch in enumerate(cardinalities.program.launches):
        weights = Counter[Domain]()
        for statement in cardinalities.program.statements:
            if statement.domain.launch == number:
                accesses = sum(access.space != "private" for access in statement.accesses)
                weights[statement.domain] += sum(operation.amount for operation in statement.operations) + accesses
        yield _work(cardinalities, launch, weights)


def _work(cardinalities: Cardinalities, launch: Launch, weights: Mapping[Domain, int]) -> GroupWork | None:
    grid = _grid(cardinalities, launch)
    space = grid.get_space()
    points = {domain: _of_group(domain, space) for domain, weight in weights.items() if weight}
    if all(_alike(instances, grid) for instances in points.values()):
        return None
    by_group = Cardinalities(
        replace(cardinalities.program, assumptions=grid), cardinalities.subgroup_size,
        cardinalities.operations / OPERATIONS,
    )
    amount = total(
        weights[domain] * domain.factor * repetitions(domain, launch) * by_group.wrap(by_group.size(instances))
        for domain, instances in points.items()
    )
    extents = (isl.PwQPolynomial.from_pw_aff(extent) for extent in launch.grid)
    return None if amount.unexpanded else GroupWork(amount, tuple(map(Count, extents)))


def _grid(cardinalities: Cardinalities, launch: Launch) -> isl.Set:
    """Return the allowed sizes and group coordinates as a set of parameters."""
    grid = cardinalities.program.assumptions
    for axis, extent in enumerate(launch.grid):
        along = isl.Set.from_pw_aff(extent).apply(BELOW)
        along = along.move_dims(PARAM, along.dim(PARAM), SET, 0, 1)
        grid = grid.intersect(along.set_dim_name(PARAM, along.dim(PARAM) - 1, _coordinate(axis)).params())
    return grid


def _of_group(domain: Domain, space: isl.Space) -> isl.Set:
    points = domain.points
    for k in reversed(range(len(domain.axes))):
        if domain.axes[k].startswith("g"):
            points = points.move_dims(PARAM, points.dim(PARAM), SET, k, 1)
            points = points.set_dim_name(PARAM, points.dim(PARAM) - 1, _coordinate(int(domain.axes[k][2:])))
    return points.align_params(space)


def _alike(instances: isl.Set, grid: isl.Set) -> bool:
    any_group = instances.intersect_params(grid)
    for k in reversed(range(any_group.dim(PARAM))):
        if any_group.get_dim_name(PARAM, k).startswith(COORDINATE):
            any_group = any_group.project_out(PARAM, k, 1)
    return bool(any_group.align_params(grid.get_space()).intersect_params(grid).is_subset(instances))
