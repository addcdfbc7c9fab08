"""Pairs of operations that PoCL's compiler packs into vectors before it loops over work-items.

``fmin(sqrt(a[i]), sqrt(b[i]))`` becomes one square root of two values. The loop over work-items is compiled later, and
a loop that has vectors already is not vectorised (docs/lab/guards.md). LLVM looks for pairs above comparisons, which
``fmin`` and ``fmax`` have too, above the ends of branches, and above stores to neighbouring cells. It packs a pair, and
the pairs of its operands, if this saves more than it costs::

    saved:  a vector operation for two operations                       SAVED
            a vector for a pair of neighbouring loads, or of stores     1
    cost:   two operands that are no such pair are joined               1, but 0 if both are constants
            four values that are stored together                        1 for each that is not a constant
            the second value of a pair is also used elsewhere           1

The costs are from LLVM 15, and agree with the compiler's remarks.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby, pairwise
from typing import NamedTuple

from perfmodel.counts.nests.addresses import NO_BYTES, constant_of, texts_of
from perfmodel.counts.nests.folded import COMMUTATIVE, covers, names_in
from perfmodel.counts.nests.loops import copies_of
from perfmodel.counts.nests.nest import Nest, NestAccess
from perfmodel.counts.program.program import Computed, Domain, Operand, Read, literal_of
from perfmodel.values import grouped

FUSED = "madd"  # an addition and a product of the same instruction
BINARY = ("add", "mul", "div")  # an operation whose operands may be a pair
COMPARED = ("compare", "minmax")
INTEGER = "integer_"  # prefix of the kinds of integer operations
INTEGERS = ("add", "mul", "shift", "bitwise")
SAVED: Mapping[tuple[str, int], tuple[int, int]] = {
    **{(kind, bits): (1, 1) for kind in ("add", "mul", FUSED) for bits in (32, 64)},
    **{("minmax", bits): (4, 4) for bits in (32, 64)},  # a test for NaN, a comparison, their union and a select
    **{("fabs", bits): (5, 5) for bits in (32, 64)},  # two changes of type that vectors do not need, and a mask
    **{(f"{INTEGER}{kind}", 0): (1, 1) for kind in INTEGERS},
    ("div", 32): (7, 3), ("div", 64): (14, 4), ("sqrt", 32): (7, 7), ("sqrt", 64): (14, 14),
}  # fmt: skip
"""What a pair of operations saves, by kind and bits: without and with AVX-512."""
MINMAX_WITHOUT_TEST = 2  # what a pair of minima saves that has no two tests for NaN
FOUR = 1.5  # a vector of four saves 3 operations, 1.5 for each of its two pairs; a vector of two saves 1
FABS_OF_LOADS = 2  # what a pair of absolute values saves if they are loaded as integers
COMPLEX64 = 64  # bits
COMPLEX_DIVISION = 3  # divisions of real numbers in a division of complex numbers (COMPLEX_OPERATIONS)
WIDEST, WIDEST_VECTOR = 64, 256  # bits of a number that is not a vector, and of a vector
MASKED_BITS = 32  # fewest bits of values that AVX-512 gathers
DEEPEST = 12  # most operations from a comparison to a pair with which LLVM starts, and from there
CELL = re.compile(r"(\w+)(\[.*\W)(\d+)\]")  # "a[i, 1]": array, other indices, last index
Start = tuple[tuple[int, int], ...]  # pairs of values


@dataclass(frozen=True)
class PackedPairs:
    """What PoCL's compiler packs in the code of one work-item."""

    packs: tuple[bool, bool] = (False, False)  # whether it packs pairs of operations, without and with AVX-512
    stored: int = 1  # neighbouring cells that statements store together
    nan_tests: float = 0.0  # mean number of instructions for each minimum that test an operand for NaN, in vectors

    def are_packed(self, wide: bool) -> bool:
        """Return whether there are vectors, on a device with AVX-512 (``wide``) or without."""
        return self.packs[wide] or self.stored > 1


