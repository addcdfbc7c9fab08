"""Parses the text of an expression to pymbolic, with errors that point into the text."""

import ast
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, NoReturn

import pymbolic.primitives as prim

from perfmodel.errors import FamilyError, underlined
from perfmodel.expressions import functions
from perfmodel.expressions.functions import FUNCTIONS, Function, Interval, call
from perfmodel.expressions.trees import extent
from perfmodel.features import nearest_names

MOST_CHARACTERS = 20_000
MOST_LEVELS = 100  # mappers of trees recurse
MOST_NODES = 1_600  # the size of derivatives grows with its square
MOST_WITH_PARTS = 12_000  # the same after parts and sums are substituted

_COMPARISONS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_ROUNDING = {ast.FloorDiv: "floor(a / b)", ast.Mod: "a - b*floor(a / b)"}
_CALLABLE = ", ".join(("where", *FUNCTIONS))
_LANGUAGE = f"use + - * / ** and {_CALLABLE}"


def expression_error(text: str, start: int, end: int, problem: str, advice: str) -> FamilyError:
    """Return the error that underlines the characters of an expression from `start` to `end`."""
    return FamilyError(f"{problem}\n{underlined(text, start, end)}\n{advice}", text=text, start=start, end=end)


@dataclass(frozen=True)
class Subexpression:
    """A piece of an expression: a pymbolic tree, its range for inputs from 0 up, and whether it contains a weight."""

    tree: Any
    range: Interval = (0.0, math.inf)
    weighted: bool = False


