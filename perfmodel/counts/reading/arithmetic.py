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

    def fold(self, kind: str, children: Sequence[Any], scope: Scope) -> Type[Any]:
        """Combine children from left to right, as C does, with one operation for each after the first.

        An integer operation on operands that are made of inames, integer parameters and whole
        numbers only is index arithmetic, unless all are numbers. Where Loopy may reorder, it combines
        real operands among themselves: ``c*x*y`` is x*y, times c.
        """
        total, only_indices, named, per_lane = scope.literal, True, False, False
        real: Type[Any] | None = None  # of the real operands so far
        for position, child in enumerate(children):
            only_indices = only_indices and is_index(self.kernel, child)
            named = named or not p.is_constant(child)
            per_lane = per_lane or self.is_per_lane(child)
            dtype = self.rec(child, scope)
            if position == 0:
                total = dtype
            elif real is not None and self.reorders(total, dtype):
                total = promote(total, self.combine(kind, real, dtype, scope, per_lane))
            else:
                integral = total.kind in "iub" and dtype.kind in "iub"
                here = scope._replace(in_index=True) if only_indices and named and integral else scope
                total = self.combine(kind, total, dtype, here, per_lane)
            if dtype not in COMPLEX:
                real = dtype if real is None else promote(real, dtype)
        return total

    def reorders(self, total: Type[Any], dtype: Type[Any]) -> bool:
        """Whether Loopy combines a real operand with the real ones before it, not with their complex total."""
        return total in COMPLEX and dtype not in COMPLEX and self.kernel.options.allow_fp_reordering

    def is_per_lane(self, expr: Any) -> bool:
        """Whether an operation on this operand is made once for each lane of a vector."""
        return not self.vector_iname or self.vector_iname in get_dependencies(expr)

    def combine(
        self, kind: str, left: Type[Any], right: Type[Any], scope: Scope, per_lane: bool = True
    ) -> Type[Any]:
        """Record one operation on operands of these types and return the result's type."""
        dtype = promote(left, right)
        if dtype in COMPLEX:
            for step, amount in _complex_operations(kind, left in COMPLEX, right in COMPLEX):
                self.note(COMPLEX[dtype], step, scope, amount, per_lane)
        else:
            self.note(dtype, kind, scope, 1, per_lane)
        return dtype

    # {{{ sums and products

    def map_sum(self, expr: p.Sum, scope: Scope) -> Type[Any]:
        before = len(self.operations)
        terms = flat_terms(expr)
        dtype = self.fold("add", terms, scope)
        if self.options.group_multiply_add:
            self.join_products(terms, before, scope)
        return dtype

    def join_products(self, terms: list[Any], before: int, scope: Scope) -> bool:
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
        factors, flat = [child for child in expr.children if not is_sign(child)], list(_factors(expr))
        if len(flat) > len(factors) and not any(map(self.is_complex, flat)):  # complex products are nested calls
            factors = flat
        return self.fold("mul", factors, scope)

    def is_complex(self, expr: Any) -> bool:
        """Whether an expression is a complex number, or has a complex variable in it."""
        variables = {**self.kernel.temporary_variables, **self.kernel.arg_dict}
        known = (variables[name].dtype for name in get_dependencies(expr) if name in variables)
        return isinstance(expr, complex) or any(dtype.numpy_dtype in COMPLEX for dtype in known)

    # }}}

    def map_quotient(self, expr: p.Quotient, scope: Scope) -> Type[Any]:
        left, right = self.rec(expr.numerator, scope), self.rec(expr.denominator, scope)
        if left.kind in "iub" and right.kind in "iub":
            if scope.literal.kind == "f":
                left = right = scope.literal
            elif is_index(self.kernel, expr):
                scope = scope._replace(in_index=True)
        return self.combine("div", left, right, scope)

    def map_floor_div(self, expr: p.FloorDiv | p.Remainder, scope: Scope) -> Type[Any]:
        return self.fold("div", (expr.numerator, expr.denominator), scope._replace(literal=INT))

    map_remainder = map_floor_div

    def map_power(self, expr: p.Power, scope: Scope) -> Type[Any]:
        exponent = next((k for k in range(5) if p.is_constant(expr.exponent) and expr.exponent == k), None)
        if exponent == 0:
            return INT  # it is the literal 1
        if exponent == 1:
            return self.rec(expr.base, scope)
        if exponent == 2:
            return self.fold("mul", (expr.base, expr.base), scope)
        base = self.rec(expr.base, scope)
        if base in COMPLEX and exponent is not None:
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
    elif not is_sign(expr):
        yield expr


def _complex_operations(kind: str, left: bool, right: bool) -> Amounts:
    """Return the real operations of a complex one; the flags say which operands are complex."""
    if left == right:
        return COMPLEX_OPERATIONS[kind]
    if kind == "div":
        return MIXED_OPERATIONS[f"div_real_{'denominator' if left else 'numerator'}"]
    return MIXED_OPERATIONS[kind]
