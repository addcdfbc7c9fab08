"""Where the arrays of a kernel lie in global memory, and the addresses of its accesses."""

from __future__ import annotations

from collections.abc import Mapping

import islpy as isl
import numpy as np

from perfmodel.counts.program.program import Access, Program
from perfmodel.counts.quasipoly.translation import quasi_polynomial_of
from perfmodel.counts.trace.fixed_sizes import Ints, at_sizes, fixed
from perfmodel.errors import UntraceableError

PAGE = 4096  # bytes; every array begins on a page


def first_lines(program: Program, sizes: Mapping[str, int], line_bytes: int) -> dict[str, int]:
    """Return the number of the first line of each array in global memory, in the order of the names."""
    accesses = [a for statement in program.statements for a in statement.accesses if a.space == "global"]
    lines: dict[str, int] = {}
    end = 0
    for name in sorted({access.array for access in accesses}):
        lines[name] = -(-end // line_bytes)
        size = max(_bytes(access, sizes) for access in accesses if access.array == name)
        end = -(-(lines[name] * line_bytes + size) // PAGE) * PAGE
    return lines


def addresses(access: Access, cells: isl.Map, points: isl.Set, sizes: Mapping[str, int]) -> isl.Map:
    """Return the map from the points of an access to its address in the array, in units of the access."""
    cells = at_sizes(cells, sizes).intersect_domain(points)
    if not cells.is_single_valued():
        raise UntraceableError(
            f"one access to '{access.array}' reaches several cells at once", "write it as a loop over single cells"
        )
    strides = [value_of(stride, sizes) for stride in access.strides]
    axes = [f"x{k}" for k in range(len(strides))]
    products = [f"{stride}*{axis}" for stride, axis in zip(strides, axes, strict=True)]
    place = " + ".join([str(value_of(access.offset, sizes) + access.shifted(sizes)), *products])
    return cells.apply_range(isl.Map(f"{{ [{', '.join(axes)}] -> [{place}] }}"))


def drawn_addresses(access: Access, sizes: Mapping[str, int], generator: np.random.Generator, count: int) -> Ints:
    """Return addresses drawn evenly from the whole array."""
    extents = _extents(access, sizes)
    if extents is None:
        raise UntraceableError(
            f"data give the index into '{access.array}', whose shape is not known", "declare the array's shape"
        )
    return generator.integers(0, max(int(np.prod(extents)), 1), count)


def value_of(function: isl.PwQPolynomial, sizes: Mapping[str, int]) -> int:
    """Return a function of the parameters at the sizes; a parameter without a size, such as an offset, is 0."""
    program = quasi_polynomial_of(function)
    return int(program.exact(*(sizes.get(name, 0) for name in program.parameters)))


def _extents(access: Access, sizes: Mapping[str, int]) -> tuple[int, ...] | None:
    if access.shape is None:
        return None
    ends = [fixed(extent, sizes).dim_max_val(0) for extent in access.shape]
    return tuple(int(end.to_python()) + 1 for end in ends) if all(end.is_int() for end in ends) else None


def _bytes(access: Access, sizes: Mapping[str, int]) -> int:
    """Return the bytes of an array; where its shape is not known, more than arrays have in practice."""
    strides = [value_of(stride, sizes) for stride in access.strides]
    extents = _extents(access, sizes) or (1 << 20,) * len(strides)
    last = sum(abs(stride) * (extent - 1) for stride, extent in zip(strides, extents, strict=True))
    return (value_of(access.offset, sizes) + access.shifted(sizes) + last + 1) * access.bits // 8