class _Value(NamedTuple):
    """A value of a work-item, with the numbers of its operands."""

    kind: str  # of its operation; "" for any other value
    bits: int = 0
    domain: Domain | None = None  # where it is computed
    text: object = ""  # of another value; of a minimum or a comparison, its name
    signs: tuple[bool, ...] = ()  # which operands are subtracted
    operands: tuple[int, ...] = ()


class _Values:
    """The values that the statements of a nest compute."""

    def __init__(self, nest: Nest, near: bool) -> None:
        self.values: list[_Value] = []
        self.sources: list[int] = []  # of each value: a bit for each value that it needs, and for itself
        self.users: dict[int, Counter[object]] = defaultdict(Counter)
        self.tested: dict[int, set[int]] = defaultdict(set)  # the minima that test a value for NaN: their second one
        self.stored: dict[str, int] = {}  # by instruction
        self.computes: dict[str, bool] = {}
        odd = {access.array for access in nest.accesses if not _is_whole(access, 2)}
        self.even = {access.array for access in nest.accesses} - odd  # arrays whose first cells have an even index
        self._numbers: dict[_Value, list[int]] = defaultdict(list)  # of values without their domains
        self._results: dict[str, int] = {}  # of private variables
        self._writes = Counter[str]()  # earlier writes to each variable
        statements = sorted((*nest.statements, *nest.decisions), key=lambda each: each.place)
        #: whether an unrolled loop copies the operations of a domain
        self.copied = {each.domain: not near and max(copies_of(each.domain, nest.loops.names).values(), default=1) > 1
                       for each in statements}  # fmt: skip
        steps = nest.kernel.flow.dataflow.by_name
        self._writers = nest.kernel.changes.writers
        #: private variables that one instruction copies, and the variables of their values
        self._copies = {step.writes[0].variable: step.reads[0].variable for step in steps.values()
                        if [len(step.writes), len(step.reads)] == [1, 1] and not (step.operations or step.reads[0].cell)
                        and len(self._writers.get(step.writes[0].variable, ())) == 1}  # fmt: skip
        for (_, instruction), group in groupby(statements, key=lambda each: (each.place, each.instruction)):
            result = self._result([(each, statement.domain) for statement in group for each in statement.computed])
            self.computes[instruction] = result is not None
            if instruction not in steps:
                continue
            if result is None:
                result = self._copied(steps[instruction].reads)
            self.stored[instruction] = result
            for writing in steps[instruction].writes:
                self._writes[writing.variable] += 1
                if writing.space == "private" and not writing.cell:
                    self._results[writing.variable] = result
                else:
                    self.users[result][instruction] += 1

    def _copied(self, reads: Sequence[Read]) -> int:
        """Return the value of an instruction without operations."""
        if len(reads) == 1 and not reads[0].cell and reads[0].variable in self._results:
            return self._results[reads[0].variable]
        known = len(reads) == 1 and None not in reads[0].cell
        text = (reads[0].variable, reads[0].cell, self._writes[reads[0].variable]) if known else object()
        return self._other(text if reads else "0")

    def _result(self, parts: Sequence[tuple[Computed, Domain]]) -> int | None:
        """Add the operations of an instruction, and return its last value; None without operations."""
        local: dict[int, int] = {}
        for each, domain in sorted(parts, key=lambda part: part[0].number):
            local[each.number] = self._computed(each, domain, local)
        return local[max(local)] if local else None

    def _number(self, value: _Value) -> int:
        known, number = self._numbers[value._replace(domain=None)], len(self.values)
        for other in known:
            domain = self.values[other].domain
            if domain is None or value.domain is None or covers(domain, value.domain):
                return other
        known.append(number)
        self.values.append(value)
        self.sources.append(1 << number)
        for operand in value.operands:
            self.sources[number] |= self.sources[operand]
            self.users[operand][number] += 2 if value.kind == "minmax" else 1
        if value.kind == "minmax":
            self.tested[value.operands[1]].add(number)
        return number

    def _other(self, text: object) -> int:
        return self._number(_Value("", text=text))

    def _operand(self, operand: Operand, local: Mapping[int, int]) -> tuple[int, bool]:
        """Return the number of an operand, and whether it is subtracted."""
        if isinstance(operand, int):
            return local.get(max(operand, ~operand), -1), operand < 0
        text = operand.removeprefix("(-1)*")
        text = text[2:-1] if text.startswith("-(") else text
        negative = text != operand
        for _ in range(DEEPEST):  # a loop may pass values around in a circle
            text = text if text in self._results else self._copies.get(text, text)
        if text in self._results:
            return self._results[text], negative
        writes = sum(self._writes[name] for name in names_in(text))
        return self._other(f"{text}@{writes}" if writes else text), negative

    def _computed(self, each: Computed, domain: Domain, local: Mapping[int, int]) -> int:
        kind, texts, name = each.kind, each.operands, object()
        if kind not in COMPARED:
            name = ""
        elif len(texts) > 2:
            texts, name = texts[:2], texts[2]
        parts = [self._operand(operand, local) for operand in texts]
        operands, signs = tuple(number for number, _ in parts), tuple(negative for _, negative in parts)
        known = -1 not in operands and (kind not in (*BINARY, *COMPARED) or len(operands) == 2)
        if known and each.lanes == 1 and each.kind in INTEGERS and each.dtype.startswith(("int", "uint")):
            return self._number(_Value(f"{INTEGER}{each.kind}", 0, domain, "", signs, operands))
        if not known or not each.dtype.startswith("float") or each.lanes > 1:
            return self._other(object())
        if kind == "fabs" and self.values[operands[0]].kind == kind:
            return operands[0]
        for position, number in enumerate(operands):
            if kind == "add" and self.values[number].kind == "mul" and number in local.values():
                if not self.users[number]:
                    for operand in self.values[number].operands:
                        self.users[operand].pop(number, None)
                kind, operands = FUSED, (*self.values[number].operands, operands[1 - position])
                signs = signs if position == 0 else signs[::-1]
                break
        return self._number(_Value(kind, int(each.dtype[5:]), domain, name, signs, operands))

    def below(self, number: int) -> set[int]:
        """Return the operations that lead to a value, in its block of code."""
        domain, found, level = self.values[number].domain, set[int](), {number}
        for _ in range(DEEPEST):
            level = {each for each in level - found if self.values[each].kind and self.values[each].domain == domain}
            found |= level
            level = {operand for each in level for operand in self.values[each].operands}
        return found

    def starts(self) -> Iterator[tuple[Start, bool]]:
        """Yield the pairs with which LLVM starts, and whether they are copies: a value and itself in an unrolled loop.

        These are the operands of an operation that leads to a comparison or to the end of a branch, of which one may
        be skipped if nothing else uses it; the operands of two like comparisons; and two values of one branch.
        """
        roots, before = set[int](), dict[object, int]()
        for number, value in enumerate(self.values):
            if value.kind in COMPARED:
                leading = (each for each in value.operands if self.values[each].domain == value.domain)
                roots |= {number}.union(*map(self.below, leading))
                if value.domain is not None and self.copied.get(value.domain):
                    yield tuple((each, each) for each in value.operands), True
                kinds = tuple(self.values[each].kind for each in value.operands)
                alike = value.text, value.bits, value.domain, value.signs, kinds
                if alike in before and not self.sources[number] >> before[alike] & 1:
                    yield tuple(zip(self.values[before[alike]].operands, value.operands, strict=True)), False
                before[alike] = number
            elif value.kind == "select":
                arms = [each for each in value.operands if self.values[each].domain not in (None, value.domain)]
                roots = roots.union(*map(self.below, arms))
                tests = {arm: self.values[arm].domain for arm in arms}
                yield from ((((before[test], arm),), False) for arm, test in tests.items() if test in before)
                before |= {test: arm for arm, test in tests.items()}
        for value in (self.values[root] for root in roots):
            yield from ((((one, other),), False) for one, other in self._operands(value))

    def _operands(self, value: _Value) -> Iterator[tuple[int, int]]:
        """Yield the operands of an operation; and each with an operand of the other one, if nothing else uses that."""
        if value.kind in (*BINARY, *COMPARED) and value.operands[0] != value.operands[1]:
            first, second = value.operands
            yield first, second
            for one, other in ((first, second), (second, first)):
                if self.users[other].total() == 1 and {self.values[one].kind, self.values[other].kind} <= {*BINARY}:
                    yield from ((one, each) for each in self.values[other].operands if self.values[each].kind in BINARY)

    def is_constant(self, number: int) -> bool:
        value = self.values[number]
        return not value.kind and isinstance(value.text, str) and literal_of(value.text) is not None

    def is_uniform(self, number: int) -> bool:
        """Return whether a value is a literal or a scalar argument."""
        value = self.values[number]
        text = "[" if value.kind or not isinstance(value.text, str) else value.text
        return "[" not in text and names_in(text).isdisjoint(self._writers)

    def is_for_one(self, number: int) -> bool:
        """Return whether a value has no operation, and one user."""
        return not self.values[number].kind and self.users[number].total() == 1

    def are_neighbours(self, pair: tuple[int, int]) -> bool:
        """Return whether two values are loaded together, as ``a[i, 0]`` and ``a[i, 1]`` in rows of two."""
        one, other = (str(self.values[number].text).partition("@")[0] for number in pair)
        cell = CELL.fullmatch(one)
        even = cell is not None and cell[1] in self.even and int(cell[3]) % 2 == 0
        return even and cell is not None and other == f"{cell[1]}{cell[2]}{int(cell[3]) + 1}]"

    def shuffled(self, stored: Sequence[int], bits: int) -> int:
        """Return the most different values among four that are joined to a vector: two of float32, else one."""
        return 2 if bits == 32 and not any(self.values[each].kind.startswith(INTEGER) for each in stored) else 1

    def likeness(self, left: Sequence[int], right: Sequence[int]) -> int:
        return sum(self.values[one].kind == self.values[other].kind for one, other in zip(left, right, strict=True))


