"""Walks an instruction's expressions and lists what evaluating them executes.

The walk follows the C code that Loopy generates: ``x**2`` is a product that evaluates its base
twice, a complex product is four products and two sums, in ``c ? a : b`` one branch is
evaluated, ``&&`` stops at the first false operand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import loopy as lp
import numpy as np
import pymbolic.primitives as p
from loopy.kernel.array import VectorArrayDimTag
from loopy.kernel.instruction import MultiAssignmentBase
from loopy.library.reduction import ArgExtOp
from loopy.symbolic import (
    LinearSubscript,
    ResolvedFunction,
    SubArrayRef,
    TaggedVariable,
    TypeAnnotation,
    TypeCast,
    get_dependencies,
)
from pymbolic.mapper import Mapper

from perfmodel.counts.reading.values import (
    COMPLEX,
    INT,
    Type,
    flat_terms,
    in_memory,
    is_index,
    is_sign,
    memory_type,
    promote,
    real_part,
)
from perfmodel.errors import NotCountableError

Condition = tuple[Any, bool]  # an expression and the truth value it must have

# Real operations of pyopencl's complex helpers, for complex-complex operands.
COMPLEX_OPERATIONS: Mapping[str, tuple[tuple[str, int], ...]] = {
    "add": (("add", 2),),
    "mul": (("mul", 4), ("add", 2)),
    "div": (("div", 3), ("mul", 4), ("add", 3)),
}
# ... and where one operand is real (the key says which).
MIXED_OPERATIONS: Mapping[str, tuple[tuple[str, int], ...]] = {
    "add": (("add", 1),),
    "mul": (("mul", 2),),
    "div_real_denominator": (("div", 2),),
    "div_real_numerator": (("div", 3), ("mul", 3), ("add", 1)),
}
MINMAX = frozenset({"min", "max", "fmin", "fmax"})
FREE_FUNCTIONS = frozenset({"real", "imag", "conj", "make_tuple"})


@dataclass(frozen=True)
class Options:
    """What to count beside the default.

    Attributes
    ----------
    include_index_arithmetic : bool
        Whether integer arithmetic on inames and size parameters is counted.
    group_multiply_add : bool
        Whether a product that is added at once counts as one operation of kind ``madd``.
    """

    include_index_arithmetic: bool = False
    group_multiply_add: bool = False


@dataclass(frozen=True)
class OperationEvent:
    """An operation and the conditions under which it is reached."""

    dtype: str
    kind: str
    amount: int
    conditions: tuple[Condition, ...]
    per_lane: bool = True


@dataclass(frozen=True)
class AccessEvent:
    """An array access and the conditions under which it is reached."""

    array: str
    indices: tuple[Any, ...]
    direction: str
    conditions: tuple[Condition, ...]
    vector_axis: int | None = None


@dataclass
class Walk(Mapper):  # type: ignore[misc]
    """Walks expressions of one kernel; each method returns the C type of its expression.

    Attributes
    ----------
    in_test, in_index : int
        How deep the walk is inside a test, whose integer arithmetic is not counted, and inside
        index arithmetic, which is not counted at all.
    group_multiply_add : bool
        Whether a product that is added at once counts as one ``madd``.
    vector_iname : str
        The iname along which the instruction is vectorised, or "".
    operations, accesses : list
        What has been met so far.
    """

    kernel: lp.LoopKernel
    callables: Mapping[Any, Any]
    literal: np.dtype[Any]
    include_index_arithmetic: bool = False
    conditions: tuple[Condition, ...] = ()
    in_test: int = 0
    in_index: int = 0
    vector_iname: str = ""
    group_multiply_add: bool = False
    operations: list[OperationEvent] = field(default_factory=list)
    accesses: list[AccessEvent] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    # {{{ recording

    def note(self, dtype: Type[Any], kind: str, amount: int = 1, per_lane: bool = True) -> None:
        """Record ``amount`` operations; arithmetic on indices only where it was asked for."""
        is_index = self.in_index or (self.in_test and dtype.kind in "iub")
        if is_index and not self.include_index_arithmetic:
            return
        self.operations.append(
            OperationEvent(dtype.name, kind, amount, self.conditions, per_lane)
        )

    def walk_under(self, condition: Condition, expr: Any) -> Type[Any]:
        """Walk ``expr``, which is only evaluated where ``condition`` holds."""
        outer = self.conditions
        self.conditions = (*outer, condition)
        try:
            return self.rec(expr)
        finally:
            self.conditions = outer

    def walk_index(self, expr: Any) -> Type[Any]:
        """Walk an array index or a loop bound: index arithmetic."""
        outer = self.literal
        self.in_index += 1
        self.literal = INT
        try:
            return self.rec(expr)
        finally:
            self.in_index -= 1
            self.literal = outer

    def walk_test(self, expr: Any, literal: Type[Any] = INT) -> Type[Any]:
        """Walk (a part of) a test, whose integer arithmetic is index arithmetic."""
        outer = self.literal
        self.in_test += 1
        self.literal = literal
        try:
            return self.rec(expr)
        finally:
            self.in_test -= 1
            self.literal = outer

    def type_of(self, expr: Any) -> Type[Any]:
        """Return the type that the expression's variables give it; record nothing."""
        trial = Walk(self.kernel, self.callables, INT)
        return trial.rec(expr)

    def access(self, array: str, indices: tuple[Any, ...], direction: str) -> Type[Any]:
        """Record an access if ``array`` lives in memory; return its type."""
        variable = self.kernel.get_var_descriptor(array)
        for index in indices:
            self.walk_index(index.index if isinstance(index, LinearSubscript) else index)
        if in_memory(variable):
            axis = self.vector_axis(variable, indices)
            self.accesses.append(AccessEvent(array, indices, direction, self.conditions, axis))
        return memory_type(variable)

    def vector_axis(self, variable: Any, indices: tuple[Any, ...]) -> int | None:
        """Return the axis along which one access takes a whole vector, if there is one."""
        for axis, index in enumerate(indices if self.vector_iname else ()):
            if isinstance(variable.dim_tags[axis], VectorArrayDimTag) and (
                index == p.Variable(self.vector_iname)
            ):
                return axis
        return None

    # }}}

    # {{{ leaves

    def map_constant(self, expr: Any) -> Type[Any]:
        return expr.dtype if isinstance(expr, np.generic) else self.literal

    map_nan = map_constant

    def map_variable(self, expr: p.Variable) -> Type[Any]:
        name = expr.name
        if name in self.kernel.all_inames():
            return np.dtype(self.kernel.index_dtype.numpy_dtype)
        if name in self.kernel.arg_dict or name in self.kernel.temporary_variables:
            return self.access(name, (), "load")
        return np.dtype(np.float64)  # a symbol of the target, such as M_PI

    map_tagged_variable = map_variable

    def map_subscript(self, expr: p.Subscript) -> Type[Any]:
        return self.access(expr.aggregate.name, expr.index_tuple, "load")

    def map_linear_subscript(self, expr: LinearSubscript) -> Type[Any]:
        return self.access(expr.aggregate.name, (expr,), "load")

    def map_type_annotation(self, expr: TypeAnnotation) -> Type[Any]:
        return self.rec(expr.child)

    def map_type_cast(self, expr: TypeCast) -> Type[Any]:
        self.rec(expr.child)
        return np.dtype(expr.type.numpy_dtype)

    def map_sub_array_ref(self, expr: SubArrayRef) -> Type[Any]:
        variable = self.kernel.get_var_descriptor(expr.subscript.aggregate.name)
        return memory_type(variable)

    # }}}

    # {{{ arithmetic

    def map_sum(self, expr: p.Sum) -> Type[Any]:
        before = len(self.operations)
        terms = flat_terms(expr)
        dtype = self.fold("add", terms)
        if self.group_multiply_add:
            self.join_products(terms, before)
        return dtype

    def join_products(self, terms: list[Any], before: int) -> None:
        """Turn pairs of a sum's own additions and its terms' products into ``madd``.

        Of n terms that are products at most n - 1 meet an addition: a*b + c*d is a product and
        one ``madd``.
        """
        products = sum(isinstance(term, p.Product) and not is_index(self.kernel, term)
                       and sum(not is_sign(c) for c in term.children) > 1 for term in terms)
        for _ in range(min(products, len(terms) - 1)):
            addition = self.last("add", before)
            product = self.last("mul", before)
            if addition is None or product is None:
                return
            if self.operations[addition].dtype != self.operations[product].dtype:
                return
            self.operations.append(replace(self.operations[product], kind="madd"))
            for k in sorted((addition, product), reverse=True):
                del self.operations[k]

    def last(self, kind: str, before: int) -> int | None:
        """Return the position of the last operation of a kind under the present conditions."""
        for k in reversed(range(before, len(self.operations))):
            found = self.operations[k]
            if found.kind == kind and found.conditions == self.conditions:
                return k
        return None

    def map_product(self, expr: p.Product) -> Type[Any]:
        return self.fold("mul", [c for c in expr.children if not is_sign(c)])

    def fold(self, kind: str, children: Any) -> Type[Any]:
        """Combine children from left to right, as C does, with one operation for each.

        An operation on operands that are made of inames, integer parameters and whole numbers
        only is index arithmetic.
        """
        total, only_indices, per_lane = self.literal, True, False
        for position, child in enumerate(children):
            only_indices = only_indices and is_index(self.kernel, child)
            per_lane = per_lane or self.is_per_lane(child)
            dtype = self.rec(child)
            if position == 0:
                total = dtype
                continue
            self.in_index += only_indices
            total = self.combine(kind, total, dtype, per_lane)
            self.in_index -= only_indices
        return total

    def is_per_lane(self, expr: Any) -> bool:
        """Whether an operation on this operand is made once for each lane of a vector."""
        return not self.vector_iname or self.vector_iname in get_dependencies(expr)

    def combine(
        self, kind: str, left: Type[Any], right: Type[Any], per_lane: bool = True
    ) -> Type[Any]:
        """Record one operation on operands of these types and return the result's type."""
        dtype = promote(left, right)
        if dtype in COMPLEX:
            real = COMPLEX[dtype]
            if (left in COMPLEX) == (right in COMPLEX):
                steps = COMPLEX_OPERATIONS[kind]
            elif kind == "div":
                side = "denominator" if left in COMPLEX else "numerator"
                steps = MIXED_OPERATIONS[f"div_real_{side}"]
            else:
                steps = MIXED_OPERATIONS[kind]
            for step, amount in steps:
                self.note(real, step, amount, per_lane)
        else:
            self.note(dtype, kind, 1, per_lane)
        return dtype

    def map_quotient(self, expr: p.Quotient) -> Type[Any]:
        left, right = self.rec(expr.numerator), self.rec(expr.denominator)
        if left.kind in "iub" and right.kind in "iub" and self.literal.kind == "f":
            left = right = self.literal
        return self.combine("div", left, right)

    def map_floor_div(self, expr: p.FloorDiv | p.Remainder) -> Type[Any]:
        outer = self.literal
        self.literal = INT
        try:
            return self.fold("div", (expr.numerator, expr.denominator))
        finally:
            self.literal = outer

    def map_remainder(self, expr: p.Remainder) -> Type[Any]:
        return self.map_floor_div(expr)

    def map_power(self, expr: p.Power) -> Type[Any]:
        exponent = expr.exponent
        if p.is_constant(exponent) and exponent == 0:
            return self.literal
        if p.is_constant(exponent) and exponent == 1:
            return self.rec(expr.base)
        if p.is_constant(exponent) and exponent == 2:
            return self.fold("mul", (expr.base, expr.base))
        base = self.rec(expr.base)
        if base in COMPLEX and p.is_constant(exponent) and exponent in (3, 4):
            for _ in range(int(exponent) - 1):
                base = self.combine("mul", base, self.rec(expr.base))
            return base
        dtype = promote(base, self.rec(exponent))
        self.note(dtype, "pow")
        return dtype

    def map_min(self, expr: p.Min | p.Max) -> Type[Any]:
        return self.fold("minmax", expr.children)

    map_max = map_min

    def map_left_shift(self, expr: Any) -> Type[Any]:
        return self.fold("shift", (expr.shiftee, expr.shift))

    map_right_shift = map_left_shift

    def map_bitwise_and(self, expr: Any) -> Type[Any]:
        return self.fold("bitwise", expr.children)

    map_bitwise_or = map_bitwise_and
    map_bitwise_xor = map_bitwise_and

    def map_bitwise_not(self, expr: Any) -> Type[Any]:
        dtype = self.rec(expr.child)
        self.note(dtype, "bitwise")
        return dtype

    # }}}

    # {{{ tests and branches

    def map_comparison(self, expr: p.Comparison) -> Type[Any]:
        literal = real_part(promote(self.type_of(expr.left), self.type_of(expr.right)))
        self.walk_test(expr.left, literal)
        self.walk_test(expr.right, literal)
        return INT

    def map_logical_not(self, expr: p.LogicalNot) -> Type[Any]:
        self.walk_test(expr.child)
        return INT

    def map_logical_and(self, expr: p.LogicalAnd | p.LogicalOr) -> Type[Any]:
        outer = self.conditions
        goes_on = isinstance(expr, p.LogicalAnd)
        for child in expr.children:
            self.walk_test(child)
            self.conditions = (*self.conditions, (child, goes_on))
        self.conditions = outer
        return INT

    map_logical_or = map_logical_and

    def map_if(self, expr: p.If) -> Type[Any]:
        self.walk_test(expr.condition)
        then = self.walk_under((expr.condition, True), expr.then)
        otherwise = self.walk_under((expr.condition, False), expr.else_)
        return promote(then, otherwise)

    # }}}

    def map_call(self, expr: p.Call) -> Type[Any]:
        if not isinstance(expr.function, ResolvedFunction):
            raise NotCountableError(f"the function '{expr.function}'", "it is not known to Loopy")
        callable_ = self.callables[expr.function.name]
        if isinstance(callable_.name, ArgExtOp):  # compares and selects, computes nothing
            for argument in expr.parameters:
                self.rec(argument)
            return self.literal
        if not isinstance(callable_.name, str):
            raise NotCountableError(f"the call {expr}", "it is not a scalar function")
        known = callable_.arg_id_to_dtype or {}
        types = {i: np.dtype(t.numpy_dtype) for i, t in known.items() if t is not None}
        found = [self.walk_argument(a, types.get(i)) for i, a in enumerate(expr.parameters)]
        name = callable_.name
        if name in MINMAX:
            total = found[0]
            for dtype in found[1:]:
                total = self.combine("minmax", total, dtype)
            return total
        result = types.get(-1, found[0] if found else self.literal)
        if name not in FREE_FUNCTIONS:
            self.note(function_type(found, result), "pow" if name in ("pow", "powf") else name)
        return result

    def walk_argument(self, expr: Any, expected: Type[Any] | None) -> Type[Any]:
        """Walk a function's argument, whose literals take the parameter's type."""
        outer = self.literal
        self.literal = outer if expected is None else real_part(expected)
        try:
            return self.rec(expr)
        finally:
            self.literal = outer


