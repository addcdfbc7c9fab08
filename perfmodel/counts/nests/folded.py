"""The operations of a nest that remain after constant folding, reuse of values and loop-invariant code motion.

Counts are of the generated code. Quantities use the operations that remain by these rules:

- An operation on literals alone is folded: ``1.0/4.0``.
- A quotient by a power of two is a product: ``x/2.0``.
- A quotient or remainder of an integer by a literal is the high half of a product (``mulhi``), shifts, and what a sign
  needs. By a power of two it is a shift.
- Factors and divisors 1 and -1 are free. Adding 0 to an integer is free.
- A power with an integer literal is products: ``x**3`` is two. A negative literal adds a division. Loopy calls a
  function that squares in a loop, and the compiler knows the loop's trips. For another integer
  exponent the loop remains: an ``intpow``, and the products of an exponent from 4 to 7, since data decide their number.
- A vector function is its operations: ``dot`` of two float4 is four products and three sums.
- A complex function is the real functions that it calls: ``exp`` of a complex number is an exponential, and a sine and
  a cosine together.
- Equal values are computed once in a nest, unless the first computation is behind a test that the later ones are not
  behind: ``a/b if a/b > c else c`` divides once.
- A value that a loop does not change is computed before the loop. Copies of an unrolled loop share such values.

Other float divisions stay, and so does adding 0 to a float: compilers keep rounding and the sign of zero. A power with
an exponent such as 3.0 is a call. The sine and the cosine of one angle are two calls in PoCL's library.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby, takewhile
from typing import NamedTuple

from perfmodel.counts.program.program import (
    NAME,
    SHARED,
    Computed,
    Domain,
    Program,
    Run,
    Statement,
    literal_of,
    nodes_in,
)

Amounts = tuple[tuple[str, int], ...]  # kinds of operations, and how many of each
#: operations of functions, for each component of a vector
MADE_OF: Mapping[str, Amounts] = {
    "fma": (("mul", 1), ("add", 1)), "mad": (("mul", 1), ("add", 1)), "mix": (("mul", 1), ("add", 2)),
    "clamp": (("minmax", 2),), "step": (("minmax", 1),), "degrees": (("mul", 1),), "radians": (("mul", 1),),
}  # fmt: skip
#: operations of functions across a vector, in addition to the sum of products
ACROSS: Mapping[str, Amounts] = {
    "dot": (), "length": (("sqrt", 1),), "distance": (("sqrt", 1),), "normalize": (("rsqrt", 1),),
}  # fmt: skip
#: real operations of complex functions, without sums and products, as PyOpenCL's header computes them
OF_COMPLEX: Mapping[str, tuple[str, ...]] = {
    "abs": ("hypot",), "sqrt": ("hypot", "sqrt", "div"), "exp": ("exp", "sincos"), "log": ("log", "hypot", "atan2"),
    "pow": ("log", "hypot", "atan2", "exp", "sincos"),
    **dict.fromkeys(("sin", "cos", "sinh", "cosh"), ("sincos", "sinh", "cosh")),
    **dict.fromkeys(("tan", "tanh"), ("sin", "cos", "sinh", "cosh")),
}  # fmt: skip
REAL = {"complex64": "float32", "complex128": "float64"}
COMMUTATIVE = ("add", "mul")
AMBIGUOUS = ("minmax", "shift", "bitwise")  # kinds that comprise several operations, so that two of one kind may differ
WHOLE = re.compile(r"-?\d+")
LOOP_PRODUCTS = 3  # of a power with an integer exponent of 2 or 3 bits: two squares, and a last product
#: Operations of a division of integers by a literal: the high half of a product, shifts, and what a sign needs;
#: of signed integers, and of unsigned ones.
OF_DIVISION = ((("mulhi", 1), ("shift", 3), ("add", 2), ("bitwise", 2)), (("mulhi", 1), ("shift", 2), ("add", 1)))
CONSTANT = math.nan  # a constant whose value no rule uses


def made_of(operation: Computed, operands: Sequence[float | None]) -> Amounts:
    """Return the operations that remain of an operation. An operand is None if it is not a literal."""
    kind, lanes, last = operation.kind, operation.lanes, operands[-1] if operands else None
    literal = next((value for value in operands if value is not None), None)
    whole, power_of_two = "int" in operation.dtype, last is not None and math.frexp(abs(last))[0] == 0.5
    if kind == "div" and last and (whole or power_of_two):
        if abs(last) == 1:
            return ()
        if whole and not power_of_two:
            return (*((part, amount * lanes) for part, amount in OF_DIVISION[operation.dtype[0] == "u"]),)
        return (("shift" if whole else "mul", lanes),)
    if literal is not None and ((kind == "mul" and abs(literal) == 1) or (kind == "add" and whole and literal == 0)):
        return ()
    if operation.dtype in REAL and kind in OF_COMPLEX:
        return tuple((part, 1) for part in OF_COMPLEX[kind])
    if kind == "pow" and last is not None and WHOLE.fullmatch(str(operation.operands[-1])):
        exponent = int(last)
        products = exponent.bit_length() + exponent.bit_count() - 2 if exponent else 0
        return ((("mul", products * lanes),) if products else ()) + ((("div", lanes),) if exponent < 0 else ())
    if kind == "intpow":
        return (("mul", LOOP_PRODUCTS * lanes), (kind, lanes))
    if kind in ACROSS:
        around = (("add", lanes),) if kind == "distance" else (("mul", lanes),) if kind == "normalize" else ()
        return (("mul", lanes), ("add", lanes - 1), *ACROSS[kind], *around)
    return tuple((part, amount * lanes) for part, amount in MADE_OF.get(kind, ((kind, 1),)))


@lru_cache(maxsize=4096)
def names_in(text: str) -> frozenset[str]:
    return frozenset(NAME.findall(text))


def covers(outer: Domain, inner: Domain) -> bool:
    """Return whether two domains are one, or the outer one has all instances of the inner one and no test of data."""
    certain = outer.chance == 1 and outer.exact and (outer.names, outer.trips) == (inner.names, inner.trips)
    return outer is inner or (certain and bool(inner.points.is_subset(outer.points)))


class LeftOperation(NamedTuple):
    """An operation that remains."""

    dtype: str
    amounts: Amounts
    domain: Domain
    names: frozenset[str] | None = None  # all that its operands depend on; None where that is not recorded


class Writer(NamedTuple):
    """An instruction that writes a variable."""

    number: int  # in the schedule
    loops: tuple[str, ...]  # around it
    names: tuple[str, ...]  # on which the value depends
    space: str


class Changes:
    """Knows which loops change which values. Arrays do not overlap, as Loopy's code declares to the compiler."""

    def __init__(self, whole: Program) -> None:
        runs = [(node.instruction, loops) for node, loops in nodes_in(whole.schedule) if isinstance(node, Run)]
        #: by instruction: its number in the schedule, and the loops around it
        self.runs = {instruction: (number, loops) for number, (instruction, loops) in enumerate(runs)}
        self.writers: dict[str, list[Writer]] = defaultdict(list)  # by variable
        for step in whole.dataflow.steps:
            for writing in step.writes if step.name in self.runs else ():
                self.writers[writing.variable].append(Writer(*self.runs[step.name], tuple(step.names), writing.space))
        self._known: dict[tuple[str, str], bool] = {}

    def changes(self, loop: str, name: str) -> bool:
        """Return whether an iname, variable or argument may differ between iterations of a loop."""
        key = loop, name
        if key not in self._known:
            self._known[key] = True  # a name that depends on its own value in the iteration before changes
            writers = [each for each in self.writers.get(name, ()) if loop in each.loops]
            self._known[key] = name == loop or any(
                each.space in SHARED or not each.names or any(self.changes(loop, other) for other in each.names)
                for each in writers
            )
        return self._known[key]

    def unneeded(self, operation: LeftOperation, loops: Sequence[str], copies: Iterable[str]) -> frozenset[str]:
        """Return the innermost loops, and the inames of copies, that do not change an operation."""
        def keeps(loop: str) -> bool:
            return operation.names is not None and not any(self.changes(loop, name) for name in operation.names)

        return frozenset((*takewhile(keeps, reversed(loops)), *filter(keeps, copies)))