class _Tree:
    """Pairs of operations and the pairs of their operands, as vectors."""

    def __init__(self, values: _Values, wide: bool, loop: _CopiedLoop | None = None) -> None:
        self.values, self.wide, self.loop, self.copies = values, wide, loop, loop is not None
        self.pairs: set[tuple[int, int]] = set()
        self.joined: set[tuple[int, int]] = set()
        self.members: set[int] = set()
        self.four = False  # whether two pairs are one vector

    def cost(self, start: Start, copies: bool = False, stores: Sequence[str] = ()) -> float:
        """Return the cost less what is saved.

        A vector of n ``stores`` saves n - 1. Two comparisons save 1, but both results are used elsewhere.
        """
        self.copies, self.four = self.copies or copies, len(stores) == 4
        total = sum(self._add(pair, 0) for pair in start) + (1 - len(stores) if stores else len(start) - 1)
        inside = {*self.members, *stores}
        for pair in self.pairs:
            total += ((pair,) == start and not stores) or bool(self.values.users[pair[1]].keys() - inside)
        for value in (self.values.values[number] for number in self.members):
            if value.kind == "minmax" and not self.values.is_constant(value.operands[1]):
                total += bool(self.values.tested[value.operands[1]] - self.members)
        return total

    def _add(self, pair: tuple[int, int], depth: int) -> float:
        """Add a pair and the pairs of its operands. Return the cost of joined values less what is saved."""
        (first, second), values = pair, self.values
        if pair in self.pairs or pair in self.joined:
            return 0
        one, other = values.values[first], values.values[second]
        needed = not self.copies and (values.sources[second] >> first | values.sources[first] >> second) & 1
        unusable = needed or depth == DEEPEST or not self.members.isdisjoint(pair)
        if one[:-1] != other[:-1] or (one.kind, one.bits) not in SAVED or unusable:
            self.joined.add(pair)
            if self.loop is not None:
                return self.loop.cost(str(one.text), values.is_constant(first))
            inserted = len({number for number in pair if not values.is_constant(number)})
            return -1 if values.are_neighbours(pair) else inserted if self.four else min(inserted, 1)
        self.pairs.add(pair)
        self.members.update(pair)
        saved, right = SAVED[one.kind, one.bits][self.wide], other.operands
        if one.kind == "minmax" and (
            (not self.copies and one.operands[1] == right[1]) or any(map(values.is_constant, (*one.operands, *right)))
        ):
            saved = MINMAX_WITHOUT_TEST
        elif one.kind == "fabs" and any(map(values.is_for_one, (*one.operands, *right))):
            saved = FABS_OF_LOADS
        if one.kind in (*COMMUTATIVE, FUSED) and len({*one.signs}) == 1:
            right = max(right, (right[1], right[0], *right[2:]), key=lambda each: values.likeness(one.operands, each))
        below = sum(self._add(each, depth + 1) for each in zip(one.operands, right, strict=True))
        return below - saved * (FOUR if self.four else 1)


