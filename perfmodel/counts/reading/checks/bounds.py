"""Accesses beyond the memory that the generated code declares for an array.

Loopy compares each index with the array's shape, axis by axis. But the code declares as many cells of a temporary as
its shape has, and addresses them by its strides: 32 rows of 32 columns at stride 33 reach past their 32*32 cells. So
Loopy makes its check here once more, of a kernel in which arrays have the one axis that the code gives them.
"""

from __future__ import annotations

import re
from math import prod
from typing import Any

import loopy as lp
import numpy as np
import pymbolic.primitives as p
from loopy.check import check_bounds
from loopy.diagnostic import LoopyError, LoopyIndexError
from loopy.kernel.array import FixedStrideArrayDimTag
from loopy.symbolic import IdentityMapper, LinearSubscript

from perfmodel.counts.points.set_counter import OPERATIONS, BudgetSpentError, limited
from perfmodel.counts.reading.checks.refusals import refusal
from perfmodel.errors import OutOfBoundsError


def refuse_outside(t_unit: lp.TranslationUnit) -> None:
    r"""Raise unless every access lies inside of its array at all sizes that the assumptions admit.

    An access at index :math:`x` to an array with strides :math:`s` of :math:`N` declared cells must have
    :math:`0 \le \sum_k s_k x_k < N` wherever it is executed. What isl cannot decide passes: indices that depend on data
    or are no affine functions, strides and declarations that depend on sizes, and sets that take too much work.

    Parameters
    ----------
    t_unit : loopy.TranslationUnit
        Preprocessed, with one entry point. Nothing is checked where its option
        ``enforce_array_accesses_within_bounds`` is off.

    Raises
    ------
    OutOfBoundsError
        An access lies outside.
    """
    kernel = t_unit.default_entrypoint
    if kernel.options.enforce_array_accesses_within_bounds is not True:
        return
    cells = {array.name: _declared(array) for array in (*kernel.temporary_variables.values(), *kernel.args)}
    known = {name: size for name, size in cells.items() if size is not None}
    try:
        with limited(OPERATIONS):
            check_bounds(t_unit.with_kernel(_Flat(kernel, known).kernel()))
    except LoopyIndexError as error:
        access, instruction = re.findall("'(.*?)'", str(error))[:2]
        name = access.partition("[")[0]
        if name not in known:  # a whole shape, which Loopy checks as it schedules; here the user had scheduled it
            raise refusal(t_unit, error) from error
        raise OutOfBoundsError(access, instruction, known[name]) from error
    except (BudgetSpentError, LoopyError):
        return


def _declared(array: Any) -> int | None:
    """Return the cells that the code declares for an array with constant strides; None where they are not known."""
    shape, tags = getattr(array, "shape", None), getattr(array, "dim_tags", None)
    if not tags or not isinstance(shape, tuple) or not all(
        isinstance(tag, FixedStrideArrayDimTag) and isinstance(tag.stride, (int, np.integer)) for tag in tags
    ):
        return None
    shape = getattr(array, "storage_shape", None) or shape
    if not all(isinstance(extent, (int, np.integer)) for extent in shape):
        return None
    if isinstance(array, lp.TemporaryVariable):
        return prod(map(int, shape))
    return 1 + sum((int(extent) - 1) * int(tag.stride) for extent, tag in zip(shape, tags, strict=True))


class _Flat(IdentityMapper):  # type: ignore[misc]
    """Rewrites a kernel so that some arrays have one axis."""

    def __init__(self, kernel: lp.LoopKernel, cells: dict[str, int]) -> None:
        super().__init__()
        self.whole = kernel
        self.cells = cells

    def kernel(self) -> lp.LoopKernel:
        """Return the kernel with the accesses and declarations of these arrays rewritten."""
        return self.whole.copy(
            instructions=[insn.with_transformed_expressions(self) for insn in self.whole.instructions],
            temporary_variables={name: self.array(one) for name, one in self.whole.temporary_variables.items()},
            args=[self.array(one) for one in self.whole.args],
        )

    def array(self, array: Any) -> Any:
        if array.name not in self.cells:
            return array
        changes = {"storage_shape": None, "base_indices": (0,)} if isinstance(array, lp.TemporaryVariable) else {}
        return array.copy(
            shape=(self.cells[array.name],), dim_tags=(FixedStrideArrayDimTag(1),), dim_names=None, **changes
        )

    def map_subscript(self, expr: p.Subscript) -> Any:
        indices = tuple(self.rec(index) for index in expr.index_tuple)
        if expr.aggregate.name in self.cells:
            tags = self.whole.get_var_descriptor(expr.aggregate.name).dim_tags
            parts = (p.flattened_product((tag.stride, one)) for tag, one in zip(tags, indices, strict=True))
            indices = (p.flattened_sum(parts),)
        return p.Subscript(expr.aggregate, indices)

    def map_linear_subscript(self, expr: LinearSubscript) -> Any:
        if expr.aggregate.name in self.cells:
            return p.Subscript(expr.aggregate, (self.rec(expr.index),))
        return super().map_linear_subscript(expr)