def function_type(operands: list[Type[Any]], result: Type[Any]) -> Type[Any]:
    """Return the type that a function computes in: that of a complex operand, else its result's.

    A function that answers with an integer, such as ``isnan``, computes in its operand's type.
    """
    for dtype in operands:
        if dtype in COMPLEX or (result.kind in "iub" and dtype.kind == "f"):
            return dtype
    return result


W = TypeVar("W", bound=Walk)


def walk_instruction(
    kernel: lp.LoopKernel, callables: Mapping[Any, Any], instruction: MultiAssignmentBase,
    options: Options, vector_iname: str = "", kind: type[W] = Walk,
) -> W:
    """Return the finished walk over an assignment: its right side, then its stores."""
    targets = instruction.assignees
    first = kernel.get_var_descriptor(_assigned_name(targets[0])) if targets else None
    literal = real_part(memory_type(first)) if first is not None else INT
    walk = kind(
        kernel, callables, literal, options.include_index_arithmetic,
        vector_iname=vector_iname, group_multiply_add=options.group_multiply_add,
    )
    walk.rec(instruction.expression)
    for target in targets:
        if isinstance(target, p.Subscript):
            walk.access(target.aggregate.name, target.index_tuple, "store")
        elif isinstance(target, LinearSubscript):
            walk.access(target.aggregate.name, (target,), "store")
        elif isinstance(target, (p.Variable, TaggedVariable)):
            walk.access(target.name, (), "store")
    return walk


def _assigned_name(target: Any) -> str:
    if isinstance(target, (p.Subscript, LinearSubscript)):
        return str(target.aggregate.name)
    if isinstance(target, SubArrayRef):
        return str(target.subscript.aggregate.name)
    return str(target.name)