def packed_pairs(nest: Nest, near: bool) -> PackedPairs:
    """Return what a compiler packs in the code of a work-item.

    If copies of a loop store to neighbouring cells (``near``), they become vectors in another way. PyOpenCL's functions
    of complex64 return a vector of two float32, and its division compares two absolute values.

    In vectors a minimum tests its second operand for NaN: one instruction for each value, and one that joins the result
    with the comparison's.
    """
    values = _Values(nest, near)
    minima = [value.operands[1] for value in values.values if value.kind == "minmax"]
    tested = [number for number in minima if not values.is_uniform(number)]
    tests = (len(tested) + len({*tested})) / max(len(minima), 1)
    complex_bits = {access.bits for access in nest.accesses if access.is_complex}
    computed = [each for statement in nest.statements for each in statement.computed]
    divides = any(each.kind == "div" and each.lanes == COMPLEX_DIVISION for each in computed)
    if complex_bits and (divides or (COMPLEX64 in complex_bits and nest.operations)):
        return PackedPairs((True, True), nan_tests=tests)
    starts = [*values.starts()]
    without, wide = (any(_Tree(values, wide).cost(*start) < 0 for start in starts) for wide in (False, True))
    return PackedPairs((without, wide), max(_stored_together(nest, values), _copies_together(nest, values)), tests)


