"""The points of isl's sets one by one, and random cells of an indirect access: for oracles that execute accesses."""

from collections.abc import Mapping
from math import prod

import islpy as isl
import numpy as np
from numpy.typing import NDArray

from perfmodel.counts.program.program import Access
from perfmodel.counts.quasipoly.arguments import at_sizes, held
from perfmodel.counts.quasipoly.evaluation import evaluated
from perfmodel.counts.quasipoly.printing import indicator_of

SET, PARAM = isl.dim_type.set, isl.dim_type.param
PAGE = 4096
"""Every array begins on a page [B]."""
Ints = NDArray[np.int64]


def fixed(points: isl.Set, sizes: Mapping[str, int], values: Mapping[str, int] | None = None) -> isl.Set:
    return held(at_sizes(points, sizes), values or {}, SET)


def enumerate_points(points: isl.Set) -> tuple[dict[str, Ints], int]:
    """Return the points of a bounded set without parameters, each dimension's values, and their number."""
    names = list(points.get_var_names(SET))
    if points.is_empty():
        return {name: np.zeros(0, np.int64) for name in names}, 0
    ends = [(points.dim_min_val(k).to_python(), points.dim_max_val(k).to_python()) for k in range(len(names))]
    axes = np.meshgrid(*(np.arange(low, high + 1, dtype=np.int64) for low, high in ends), indexing="ij")
    number = prod(high - low + 1 for low, high in ends)
    columns = {name: axis.ravel() for name, axis in zip(names, axes, strict=True)}
    program = indicator_of(points.move_dims(PARAM, 0, SET, 0, len(names)).params())
    if not program.parameters:
        return columns, number
    inside = evaluated(program, [columns[name] for name in program.parameters], number) != 0
    return {name: column[inside] for name, column in columns.items()}, int(inside.sum())


def drawn_addresses(
    access: Access, sizes: Mapping[str, int], generator: np.random.Generator, count: int,
    along: NDArray[np.float64] | float = 0.0,
) -> Ints:  # fmt: skip
    """Return random addresses in the array, or in a window as long as the access's span that moves with `along`."""
    assert access.shape is not None
    extents = [fixed(extent, sizes).dim_max_val(0).to_python() + 1 for extent in access.shape]
    cells = max(prod(extents), 1)
    span = cells if access.span is None or len(extents) > 1 else min(max(int(access.span.indices), 1), cells)
    return generator.integers(0, span, count) + np.floor(np.asarray(along) * (cells - span)).astype(np.int64)