class Values:
    """The values known so far, while instructions are read in the order of the schedule."""

    def __init__(self, changes: Changes) -> None:
        self.changes = changes
        self._number = 0  # of the instruction in the schedule
        self._numbers: dict[object, int] = {}  # of values: equal ones have one number
        self._known: dict[int, list[Domain]] = defaultdict(list)  # which values have been computed, and where

    def left(self, statements: Iterable[Statement]) -> Iterator[LeftOperation]:
        """Yield the remaining operations of statements. If operands are not recorded, all operations remain."""
        for (_, instruction), group in groupby(statements, key=lambda s: (s.place, s.instruction)):
            here = list(group)
            self._number = self.changes.runs.get(instruction, (self._number, ()))[0]
            if any(statement.computed for statement in here):
                yield from self._left(here)
            else:
                for statement in here:
                    for each in statement.operations:
                        yield LeftOperation(each.dtype, ((each.kind, each.amount),), statement.domain)

    def _left(self, statements: Sequence[Statement]) -> Iterator[LeftOperation]:
        literals: dict[int, float] = {}  # of operations, by their numbers, as are the next two
        names: dict[int, frozenset[str]] = {}
        values: dict[int, object] = {}
        everything = {operation.number: (operation, s.domain) for s in statements for operation in s.computed}
        for number, (operation, domain) in sorted(everything.items()):
            constants, used, needed = [], [], frozenset[str]()
            for operand in operation.operands[:2] if operation.kind == "minmax" else operation.operands:
                if isinstance(operand, str):
                    needed |= names_in(operand)
                    constants.append(literal_of(operand))
                    used.append(self._version(operand))
                else:
                    other = max(operand, ~operand)
                    needed |= names.get(other, frozenset())
                    constants.append(literals.get(other))
                    used.append((values.get(other), operand < 0))
            used = sorted(used, key=str) if operation.kind in COMMUTATIVE else used
            alone = operation.kind in AMBIGUOUS or "int" in operation.dtype
            key = object() if alone else (operation.dtype, operation.kind, *used)
            value = self._numbers.setdefault(key, len(self._numbers))
            names[number], values[number] = needed, value
            if constants and None not in constants:
                literals[number] = CONSTANT
            elif not any(covers(known, domain) for known in self._known[value]):
                self._known[value].append(domain)
                dtype = operation.dtype
                computed = REAL.get(dtype, dtype) if operation.kind in OF_COMPLEX else dtype
                yield LeftOperation(computed, made_of(operation, constants), domain, needed)

    def _version(self, text: str) -> object:
        """Return a key of an expression's current value. Each write to one of its variables changes the key."""
        writers = self.changes.writers
        written = ((name, writers[name]) for name in sorted(names_in(text)) if name in writers)
        return text, *((name, sum(writer.number < self._number for writer in each)) for name, each in written)
