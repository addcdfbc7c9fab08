"""Small launches and domains for tests of the counters."""

from itertools import product

import islpy as isl

from perfmodel.counts.program.program import Domain, Launch


def launch(*shape: int, grid: tuple[str, ...] = ("[n] -> { [(n)] }",)) -> Launch:
    return Launch("kernel", shape, tuple(isl.PwAff(text) for text in grid), isl.Set("{ [] }"))


def domain(text: str, *axes: str, tied: frozenset[str] = frozenset()) -> Domain:
    return Domain(0, isl.Set(text), axes, tied=tied)


def lanes(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return the local ids in the order of the linear id: l.0 is the fastest."""
    return [tuple(reversed(ids)) for ids in product(*(range(extent) for extent in reversed(shape)))]


def points_at(points: isl.Set, **sizes: int) -> set[tuple[int, ...]]:
    """Return the points of a bounded set at fixed sizes."""
    for name, value in sizes.items():
        index = points.find_dim_by_name(isl.dim_type.param, name)
        if index >= 0:
            points = points.fix_val(isl.dim_type.param, index, isl.Val(value))
    points = points.project_out(isl.dim_type.param, 0, points.dim(isl.dim_type.param))
    found: set[tuple[int, ...]] = set()
    points.foreach_point(lambda point: found.add(tuple(
        point.get_coordinate_val(isl.dim_type.set, k).to_python() for k in range(points.dim(isl.dim_type.set))
    )))
    return found
