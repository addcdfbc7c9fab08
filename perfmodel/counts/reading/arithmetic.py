"""The arithmetic of expressions, as the generated C code evaluates it.

``x**2`` is a product that evaluates its base twice. A complex product is four products and two sums.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pymbolic.primitives as p
from loopy.symbolic import get_dependencies
from loopy.type_inference import TypeReader

from perfmodel.counts.reading.accesses import AccessWalk
from perfmodel.counts.reading.events import OperationEvent, Scope
from perfmodel.counts.reading.target.vectors import component, lanes, type_name
from perfmodel.counts.reading.values import COMPLEX, INT, Type, flat_terms, is_index, is_product, is_sign, promote

Amounts = tuple[tuple[str, int], ...]  # kinds of operations, and how many of each
# Real operations of pyopencl's complex helpers, for complex-complex operands.
COMPLEX_OPERATIONS: Mapping[str, Amounts] = {
    "add": (("add", 2),),
    "mul": (("mul", 4), ("add", 2)),
    "div": (("div", 3), ("mul", 4), ("add", 3)),
}
# ... and where one operand is real (the key says which).
MIXED_OPERATIONS: Mapping[str, Amounts] = {
    "add": (("add", 1),),
    "mul": (("mul", 2),),
    "div_real_denominator": (("div", 2),),
    "div_real_numerator": (("div", 3), ("mul", 3), ("add", 1)),
}


class ArithmeticWalk(AccessWalk):
    """Walks arithmetic and lists its operations."""

    def note(
        self, dtype: Type[Any], kind: str, scope: Scope, amount: int = 1, per_lane: bool = True
    ) -> bool:
        """Record operations, one for each component; index arithmetic is recorded on request only.

        Return whether they were recorded.
        """
        if dtype.kind == "V":
            amount, dtype = amount * lanes(dtype), component(dtype)
        in_index = scope.in_index or (scope.in_test and dtype.kind in "iub")
        if in_index and not self.options.include_index_arithmetic:
            return False
        self.operations.append(OperationEvent(type_name(dtype), kind, amount, scope.conditions, per_lane))
        return True

    def fold(
        self, kind: str, operands: Sequence[Any], scope: Scope, complex_type: Type[Any] | None = None
    ) -> Type[Any]:
        """Combine operands from left to right, as C does, with one operation for each after the first.

        An integer operation on operands that are made of inames, integer parameters and whole
        numbers only is index arithmetic. A factor -1 is free, but its literal has a type: in
        ``-1.0*x`` of doubles x becomes a double.
        """
        total, only_indices, per_lane, paid = scope.literal, True, False, 0
        for position, operand in enumerate(operands):
            only_indices = only_indices and is_index(self.kernel, operand)
            per_lane = per_lane or self.is_per_lane(operand)
            dtype, free = self.rec(operand, scope), kind == "mul" and is_sign(operand)
            if free or not paid:
                total = promote(total, dtype) if position else dtype
            else:
                integral = total.kind in "iub" and dtype.kind in "iub"
                here = scope._replace(in_index=True) if only_indices and integral else scope
                total = self.combine(kind, total, dtype, here, per_lane, complex_type)
            paid += not free
        return total

    def operands(self, expr: p.Sum | p.Product, flat: list[Any]) -> tuple[Sequence[Any], Type[Any] | None]:
        """Return what C code combines from left to right, and the type of the result if it is complex.

        Real operands are *flat*. Complex ones are arguments of nested calls, and where Loopy may reorder, real ones
        are combined first: ``c*x*y`` is x*y, times c.
        """
        complex_type = self.complex_type(expr, expr.children)
        if complex_type is None:
            return flat, None
        if not self.kernel.options.allow_fp_reordering:
            return expr.children, complex_type
        return sorted(expr.children, key=lambda child: self.complex_type(child) is not None), complex_type

    def complex_type(self, expr: Any, children: Sequence[Any] = ()) -> Type[Any] | None:
        """Return the type that Loopy gives an expression; None if it is not complex."""
        if not self.has_complex and not any(isinstance(child, complex) for child in (expr, *children)):
            return None
        dtype = np.dtype(TypeReader(self.kernel, self.callables)(expr).numpy_dtype)
        return dtype if dtype in COMPLEX else None

    def is_per_lane(self, expr: Any) -> bool:
        """Whether an operation on this operand is made once for each lane of a vector."""
        return not self.vector_iname or self.vector_iname in get_dependencies(expr)

    def combine(
        self, kind: str, left: Type[Any], right: Type[Any], scope: Scope, per_lane: bool = True,
        complex_type: Type[Any] | None = None,
    ) -> Type[Any]:
        """Record one operation on operands of these types and return the result's type."""
        dtype = promote(left, right)
        if dtype in COMPLEX:
            dtype = complex_type or dtype
            for step, amount in _complex_operations(kind, left in COMPLEX, right in COMPLEX):
                self.note(COMPLEX[dtype], step, scope, amount, per_lane)
        else:
            self.note(dtype, kind, scope, 1, per_lane)
        return dtype

    # {{{ sums and products

    def map_sum(self, expr: p.Sum, scope: Scope) -> Type[Any]:
        before = len(self.operations)
        terms, complex_type = self.operands(expr, flat_terms(expr))
        dtype = self.fold("add", terms, scope, complex_type)
        if self.options.group_multiply_add:
            self.join_products(terms, before, scope)
        return dtype

    def join_products(self, terms: Sequence[Any], before: int, scope: Scope) -> bool:
        """Turn pairs of a sum's own additions and its terms' products into ``madd``; return whether there were any.

        Of n terms that are products at most n - 1 meet an addition: a*b + c*d is a product and
        one ``madd``.
        """
        length = len(self.operations)
        products = sum(is_product(self.kernel, term) for term in terms)
        for _ in range(min(products, len(terms) - 1)):
            addition = self.last("add", before, scope)
            product = self.last("mul", before, scope)
            if addition is None or product is None:
                break
            if self.operations[addition].dtype != self.operations[product].dtype:
                break
            self.operations.append(replace(self.operations[product], kind="madd"))
            for k in sorted((addition, product), reverse=True):
                del self.operations[k]
        return len(self.operations) < length

    def last(self, kind: str, before: int, scope: Scope) -> int | None:
        """Return the position of the last operation of a kind under the scope's conditions."""
        for k in reversed(range(before, len(self.operations))):
            found = self.operations[k]
            if found.kind == kind and found.conditions == scope.conditions:
                return k
        return None

    def map_product(self, expr: p.Product, scope: Scope) -> Type[Any]:
        factors, complex_type = self.operands(expr, list(_factors(expr)))
        return self.fold("mul", factors, scope, complex_type)

    # }}}

    def map_quotient(self, expr: p.Quotient, scope: Scope) -> Type[Any]:
        left, right = self.rec(expr.numerator, scope), self.rec(expr.denominator, scope)
        if left.kind in "iub" and right.kind in "iub":
            if scope.literal.kind == "f":
                left = right = scope.literal
            elif is_index(self.kernel, expr):
                scope = scope._replace(in_index=True)
        return self.combine("div", left, right, scope, complex_type=self.complex_type(expr))

    def map_floor_div(self, expr: p.FloorDiv | p.Remainder, scope: Scope) -> Type[Any]:
        return self.fold("div", (expr.numerator, expr.denominator), scope._replace(literal=INT))

    map_remainder = map_floor_div

    def map_power(self, expr: p.Power, scope: Scope) -> Type[Any]:
        exponent = next((k for k in range(5) if p.is_constant(expr.exponent) and expr.exponent == k), None)
        if exponent in (0, 1) and self.complex_type(expr) is None:  # a complex one is a call
            return self.rec(expr.base, scope) if exponent else INT  # the literal 1
        if exponent == 2:
            return self.fold("mul", (expr.base, expr.base), scope)
        base = self.rec(expr.base, scope)
        if base in COMPLEX and exponent in (3, 4):
            for _ in range(exponent - 1):
                base = self.combine("mul", base, self.rec(expr.base, scope), scope)
            return base
        self.rec(expr.exponent, scope)
        dtype = np.dtype(TypeReader(self.kernel, self.callables)(expr).numpy_dtype)  # Loopy's helper for a power has it
        self.note(dtype, "pow", scope)
        return dtype

    def map_min(self, expr: p.Min | p.Max, scope: Scope) -> Type[Any]:
        return self.fold("minmax", expr.children, scope)

    map_max = map_min

    def map_left_shift(self, expr: Any, scope: Scope) -> Type[Any]:
        return self.fold("shift", (expr.shiftee, expr.shift), scope)

    map_right_shift = map_left_shift

    def map_bitwise_and(self, expr: Any, scope: Scope) -> Type[Any]:
        return self.fold("bitwise", expr.children, scope)

    map_bitwise_or = map_bitwise_and
    map_bitwise_xor = map_bitwise_and

    def map_bitwise_not(self, expr: Any, scope: Scope) -> Type[Any]:
        dtype = self.rec(expr.child, scope)
        self.note(dtype, "bitwise", scope)
        return dtype


def _factors(expr: Any) -> Iterator[Any]:
    """Yield what C multiplies from left to right: Loopy writes ``a*(b*c)**2`` as ``a * b * c * b * c``."""
    if isinstance(expr, p.Power) and p.is_constant(expr.exponent) and expr.exponent == 2:
        yield from (*_factors(expr.base), *_factors(expr.base))
    elif isinstance(expr, p.Product):
        for child in expr.children:
            yield from _factors(child)
    else:
        yield expr


def _complex_operations(kind: str, left: bool, right: bool) -> Amounts:
    """Return the real operations of a complex one; the flags say which operands are complex."""
    if left == right:
        return COMPLEX_OPERATIONS[kind]
    if kind == "div":
        return MIXED_OPERATIONS[f"div_real_{'denominator' if left else 'numerator'}"]
    return MIXED_OPERATIONS[kind]
