"""Translate C expressions to Python expressions that also note their array accesses and operations.

What is counted: arithmetic on values, comparisons and ``? :``. What is not: logical operators, casts, unary minus and a
factor of -1; and index arithmetic, which is that of integers in subscripts, in loop bounds, and in tests of work-item
ids, loop variables and integer arguments alone. That in subscripts and in tests of ``? :`` is noted separately.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from pycparser import c_ast, c_generator

from .dtypes import INT, LONG, REAL_OF_COMPLEX, CType, c_type, common, promoted
from .functions import IN_INDEX, NEGATION, call, random123
from .source import UnsupportedCode

VALUE, BOUND, INDEX = "value", "bound", "index"  # integer arithmetic counts, does not, or is noted separately
_KINDS = {
    "+": "add", "-": "add", "*": "mul", "/": "div", "%": "div", "<<": "shift", ">>": "shift", "&": "bitwise",
    "|": "bitwise", "^": "bitwise"
}  # fmt: skip
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
_LOGICAL = {"&&": "and", "||": "or"}
_FLOAT, _DOUBLE = CType("float32"), CType("float64")
_CONSTANTS = {
    "INFINITY": ("inf", _FLOAT), "NAN": ("nan", _FLOAT), "HUGE_VALF": ("inf", _FLOAT), "HUGE_VAL": ("inf", _DOUBLE),
    "FLT_MAX": ("3.4028234663852886e38", _FLOAT), "DBL_MAX": ("1.7976931348623157e308", _DOUBLE),
    "M_PI": ("3.141592653589793", _DOUBLE), "INT_MIN": (str(-(2**31)), INT), "INT_MAX": (str(2**31 - 1), INT),
    "LONG_MIN": (str(-(2**63)), LONG), "LONG_MAX": (str(2**63 - 1), LONG), "true": ("1", INT), "false": ("0", INT)
}  # fmt: skip

Translated = tuple[str, CType]


@dataclass(frozen=True)
class Variable:
    """A C name: its Python name, its type and its role.

    Roles: ``index`` (loop variables, size parameters and integers made from them), ``scalar``, ``cell`` (a scalar whose
    address is taken, in a list of one element), ``array`` (a dictionary by address).
    """

    python: str
    type: CType
    role: str
    space: str = "private"
    root: str = ""
    offset: str = ""

    def moved(self, offset: str) -> "Variable":
        return replace(self, offset=offset)


@dataclass(frozen=True)
class Occurrence:
    number: int
    space: str
    direction: str
    array: str
    type: CType
    text: str


@dataclass
class Notes:
    """Filled while translating: where arrays are accessed, and what each stretch of code computes."""

    occurrences: list[Occurrence] = field(default_factory=list)
    sites: list[Counter[tuple[str, str]]] = field(default_factory=list)
    local_arrays: list[str] = field(default_factory=list)
    helpers: dict[str, list[str]] = field(default_factory=dict)

    def occurrence(self, variable: Variable, direction: str, kind: CType, text: str) -> int:
        number = len(self.occurrences)
        self.occurrences.append(Occurrence(number, variable.space, direction, variable.root, kind, text))
        return number

    def site(self, operations: Counter[tuple[str, str]]) -> int:
        self.sites.append(operations)
        return len(self.sites) - 1


def text_of(node: c_ast.Node) -> str:
    return str(c_generator.CGenerator().visit(node))


def _number(literal: str) -> Translated:
    text = literal.lower()
    if text.startswith("0x"):
        return str(int(text.rstrip("ul"), 16)), INT
    if any(mark in text for mark in ".ef"):
        return repr(float(text.rstrip("fl"))), CType("float32" if text.endswith("f") else "float64")
    kind = LONG if "l" in text or abs(int(text.rstrip("ul"))) >= 2**31 else INT
    return text.rstrip("ul"), CType("u" + kind.dtype) if "u" in text else kind


def is_minus_one(node: c_ast.Node) -> bool:
    negative = isinstance(node, c_ast.UnaryOp) and node.op == "-" and isinstance(node.expr, c_ast.Constant)
    return negative and float(_number(node.expr.value)[0]) == 1


def is_literal(node: c_ast.Node) -> bool:
    return isinstance(node.expr if isinstance(node, c_ast.UnaryOp) else node, c_ast.Constant)


def is_sign(node: c_ast.Node) -> bool:
    """Whether a factor is -1, or a product of such: Loopy writes ``-(-x)`` as ``-1.0 * -1.0 * x``."""
    if isinstance(node, c_ast.BinaryOp) and node.op == "*":
        return is_sign(node.left) and is_sign(node.right)
    return is_minus_one(node)


def lane_of(node: c_ast.StructRef) -> int:
    """The component that ``.s0`` to ``.sf``, or ``.x`` to ``.w``, of a vector means."""
    name: str = node.field.name
    return "xyzw".index(name) if name in "xyzw" else int(name.removeprefix("s"), 16)


class Expressions:
    """Translates the expressions of one function; *operations* collects what the current stretch of code computes."""

    def __init__(self, notes: Notes, scope: Mapping[str, Variable], key: str) -> None:
        self.notes = notes
        self.scope = dict(scope)
        self.key = key  # the Python name of the tuple of loop variables in force
        self.operations: Counter[tuple[str, str]] = Counter()

    def is_index(self, node: c_ast.Node) -> bool:
        """Is this made of work-item ids, loop variables, integer arguments and literals alone?"""
        if isinstance(node, c_ast.ID):
            return node.name not in self.scope or self.scope[node.name].role == "index"
        if isinstance(node, c_ast.FuncCall):
            return all(map(self.is_index, node.args.exprs if node.args else []))
        return not isinstance(node, c_ast.ArrayRef) and all(self.is_index(child) for _, child in node.children())

    def test(self, node: c_ast.Node, mode: str) -> str:
        """The Python text of a branch's condition; a test of indices is index arithmetic, of the kind *mode*."""
        if isinstance(node, c_ast.UnaryOp) and node.op == "!":
            return f"(not {self.test(node.expr, mode)})"
        if isinstance(node, c_ast.BinaryOp) and node.op in _LOGICAL:
            left = self.test(node.left, mode)
            return f"({left} {_LOGICAL[node.op]} {self._sometimes(lambda: (self.test(node.right, mode), INT))[0]})"
        return self.translate(node, mode if self.is_index(node) else VALUE)[0]

    def index(self, node: c_ast.Node) -> str:
        return self.translate(node, INDEX)[0]

    def bound(self, node: c_ast.Node) -> str:
        return self.translate(node, BOUND)[0]

    def translate(self, node: c_ast.Node, mode: str) -> Translated:
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise UnsupportedCode(f"{type(node).__name__}: {text_of(node)}")
        translated: Translated = method(node, mode)
        return translated

    def _count(self, kind: CType, operation: str, mode: str, times: int = 1) -> None:
        if mode == VALUE or not kind.integral:
            self.operations[kind.dtype, operation] += times * kind.lanes
        elif mode == INDEX:
            self.operations[kind.dtype, IN_INDEX + operation] += times * kind.lanes

    def _constant(self, node: c_ast.Constant, mode: str) -> Translated:
        return _number(node.value)

    def _id(self, node: c_ast.ID, mode: str) -> Translated:
        if node.name not in self.scope:
            if node.name in _CONSTANTS:
                return _CONSTANTS[node.name]
            raise UnsupportedCode(f"unknown name {node.name}")
        variable = self.scope[node.name]
        if variable.role == "array":  # a zero-dimensional array in local memory
            return self.load(variable, "0", text_of(node)), variable.type
        return variable.python + ("[0]" if variable.role == "cell" else ""), variable.type

    def _unaryop(self, node: c_ast.UnaryOp, mode: str) -> Translated:
        if node.op == "*":
            variable = self.scope[node.expr.name]
            if variable.role == "cell":
                return f"{variable.python}[0]", variable.type
            return self.load(variable, "0", text_of(node)), variable.type
        operand, kind = self.translate(node.expr, mode)
        if node.op == "~":
            self._count(promoted(kind), "bitwise", mode)
        if node.op == "!":
            return f"(not {operand})", INT
        return f"({node.op}{operand})", promoted(kind)

    def _binaryop(self, node: c_ast.BinaryOp, mode: str) -> Translated:
        if node.op in _LOGICAL:
            left, _ = self.translate(node.left, mode)
            right = self._sometimes(lambda: self.translate(node.right, mode))[0]
            return f"({left} {_LOGICAL[node.op]} {right})", INT
        if node.op in _COMPARISONS:
            (left, left_type), (right, right_type) = self.translate(node.left, mode), self.translate(node.right, mode)
            self._count(common(left_type, right_type), "compare", mode)
            return f"({left} {node.op} {right})", INT
        (left, left_type), (right, right_type) = self.translate(node.left, mode), self.translate(node.right, mode)
        kind = promoted(left_type) if node.op in ("<<", ">>") else common(left_type, right_type)
        negation = node.op == "*" and (is_sign(node.left) or is_sign(node.right))
        self._count(kind, NEGATION if negation else _KINDS[node.op], mode)
        if node.op in "/%" and kind.integral:
            return f"{'quotient' if node.op == '/' else 'remainder'}({left}, {right})", kind
        if node.op == "/" and not isinstance(node.right, c_ast.Constant):
            return f"divided({left}, {right})", kind
        return f"({left} {node.op} {right})", kind

    def _sometimes(self, translate: Callable[[], Translated]) -> Translated:
        """An operand that is not always evaluated: its operations are counted when it is."""
        before, self.operations = self.operations, Counter()
        text, kind = translate()
        inner, self.operations = self.operations, before
        return (f"({text} if hit({self.notes.site(inner)}) else 0)" if inner else text), kind

    def _ternaryop(self, node: c_ast.TernaryOp, mode: str) -> Translated:
        condition = self.test(node.cond, INDEX) if mode == VALUE else self.translate(node.cond, mode)[0]
        true, true_type = self._sometimes(lambda: self.translate(node.iftrue, mode))
        false, false_type = self._sometimes(lambda: self.translate(node.iffalse, mode))
        kind = promoted(true_type) if true_type == false_type else common(true_type, false_type)
        real = CType(REAL_OF_COMPLEX.get(kind.dtype, kind.dtype), kind.lanes)
        self._count(real, "select", mode, 2 if kind.complex else 1)
        return f"({true} if {condition} else {false})", kind

    def _cast(self, node: c_ast.Cast, mode: str) -> Translated:
        kind = c_type(" ".join(node.to_type.type.type.names))
        if isinstance(node.expr, c_ast.ExprList):
            parts = [self.translate(part, mode)[0] for part in node.expr.exprs]
            return f"Vec(({', '.join(parts)},))", kind
        operand, was = self.translate(node.expr, mode)
        return (f"int({operand})" if kind.integral and not was.integral and was.lanes == 1 else operand), kind

    def _funccall(self, node: c_ast.FuncCall, mode: str) -> Translated:
        name = node.name.name
        arguments = node.args.exprs if node.args else []
        if name in ("lid", "gid"):
            return f"{name}{arguments[0].value}", INT
        if name in self.notes.helpers:
            return self.helper_call(name, arguments, mode)
        random = random123(name)
        if random is not None:
            if not isinstance(arguments[2].expr, c_ast.ID):
                raise UnsupportedCode(f"a new counter in an array: {text_of(node)}")
            self._count(random, name.removesuffix("_gen"), mode)
            counter, cell = self.translate(arguments[0], mode)[0], self.scope[arguments[2].expr.name]
            return f"random_numbers({counter}, {cell.python})", random
        translated = [self.translate(argument, mode) for argument in arguments]
        found = call(name, tuple(kind for _, kind in translated), bool(arguments) and is_minus_one(arguments[0]))
        if found is None:
            raise UnsupportedCode(f"unknown function {name}")
        function, result, operations = found
        if re.match(r"loopy_pow_float\d+_u?int\d+$", name) and not is_literal(arguments[1]):
            operations = tuple((dtype, "intpow", times) for dtype, _, times in operations)
        for dtype, kind, times in operations:
            self._count(CType(dtype), kind, mode, times)
        return f"f_{function}({', '.join(text for text, _ in translated)})", result

    def helper_call(self, name: str, arguments: list[c_ast.Node], mode: str) -> Translated:
        """A call of a function of the program that returns a value; scalars and addresses of scalars go in.

        One that calls a library whose code is not here is one operation with its own name.
        """
        by_address = [isinstance(argument, c_ast.UnaryOp) and argument.op == "&" for argument in arguments]
        values = [
            (self.scope[argument.expr.name].python, INT) if address else self.translate(argument, mode)
            for argument, address in zip(arguments, by_address, strict=True)
        ]
        texts, result = ", ".join(text for text, _ in values), c_type(self.notes.helpers[name][0])
        if self.notes.helpers[name][1:]:
            return f"h_{name}({texts})", result
        kind = next((kind for _, kind in values if kind.complex), result)
        self._count(kind, name.removesuffix("_complex"), mode)
        return f"opaque({'complex' if result.complex else 'real'!r}, {texts})", result

    def _arrayref(self, node: c_ast.ArrayRef, mode: str) -> Translated:
        variable = self.array(node)
        return self.load(variable, self.index(node.subscript), text_of(node)), variable.type

    def _structref(self, node: c_ast.StructRef, mode: str) -> Translated:
        lane = lane_of(node)
        if not isinstance(node.name, c_ast.ArrayRef):
            text, kind = self.translate(node.name, mode)
            return f"{text}[{lane}]", CType(kind.dtype)
        variable = self.array(node.name)
        index, lanes, kind = self.index(node.name.subscript), variable.type.places, CType(variable.type.dtype)
        number = self.notes.occurrence(variable, "load", kind, text_of(node))
        address = f"{lanes}*({self.address(variable, index)}) + {lane}"
        return f"{variable.python}[(L{number}(({self.key}, lane, t := {address})) or t) // {lanes}][{lane}]", kind

    def array(self, node: c_ast.ArrayRef) -> Variable:
        if not isinstance(node.name, c_ast.ID):
            raise UnsupportedCode(f"nested subscript {text_of(node)}")
        return self.scope[node.name.name]

    @staticmethod
    def address(variable: Variable, index: str) -> str:
        return f"{variable.offset} + {index}" if variable.offset else index

    def load(self, variable: Variable, index: str, text: str) -> str:
        """Read an array element, noting who read which address in which iteration."""
        number = self.notes.occurrence(variable, "load", variable.type, text)
        return f"{variable.python}[L{number}(({self.key}, lane, t := {self.address(variable, index)})) or t]"

    def store(self, variable: Variable, index: str, text: str) -> str:
        number = self.notes.occurrence(variable, "store", variable.type, text)
        return f"{variable.python}[L{number}(({self.key}, lane, t := {self.address(variable, index)})) or t]"