def _stored_together(nest: Nest, values: _Values) -> int:
    """Return how many neighbouring cells the statements of a work-item store as a vector: 4, 2 or 1.

    The compiler must know that the index of the first cell is a multiple of this number. It knows this for ``x[i, 0]``
    and ``x[i, 1]`` in rows of two, but not in rows of three. It joins four values if all have one kind of
    operation, or if at most two differ.
    """
    stores = [(statement, access) for statement, access in nest.owned_accesses
              if (access.space, access.direction) == ("global", "store") and access.bits <= WIDEST]  # fmt: skip
    loads = grouped((each.instruction, access) for each, access in nest.owned_accesses if access.direction == "load")
    for number in (4, 2):
        rows: dict[tuple[int, object], dict[Fraction, str]] = defaultdict(dict)
        for statement, access in stores:
            if _is_whole(access, number) and access.address is not None:
                start, size = constant_of(access.address.start), Fraction(access.bits, 8)
                place = access.array, access.address.base, texts_of(access.address.steps), statement.domain
                if start is not None and statement.instruction in values.stored:
                    rows[access.bits, place][start / size] = statement.instruction
        for (bits, _), row in rows.items():
            for first in (cell for cell in row if cell % number == 0 and all(cell + k in row for k in range(number))):
                names = [row[first + k] for k in range(number)]
                moved = [loads[name][-1] for name in names if name in loads and not values.computes[name]]
                if _are_joined(names, moved, values, bits):
                    return number
    return 1


