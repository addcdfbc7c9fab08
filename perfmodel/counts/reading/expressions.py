"""Walks an instruction's expressions and lists what their evaluation executes.

The walk follows the C code that Loopy generates: in ``c ? a : b`` one branch is evaluated, ``&&``
stops at the first false operand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pymbolic.primitives as p
from loopy.kernel.instruction import MultiAssignmentBase
from loopy.library.reduction import ArgExtOp, ReductionOpFunction
from loopy.symbolic import LinearSubscript, ResolvedFunction, SubArrayRef, TaggedVariable

from perfmodel.counts.reading.arithmetic import ArithmeticWalk
from perfmodel.counts.reading.events import Scope
from perfmodel.counts.reading.values import COMPLEX, INT, Type, memory_type, promote, real_part
from perfmodel.errors import NotCountableError

MINMAX = frozenset({"min", "max", "fmin", "fmax"})
FREE_FUNCTIONS = frozenset({"real", "imag", "conj", "make_tuple"})


class Walk(ArithmeticWalk):
    """Walks all expressions: beside leaves and arithmetic the tests, branches and calls."""

    def assignment(self, instruction: MultiAssignmentBase) -> None:
        """Walk an assignment: its right side, then its stores."""
        targets = instruction.assignees
        first = self.kernel.get_var_descriptor(_assigned_name(targets[0])) if targets else None
        scope = Scope(INT if first is None else real_part(memory_type(first)))
        self.rec(instruction.expression, scope)
        for target in targets:
            if isinstance(target, p.Subscript):
                self.access(target.aggregate.name, target.index_tuple, "store", scope.at(target.aggregate))
            elif isinstance(target, LinearSubscript):
                self.access(target.aggregate.name, (target,), "store", scope.at(target.aggregate))
            elif isinstance(target, (p.Variable, TaggedVariable)):
                self.access(target.name, (), "store", scope.at(target))

    # {{{ tests and branches

    def map_comparison(self, expr: p.Comparison, scope: Scope) -> Type[Any]:
        inner = scope.of_test(real_part(promote(self.type_of(expr.left), self.type_of(expr.right))))
        self.rec(expr.left, inner)
        self.rec(expr.right, inner)
        return INT

    def type_of(self, expr: Any) -> Type[Any]:
        """Return the type that the expression's variables give it; record nothing."""
        return Walk(self.kernel, self.callables).rec(expr, Scope(INT))

    def map_logical_not(self, expr: p.LogicalNot, scope: Scope) -> Type[Any]:
        self.rec(expr.child, scope.of_test())
        return INT

    def map_logical_and(self, expr: p.LogicalAnd | p.LogicalOr, scope: Scope) -> Type[Any]:
        goes_on = isinstance(expr, p.LogicalAnd)
        for child in expr.children:
            self.rec(child, scope.of_test())
            scope = scope.under((child, goes_on))
        return INT

    map_logical_or = map_logical_and

    def map_if(self, expr: p.If, scope: Scope) -> Type[Any]:
        self.rec(expr.condition, scope.of_test())
        then = self.rec(expr.then, scope.under((expr.condition, True)))
        otherwise = self.rec(expr.else_, scope.under((expr.condition, False)))
        return promote(then, otherwise)

    # }}}

    def map_call(self, expr: p.Call, scope: Scope) -> Type[Any]:
        if not isinstance(expr.function, ResolvedFunction):
            raise NotCountableError(f"the function '{expr.function}'", "it is not known to Loopy")
        function = self.callables[expr.function.name]
        name = function.name
        if isinstance(name, ArgExtOp):  # compares and selects, computes nothing
            for argument in expr.parameters:
                self.rec(argument, scope)
            return scope.literal
        if isinstance(name, ReductionOpFunction):
            raise NotCountableError(
                f"the reduction {name.reduction_op}", "what it computes depends on data, at each step",
                "write its steps as assignments, or leave it out with within=",
            )
        if not isinstance(name, str):
            raise NotCountableError(f"the call {expr}", "it is not a scalar function")
        known = function.arg_id_to_dtype or {}
        types = {i: np.dtype(t.numpy_dtype) for i, t in known.items() if t is not None}
        found = [
            self.rec(argument, scope._replace(literal=real_part(types[i])) if i in types else scope)
            for i, argument in enumerate(expr.parameters)
        ]
        if name in MINMAX:
            total = found[0]
            for dtype in found[1:]:
                total = self.combine("minmax", total, dtype, scope)
            return total
        result = types.get(-1, found[0] if found else scope.literal)
        if name not in FREE_FUNCTIONS:
            self.note(_function_type(found, result), "pow" if name in ("pow", "powf") else name, scope)
        return result


def _function_type(operands: list[Type[Any]], result: Type[Any]) -> Type[Any]:
    """Return the type that a function computes in: that of a complex operand, else its result's.

    A function that answers with an integer, such as ``isnan``, computes in its operand's type.
    """
    for dtype in operands:
        if dtype in COMPLEX or (result.kind in "iub" and dtype.kind == "f"):
            return dtype
    return result


def _assigned_name(target: Any) -> str:
    if isinstance(target, (p.Subscript, LinearSubscript)):
        return str(target.aggregate.name)
    if isinstance(target, SubArrayRef):
        return str(target.subscript.aggregate.name)
    return str(target.name)