@dataclass
class Parser:
    """Parser of one text into a subexpression.

    `terms` has the subexpression of each defined name. `known` returns whether another name is a feature. After
    parsing, `sign_lost_at` is the first node that can be negative although its parts cannot.
    """

    text: str
    terms: Mapping[str, Subexpression]
    known: Callable[[str], bool]
    sign_lost_at: ast.expr | None = field(default=None, init=False)

    def parse(self) -> Subexpression:
        """Return the subexpression of the whole text."""
        if len(self.text) > MOST_CHARACTERS:
            self._refuse(f"this expression has {len(self.text)} characters; {MOST_CHARACTERS} are allowed at most")
        try:
            # Parentheses let an expression run over several lines.
            body = ast.parse(f"({self.text or '?'}\n)", mode="eval").body
            nodes = sum(isinstance(node, ast.expr) for node in ast.walk(body))
            if nodes > MOST_NODES:
                self._refuse(f"this expression has {nodes} names and operations; {MOST_NODES} are allowed at most")
            term = self.term(body)
        except SyntaxError as error:
            at = self._offset(error.lineno or 1, max(0, (error.offset or 1) - 1))
            at = min(max(at, 0), max(0, len(self.text) - 1))
            problem = f"this is not an expression ({error.msg})"
            raise expression_error(self.text, at, at + 1, problem, _LANGUAGE) from error
        except (RecursionError, MemoryError):
            self._refuse("this expression nests too deep")
        levels, nodes = extent(term.tree)
        if levels > MOST_LEVELS or nodes > MOST_WITH_PARTS:
            self._refuse(
                f"with its parts written out, this expression has {levels} levels and {nodes:.9g} nodes; "
                f"{MOST_LEVELS} and {MOST_WITH_PARTS} are allowed at most"
            )
        return term

    def _refuse(self, problem: str) -> NoReturn:
        advice = "write a shorter one, or sum features by patterns"
        raise expression_error(self.text, 0, len(self.text), problem, advice)

    def term(self, node: ast.expr) -> Subexpression:
        """Return the term of a node of Python's syntax tree."""
        match node:
            case ast.Constant():
                return self._constant(node)
            case ast.Name():
                return self._name(node)
            case ast.UnaryOp():
                return self._unary(node)
            case ast.BinOp():
                return self._binary(node)
            case ast.Call():
                return self._call(node)
            case ast.IfExp():
                return self._choice(node.test, node.body, node.orelse)
        return self._foreign(node)

    def _foreign(self, node: ast.expr) -> NoReturn:
        self.fail(node, "this is not in the language of expressions", _LANGUAGE)

    def fail(self, node: ast.expr, problem: str, advice: str) -> NoReturn:
        """Raise the error that points to a node."""
        start = self._offset(node.lineno, node.col_offset)
        end = self._offset(node.end_lineno or 0, node.end_col_offset or 0)
        raise expression_error(self.text, start, end, problem, advice)

    def _offset(self, line: int, column: int) -> int:
        lines = self.text.splitlines(keepends=True)
        return sum(map(len, lines[: line - 1])) + column - (1 if line == 1 else 0)

    def _constant(self, node: ast.Constant) -> Subexpression:
        value = node.value
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.fail(node, f"{value!r} is not a number", _LANGUAGE)
        if not abs(value) <= sys.float_info.max:
            self.fail(node, "this number is too large for a double", f"write one up to {sys.float_info.max:.1e}")
        return Subexpression(value, (float(value), float(value)))

    def _name(self, node: ast.Name) -> Subexpression:
        name = node.id
        if name in self.terms:
            return self._watched(node, self.terms[name])
        if name.startswith("w_"):
            return Subexpression(prim.Variable(name), weighted=True)
        if self.known(name):
            return Subexpression(prim.Variable(name))
        near = nearest_names(name, [*self.terms, *FUNCTIONS])
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        return self.fail(
            node, f"'{name}' is neither a feature nor a weight",
            f"{hint}Weights begin with w_; features are named like op_float32_add or launches",
        )  # fmt: skip

    def _unary(self, node: ast.UnaryOp) -> Subexpression:
        inner = self.term(node.operand)
        if isinstance(node.op, ast.UAdd):
            return inner
        if not isinstance(node.op, ast.USub):
            self._foreign(node)
        tree = -inner.tree if isinstance(inner.tree, int | float) else prim.Product((-1, inner.tree))
        return self._watched(node, Subexpression(tree, functions.negative(inner.range), inner.weighted), inner)

    def _sum(self, node: ast.BinOp) -> Subexpression:
        first, links = chain(node)
        total = self.term(first)
        trees = [total.tree]
        for link in links:
            right = self.term(link.right)
            minus = isinstance(link.op, ast.Sub)
            trees.append(prim.Product((-1, right.tree)) if minus else right.tree)
            interval = functions.plus(total.range, functions.negative(right.range) if minus else right.range)
            made = Subexpression(prim.Sum(tuple(trees)), interval, total.weighted or right.weighted)
            total = self._watched(link, made, total, right)
        return total

    def _binary(self, node: ast.BinOp) -> Subexpression:
        if isinstance(node.op, ast.Add | ast.Sub):
            return self._sum(node)
        left, right = self.term(node.left), self.term(node.right)
        a, b = left.tree, right.tree
        weighted = left.weighted or right.weighted
        match node.op:
            case ast.Mult():
                tree, interval = prim.Product((a, b)), functions.times(left.range, right.range)
            case ast.Div():
                tree, interval = prim.Quotient(a, b), functions.over(left.range, right.range)
            case ast.Pow():
                tree, interval = prim.Power(a, b), functions.power(left.range, right.range)
            case ast.FloorDiv() | ast.Mod():
                self.fail(
                    node, "this is not differentiable, since it jumps",
                    f"write {_ROUNDING[type(node.op)]}, with a and b without weights",
                )  # fmt: skip
            case _:
                self._foreign(node)
        return self._watched(node, Subexpression(tree, interval, weighted), left, right)

    def _call(self, node: ast.Call) -> Subexpression:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name == "where" and len(node.args) == 3 and not node.keywords:
            return self._choice(*node.args)
        function = FUNCTIONS.get(name)
        if function is None or node.keywords:
            self.fail(node.func, "there is no such function", f"choose one of: {_CALLABLE}")
        given = [self.term(argument) for argument in node.args]
        self._check_arguments(node, name, function, given)
        return self._watched(node, _applied(name, function, given), *given)

    def _check_arguments(self, node: ast.Call, name: str, function: Function, given: Sequence[Subexpression]) -> None:
        if not (len(given) == function.arguments or (function.more and len(given) > 2)):
            wanted = f"{function.arguments} arguments" + (" or more" if function.more else "")
            self.fail(node, f"{name} has {len(given)} arguments here", f"give it {wanted}")
        if name == "smooth_max" and given[2].range[1] <= 0:
            advice = "give a number above 0: 1 is the sum, 64 about the maximum"
            self.fail(node.args[2], "this sharpness is zero or below", advice)
        if function.derivatives is None and any(term.weighted for term in given):
            self.fail(
                node, f"{name} is not differentiable, since it jumps, and it contains a weight",
                f"use {name} only on features",
            )  # fmt: skip

    def _choice(self, test: ast.expr, yes: ast.expr, no: ast.expr) -> Subexpression:
        condition, then, other = self._condition(test), self.term(yes), self.term(no)
        tree = prim.If(condition, then.tree, other.tree)
        return Subexpression(tree, functions.hull(then.range, other.range), then.weighted or other.weighted)

    def _condition(self, node: ast.expr) -> Any:
        if isinstance(node, ast.BoolOp):
            parts = tuple(self._condition(value) for value in node.values)
            return prim.LogicalAnd(parts) if isinstance(node.op, ast.And) else prim.LogicalOr(parts)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return prim.LogicalNot(self._condition(node.operand))
        if not (isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARISONS):
            self.fail(node, "this is not a condition", "write one like work_groups < 8 or join such by and, or, not")
        left, right = self.term(node.left), self.term(node.comparators[0])
        return prim.Comparison(left.tree, _COMPARISONS[type(node.ops[0])], right.tree)

    def _watched(self, node: ast.expr, made: Subexpression, *parts: Subexpression) -> Subexpression:
        """Return the term. Set :attr:`sign_lost_at` if this term is the first that can become negative."""
        if self.sign_lost_at is None and made.range[0] < 0 <= min((part.range[0] for part in parts), default=0):
            self.sign_lost_at = node
        return made


def _applied(name: str, function: Function, given: Sequence[Subexpression]) -> Subexpression:
    """Return the call of a function. ``max`` and ``min`` combine two arguments at a time, from left to right."""

    def applied(*terms: Subexpression) -> Subexpression:
        tree = call(name, *(term.tree for term in terms))
        interval = function.interval(*(term.range for term in terms))
        return Subexpression(tree, interval, any(term.weighted for term in terms))

    return reduce(applied, given) if function.more else applied(*given)


def chain(node: ast.expr) -> tuple[ast.expr, list[ast.BinOp]]:
    """Return the first operand of a chain of sums and differences, and the nodes that add the others to it."""
    links: list[ast.BinOp] = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        links.append(node)
        node = node.left
    return node, links[::-1]