def _are_joined(names: Sequence[str], moved: Sequence[NestAccess], values: _Values, bits: int) -> bool:
    """Return whether LLVM joins values that instructions store to neighbours. ``moved`` are loads that it only copies.

    AVX-512 gathers four cells of one array. If few of four values differ, one is shuffled to the other cells.
    """
    stored, four = [values.stored[name] for name in names], len(names) == 4
    if len(moved) == len(names):
        gathers = four and len({each.array for each in moved}) == 1 and moved[0].bits >= MASKED_BITS
        if gathers or all(_follows(*each) for each in pairwise(moved)):
            return True
    if four and len({*stored}) <= values.shuffled(stored, bits):
        return True
    alike = len({values.values[each].kind for each in stored}) == 1
    pairs = tuple(zip(stored[::2], stored[1::2], strict=True))
    return (alike or not four) and _Tree(values, wide=True).cost(pairs, stores=names) < 0


def _follows(one: NestAccess, other: NestAccess) -> bool:
    """Return whether an access is to the cell after that of another one."""
    if one.address is None or other.address is None or one.array != other.array:
        return False
    distance = constant_of(other.address.start + -1 * one.address.start)
    return texts_of(one.address.steps) == texts_of(other.address.steps) and distance == Fraction(one.bits, 8)


class _CopiedLoop(NamedTuple):
    """An unrolled loop that stores neighbouring cells."""

    iname: str
    width: int  # of a vector of copies
    bits: int  # of the stored cells
    near: frozenset[str]  # the arrays from which copies load neighbouring cells
    far: frozenset[str]  # and those from which they load other cells

    def cost(self, text: str, is_constant: bool) -> float:
        """Return the cost of a vector of copies of a value without operation, over what a saved operation saves.

        A load of a vector saves as much. A value is copied to all lanes in one instruction. AVX-512 gathers at a cost
        of 2, but not two values, and none of less than 32 bits.
        """
        array = text.partition("[")[0]
        if array in self.near:
            return -1.0
        if array in self.far:
            return min(1.0, 2 / (self.width - 1)) if self.bits >= MASKED_BITS else 1.0
        return 0.0 if is_constant or text == self.iname else 1 / (self.width - 1)


def _copies_together(nest: Nest, values: _Values) -> int:
    """Return how many neighbouring cells the copies of an unrolled loop store as a vector: 8, 4, 2 or 1."""
    for statement, access in nest.owned_accesses:
        stores = (access.space, access.direction) == ("global", "store") and access.bits <= WIDEST
        for name, number in access.copies.items() if stores else ():
            most = min(number, WIDEST_VECTOR // access.bits)
            width = next((each for each in (8, 4, 2) if each <= most and _is_whole(access, each, name)), 1)
            if width > 1 and _is_cell(access, name):
                loads = [each for each in nest.accesses if each.direction == "load" and name in each.copies
                         and each.step(name) != NO_BYTES]  # fmt: skip
                far = frozenset(each.array for each in loads if not _is_cell(each, name))
                loop = _CopiedLoop(name, width, access.bits, frozenset(each.array for each in loads) - far, far)
                if statement.computed and statement.instruction in values.stored:
                    value, alike = values.stored[statement.instruction], (statement.instruction,) * 2
                    cost = _Tree(values, True, loop).cost(((value, value),), stores=alike)
                else:  # it copies the value of its last load
                    moved = [each.array for each in statement.accesses if each.direction == "load"]
                    cost = sum(loop.cost(array, False) for array in moved[-1:]) - 1
                if cost < 0:
                    return width
    return 1


def _is_cell(access: NestAccess, name: str) -> bool:
    return access.address is not None and constant_of(access.address.step(name)) == Fraction(access.bits, 8)


def _is_whole(access: NestAccess, number: int, besides: str = "") -> bool:
    """Return whether all inames, or all ``besides`` one, move an access by multiples of a number of cells."""
    if access.address is None or access.address.chosen:
        return False
    steps = (constant_of(step) for name, step in access.address.steps.items() if name != besides)
    size = Fraction(access.bits, 8) * number
    return all(step is not None and step % size == 0 for step in steps)
