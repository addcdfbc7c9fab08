"""Pairs of operations that PoCL's compiler packs into vectors before it loops over work-items.

``fmin(sqrt(a[i]), sqrt(b[i]))`` becomes one square root of two values. The loop over work-items is compiled later, and
a loop that has vectors already is not vectorised (docs/lab/guards.md). LLVM looks for pairs above comparisons, which
``fmin`` and ``fmax`` have too, and above the ends of branches. It packs a pair, and the pairs of its operands, if this
saves more than it costs::

    saved:  a vector operation for two operations                       SAVED
    cost:   two operands that are no pair of operations are joined      1, but 0 if both are constants
            the second value of a pair is also used elsewhere           1

The costs are from LLVM 15, and agree with the compiler's remarks.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, groupby
from typing import NamedTuple

from perfmodel.counts.nests.folded import COMMUTATIVE, covers, literal_of
from perfmodel.counts.nests.loops import copies_of
from perfmodel.counts.nests.nest import Nest
from perfmodel.counts.program.program import Computed, Domain, Operand

FUSED = "madd"  # an addition and a product of the same instruction
BINARY = ("add", "mul", "div")  # an operation whose operands may be a pair
COMPARED = ("compare", "minmax")
SAVED: Mapping[tuple[str, int], tuple[int, int]] = {
    **{(kind, bits): (1, 1) for kind in ("add", "mul", FUSED) for bits in (32, 64)},
    **{("minmax", bits): (4, 4) for bits in (32, 64)},  # a test for NaN, a comparison, their union and a select
    **{("fabs", bits): (5, 5) for bits in (32, 64)},  # two changes of type that vectors do not need, and a mask
    ("div", 32): (7, 3), ("div", 64): (14, 4), ("sqrt", 32): (7, 7), ("sqrt", 64): (14, 14),
}  # fmt: skip
"""What a pair of operations saves, by kind and bits: without and with AVX-512."""
MINMAX_WITHOUT_TEST = 2  # what a pair of minima saves that has no two tests for NaN
FABS_OF_LOADS = 2  # what a pair of absolute values saves if they are loaded as integers
COMPLEX64 = 64  # bits
DEEPEST = 12  # most operations between a comparison and the operation whose operands are a pair


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

    def __init__(self, nest: Nest, near: bool = False) -> None:
        self.values: list[_Value] = []
        self.sources: list[int] = []  # of each value: a bit for each value that it needs, and for itself
        self.users: dict[int, Counter[object]] = defaultdict(Counter)
        self.tested: dict[int, set[int]] = defaultdict(set)  # the minima that test a value for NaN: their second one
        self._numbers: dict[_Value, list[int]] = defaultdict(list)  # of values without their domains
        self._results: dict[str, int] = {}  # of private variables
        #: whether an unrolled loop copies the operations of a domain
        self.copied = {domain: not near and max(copies_of(domain, nest.loops.names).values(), default=1) > 1
                       for domain in nest.domains}  # fmt: skip
        runs, steps = nest.kernel.changes.runs, nest.kernel.flow.dataflow.by_name
        statements = sorted((*nest.statements, *nest.decisions), key=lambda each: runs.get(each.instruction, (-1,))[0])
        for instruction, group in groupby(statements, key=lambda each: each.instruction):
            local: dict[int, int] = {}
            parts = [(each, statement.domain) for statement in group for each in statement.computed]
            for each, domain in sorted(parts, key=lambda part: part[0].number):
                local[each.number] = self._computed(each, domain, local)
            result = local[max(local)] if local else self._other(object())
            self.users[result][instruction] += 1
            for writing in steps[instruction].writes if instruction in steps else ():
                if writing.space == "private" and not writing.cell:
                    self._results[writing.variable] = result

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
        return self._results[text] if text in self._results else self._other(text), text != operand

    def _computed(self, each: Computed, domain: Domain, local: Mapping[int, int]) -> int:
        kind, texts, name = each.kind, each.operands, object()
        if kind not in COMPARED:
            name = ""
        elif len(texts) > 2:
            texts, name = texts[:2], texts[2]
        parts = [self._operand(operand, local) for operand in texts]
        operands, signs = tuple(number for number, _ in parts), tuple(negative for _, negative in parts)
        if -1 in operands or not each.dtype.startswith("float") or each.lanes > 1:
            return self._other(object())
        if kind == "fabs" and self.values[operands[0]].kind == kind:
            return operands[0]
        for position, number in enumerate(operands):
            if kind == "add" and self.values[number].kind == "mul" and number in local.values():
                kind, operands = FUSED, (*self.values[number].operands, operands[1 - position])
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

    def starts(self) -> Iterator[tuple[tuple[int, int], ...]]:
        """Yield the pairs with which LLVM starts: one, or each pair of operands of two like comparisons.

        A value and itself are a pair for copies of an unrolled loop.
        """
        roots, before = set[int](), dict[object, int]()
        for number, value in enumerate(self.values):
            if value.kind in COMPARED:
                roots |= {number}.union(*(self.below(each) for each in value.operands
                                          if self.values[each].domain == value.domain))  # fmt: skip
                if self.copied.get(value.domain):  # type: ignore[arg-type]
                    yield tuple((each, each) for each in value.operands)
                alike = value[1:-1], tuple(self.values[each].kind for each in value.operands)
                if alike in before and not self.sources[number] >> before[alike] & 1:
                    yield tuple(zip(self.values[before[alike]].operands, value.operands, strict=True))
                before[alike] = number
            elif value.kind == "select":
                arms = (each for each in value.operands if self.values[each].domain not in (None, value.domain))
                roots = roots.union(*map(self.below, arms))
        for value in (self.values[root] for root in roots):
            if value.kind in (*BINARY, *COMPARED):
                first, second = value.operands
                yield ((first, second),)
                for one, other in ((first, second), (second, first)):
                    if self.users[other].total() == 1 and {self.values[one].kind, self.values[other].kind} <= {*BINARY}:
                        skipped = (each for each in self.values[other].operands if self.values[each].kind in BINARY)
                        yield from (((one, each),) for each in skipped)

    def is_constant(self, number: int) -> bool:
        value = self.values[number]
        return not value.kind and isinstance(value.text, str) and literal_of(value.text) is not None

    def is_uniform(self, number: int) -> bool:
        """Return whether a value is a literal or a scalar argument."""
        value = self.values[number]
        return not value.kind and isinstance(value.text, str) and "[" not in value.text

    def is_loaded_for(self, number: int) -> bool:
        """Return whether only one operation uses a loaded value."""
        return not self.values[number].kind and self.users[number].total() == 1

    def likeness(self, left: Sequence[int], right: Sequence[int]) -> int:
        return sum(self.values[one].kind == self.values[other].kind for one, other in zip(left, right, strict=True))


class _Tree:
    """Pairs of operations and the pairs of their operands, as vectors."""

    def __init__(self, values: _Values, wide: bool) -> None:
        self.values, self.wide, self.copies = values, wide, False
        self.pairs: set[tuple[int, int]] = set()
        self.joined: set[tuple[int, int]] = set()
        self.members: set[int] = set()

    def cost(self, start: tuple[tuple[int, int], ...]) -> int:
        """Return the cost less what is saved. Two comparisons save 1, and both results are used elsewhere."""
        self.copies = all(first == second for first, second in start)
        total = sum(self._add(*pair) for pair in start) + len(start) - 1
        for pair in self.pairs:
            total += (pair,) == start or bool(self.values.users[pair[1]].keys() - self.members)
        for value in (self.values.values[number] for number in self.members):
            if value.kind == "minmax" and not self.values.is_constant(value.operands[1]):
                total += bool(self.values.tested[value.operands[1]] - self.members)
        return total

    def _add(self, first: int, second: int) -> int:
        """Add a pair and the pairs of its operands. Return the cost of joined values less what is saved."""
        pair, values = (first, second), self.values
        if pair in self.pairs or pair in self.joined:
            return 0
        one, other = values.values[first], values.values[second]
        needed = not self.copies and (values.sources[second] >> first | values.sources[first] >> second) & 1
        if one[:-1] != other[:-1] or (one.kind, one.bits) not in SAVED or needed or {*pair} & self.members:
            self.joined.add(pair)
            return int(not (values.is_constant(first) and values.is_constant(second)))
        self.pairs.add(pair)
        self.members.update(pair)
        saved, right = SAVED[one.kind, one.bits][self.wide], other.operands
        if one.kind == "minmax" and (
            (not self.copies and one.operands[1] == right[1]) or any(map(values.is_constant, (*one.operands, *right)))
        ):
            saved = MINMAX_WITHOUT_TEST
        elif one.kind == "fabs" and any(map(values.is_loaded_for, (*one.operands, *right))):
            saved = FABS_OF_LOADS
        if one.kind in (*COMMUTATIVE, FUSED) and len({*one.signs}) == 1:
            right = max(right, (right[1], right[0], *right[2:]), key=lambda each: values.likeness(one.operands, each))
        return sum(self._add(*each) for each in zip(one.operands, right, strict=True)) - saved


def tests_for_nan(nest: Nest) -> float:
    """Return how many instructions a minimum has in the mean that test its second operand for NaN, in vectors.

    A test is a comparison for each value, and joins the result of the minimum's comparison.
    """
    values = _Values(nest)
    minima = [value.operands[1] for value in values.values if value.kind == "minmax"]
    tested = [number for number in minima if not values.is_uniform(number)]
    return (len(tested) + len({*tested})) / max(len(minima), 1)


def packs_pairs(nest: Nest, near: bool) -> tuple[bool, bool]:
    """Return whether a compiler packs pairs of operations of a work-item, without and with AVX-512.

    If a work-item stores to neighbouring cells (``near``), copies of a loop become vectors in another way. PyOpenCL's
    functions of complex64 return a vector of two float32, and its division compares two absolute values.
    """
    complex_bits = {access.bits for access in nest.accesses if access.is_complex}
    divides = any(each.kind == "div" and each.lanes == 3 for each in chain(*(s.computed for s in nest.statements)))
    if complex_bits and (divides or (COMPLEX64 in complex_bits and any(s.operations for s in nest.statements))):
        return True, True
    values = _Values(nest, near)
    starts = [*values.starts()]
    without, wide = (any(_Tree(values, wide).cost(start) < 0 for start in starts) for wide in (False, True))
    return without, wide
