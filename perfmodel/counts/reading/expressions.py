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

from perfmodel.counts.reading.accesses import array_access, member_access
from perfmodel.counts.reading.arithmetic import ArithmeticWalk
from perfmodel.counts.reading.events import Scope
from perfmodel.counts.reading.target.vectors import member_of
from perfmodel.counts.reading.values import COMPLEX, INT, Type, memory_type, promote, real_part
from perfmodel.errors import NotCountableError

FLOAT, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
MINMAX = frozenset({"min", "max", "fmin", "fmax"})
ADDRESSES = frozenset({"indexof", "indexof_vec"})  # of an element, in cells: nothing is read
FREE_FUNCTIONS = frozenset({"real", "imag", "conj", "make_tuple"})


class Walk(ArithmeticWalk):
    """Walks all expressions: beside leaves and arithmetic the tests, branches and calls."""

    def assignment(self, instruction: MultiAssignmentBase) -> None:
        """Walk an assignment: its right side, then its stores."""
        targets = instruction.assignees
        variables = (self.kernel.arg_dict, self.kernel.temporary_variables)
        used = [known[name] for name in instruction.dependency_names() for known in variables if name in known]
        self.has_complex = any(memory_type(variable) in COMPLEX for variable in used)
        scope = Scope(real_part(self.assigned_type(targets[0])) if targets else INT)
        self.rec(instruction.expression, scope)
        unread = {entry.var_name for entry in instruction.atomicity} - instruction.read_dependency_names()
        for target in targets:
            whole, member = member_access(target)
            if isinstance(whole, (p.Subscript, LinearSubscript, p.Variable, TaggedVariable)):
                name, indices = array_access(whole)
                if name in unread:  # an atomic store compares the old value
                    self.access(name, indices, "load", scope.at(whole), member)
                self.access(name, indices, "store", scope.at(whole), member)

    def assigned_type(self, target: Any) -> Type[Any]:
        """Return the type in memory of what is assigned."""
        whole, member = member_access(target)
        whole = whole.subscript if isinstance(whole, SubArrayRef) else whole
        return member_of(memory_type(self.kernel.get_var_descriptor(array_access(whole)[0])), member)[0]

    # {{{ tests and branches

    def map_comparison(self, expr: p.Comparison, scope: Scope) -> Type[Any]:
        inner = scope.of_test(real_part(promote(self.type_of(expr.left), self.type_of(expr.right))))
        self.rec(expr.left, inner)
        self.rec(expr.right, inner)
        return INT

    def type_of(self, expr: Any) -> Type[Any]:
        """Return the type that the expression's variables give it; record nothing."""
        return TypeWalk(self.kernel, self.callables).rec(expr, Scope(INT))

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
        name = self.function_name(expr)
        if isinstance(name, ArgExtOp):  # compares and selects, computes nothing
            for argument in expr.parameters:
                self.rec(argument, scope)
            return scope.literal
        if name in ADDRESSES:
            for index in array_access(expr.parameters[0])[1]:
                self.rec(index, scope.of_index())
            return np.dtype(self.kernel.index_dtype.numpy_dtype)
        known = self.callables[expr.function.name].arg_id_to_dtype or {}
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
        if name not in FREE_FUNCTIONS and not _makes_vector(name):
            computed = _function_type(found, result)
            self.note(computed, _kind(name, computed), scope)
        return result

    def function_name(self, expr: p.Call) -> str | ArgExtOp:
        """Return the name of a function that can be counted."""
        if not isinstance(expr.function, ResolvedFunction):
            raise NotCountableError(f"the function '{expr.function}'", "it is not known to Loopy")
        name = self.callables[expr.function.name].name
        if isinstance(name, ReductionOpFunction) and not isinstance(name, ArgExtOp):
            raise NotCountableError(
                f"the reduction {name.reduction_op}", "what it computes depends on data, at each step",
                "write its steps as assignments, or leave it out with within=",
            )
        if not isinstance(name, (str, ArgExtOp)):
            raise NotCountableError(f"the call {expr}", "it is not a scalar function")
        return name


class TypeWalk(Walk):
    """Finds the type of an expression as Loopy infers it, without a context."""

    def map_constant(self, expr: Any, scope: Scope) -> Type[Any]:
        if isinstance(expr, np.generic):
            return expr.dtype
        if type(expr) is not float:
            return super().map_constant(expr, scope)
        return FLOAT if float(FLOAT.type(expr)) == expr else DOUBLE

    def map_quotient(self, expr: p.Quotient, scope: Scope) -> Type[Any]:
        found = promote(self.rec(expr.numerator, scope), self.rec(expr.denominator, scope))
        return DOUBLE if found.kind in "iub" else found


def _makes_vector(name: str) -> bool:
    """Whether a function only puts components together, such as ``make_float4``."""
    return name.startswith("make_") and name[-1].isdigit()


def _kind(name: str, dtype: Type[Any]) -> str:
    """Return the kind of operation that a function is: ``abs`` of a real number is ``fabs`` in the generated code."""
    if name == "abs" and dtype.kind == "f":
        return "fabs"
    return "pow" if name in ("pow", "powf") else name


def _function_type(operands: list[Type[Any]], result: Type[Any]) -> Type[Any]:
    """Return the type that a function computes in: that of a complex operand, else its result's.

    A function that answers with an integer, such as ``isnan`` and ``abs``, computes in its operand's type.
    """
    for dtype in operands:
        if dtype in COMPLEX or result.kind in "iub":
            return dtype
    return result
