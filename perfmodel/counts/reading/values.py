"""Types, memory and indices of Loopy's variables and expressions in the generated C code."""

from __future__ import annotations

from collections.abc import Mapping, Set
from math import prod
from typing import Any

import loopy as lp
import numpy as np
import pymbolic.primitives as p

from perfmodel.counts.reading.target.vectors import component

Type = np.dtype  # the C type of an expression, as NumPy's
INT = np.dtype(np.int32)

COMPLEX: Mapping[Type[Any], Type[Any]] = {
    np.dtype("complex64"): np.dtype("float32"),
    np.dtype("complex128"): np.dtype("float64"),
}

SPACES = {
    lp.AddressSpace.GLOBAL: "global",
    lp.AddressSpace.LOCAL: "local",
    lp.AddressSpace.PRIVATE: "private",
}


def space_of(variable: Any) -> str:
    """Return the address space of an array or temporary."""
    return SPACES[getattr(variable, "address_space", lp.AddressSpace.GLOBAL)]


def in_memory(variable: Any) -> bool:
    """Whether accesses to the variable go to memory: value arguments do not, nor do scalars with no shared storage."""
    if isinstance(variable, lp.ValueArg):
        return False
    if isinstance(variable, lp.TemporaryVariable):
        is_scalar = variable.shape == () and variable.base_storage is None
        return variable.address_space != lp.AddressSpace.PRIVATE or not is_scalar
    return True


def memory_type(variable: Any) -> Type[Any]:
    """Return the type that a variable's values have in memory, where a bool is a char."""
    if variable.dtype is None:
        return INT
    dtype = np.dtype(variable.dtype.numpy_dtype)
    return np.dtype(np.int8) if dtype.kind == "b" else dtype


def offset_of(variable: Any) -> Any:
    """Return the expression of an array argument's offset; temporaries are aligned."""
    offset = getattr(variable, "offset", 0)
    if isinstance(variable, lp.TemporaryVariable) or not offset or offset is lp.auto:
        return 0
    return p.Variable(offset) if isinstance(offset, str) else offset


def offset_argument(variable: Any) -> str:
    """Return the name of the argument that is an array's offset; "" if there is none."""
    offset = offset_of(variable)
    return offset.name if isinstance(offset, p.Variable) else ""


def array_bytes(t_unit: lp.TranslationUnit) -> tuple[int, int]:
    """Return the bytes of a kernel's local and of its private variables of constant shape."""
    (entry,) = t_unit.entrypoints
    sizes: dict[Any, int] = {lp.AddressSpace.LOCAL: 0, lp.AddressSpace.PRIVATE: 0}
    for variable in t_unit[entry].temporary_variables.values():
        shape = variable.storage_shape or variable.shape  # with padding, or without
        if variable.address_space in sizes and all(isinstance(extent, (int, np.integer)) for extent in shape):
            sizes[variable.address_space] += prod(map(int, shape)) * memory_type(variable).itemsize
    return sizes[lp.AddressSpace.LOCAL], sizes[lp.AddressSpace.PRIVATE]


def untouched_arrays(t_unit: lp.TranslationUnit, touched: Set[str]) -> tuple[str, ...]:
    """Return the names of a kernel's array arguments that are not among those touched, sorted."""
    (entry,) = t_unit.entrypoints
    return tuple(sorted(
        argument.name for argument in t_unit[entry].args
        if not isinstance(argument, lp.ValueArg) and argument.name not in touched
    ))


def is_sign(expr: Any) -> bool:
    """Whether a factor is free: -1 changes only the sign. A factor 1 is in the generated code, and costs a product."""
    return p.is_constant(expr) and bool(expr == -1)


def is_product(kernel: lp.LoopKernel, expr: Any) -> bool:
    """Whether evaluating an expression ends with a multiplication that is no index arithmetic."""
    return (
        isinstance(expr, p.Product) and not is_index(kernel, expr)
        and sum(not is_sign(child) for child in expr.children) > 1
    )


def flat_terms(expr: p.Sum | p.Product) -> list[Any]:
    """Return the operands of nested sums, or of nested products, which C code prints without parentheses."""
    terms: list[Any] = []
    for child in expr.children:
        terms.extend(flat_terms(child) if isinstance(child, type(expr)) else [child])
    return terms


def is_index(kernel: lp.LoopKernel, expr: Any) -> bool:
    """Whether an expression is made of inames, integer parameters and whole numbers only.

    Its arithmetic is index arithmetic where C computes it with integers. In ``2.0f*i`` it is not.
    """
    if isinstance(expr, p.Variable):
        return expr.name in kernel.all_inames() or is_size(kernel.arg_dict.get(expr.name))
    if isinstance(expr, (p.Sum, p.Product)):
        return all(is_index(kernel, child) for child in expr.children)
    if isinstance(expr, (p.FloorDiv, p.Remainder, p.Quotient)):
        return is_index(kernel, expr.numerator) and is_index(kernel, expr.denominator)
    if isinstance(expr, p.Power):  # a square is a product in C code, any other power a call
        return p.is_constant(expr.exponent) and expr.exponent in (0, 1, 2) and is_index(kernel, expr.base)
    if isinstance(expr, (float, np.floating)):
        return float(expr).is_integer()
    return isinstance(expr, (int, np.integer))


def is_size(argument: Any) -> bool:
    """Whether a kernel argument is an integer passed by value."""
    return isinstance(argument, lp.ValueArg) and argument.dtype.is_integral()


def real_part(dtype: Type[Any]) -> Type[Any]:
    """Return the type of the parts of a complex type, of a vector's components; any other type unchanged."""
    return component(dtype) if dtype.kind == "V" else COMPLEX.get(dtype, dtype)


def promote(left: Type[Any], right: Type[Any]) -> Type[Any]:
    """Return the C type of an operation on operands of these types; a scalar is widened to a vector."""
    if left.kind == "V" or right.kind == "V":
        return left if left.kind == "V" else right
    for wide, narrow in ((left, right), (right, left)):
        if wide.kind in "fc" and narrow.kind in "iub":
            return wide  # C converts the integer to the other's type
    kinds = {left.kind, right.kind}
    if kinds == {"i", "u"}:  # of equal size the unsigned type wins, as in C
        signed, unsigned = (left, right) if left.kind == "i" else (right, left)
        size = max(signed.itemsize, unsigned.itemsize, INT.itemsize)
        return np.dtype(f"{'u' if unsigned.itemsize == size else 'i'}{size}")
    result = np.promote_types(left, right)
    if result.kind in "iub" and result.itemsize < 4:
        return INT  # C's integer promotions
    return result
