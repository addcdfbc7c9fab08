"""Statistics of a kernel's data from the arrays of one call: trips of loops, truth of tests, locality of indices.

NumPy lists the points of the nest around an instruction, loop by loop: each point so far is repeated by the loop's
trips there, which follow from the loop's bounds at the values of outer loops and of scalars from arrays. If there are
more than ``MOST`` points, a random part is kept, each point with the same probability, so that means remain unbiased.

If data bound several loops of a nest, their trips are a product of *conditional* means, each over the executed points
of the loops before it. This product equals the mean of the product; a product of separate means does not.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from time import perf_counter
from typing import Any

import islpy as isl
import loopy as lp
import numpy as np
import pymbolic.primitives as p
from loopy.schedule import EnterLoop, LeaveLoop, RunInstruction
from loopy.symbolic import get_dependencies
from numpy.typing import NDArray
from pymbolic.mapper.evaluator import EvaluationMapper, evaluate

from perfmodel.counts.quasipoly.evaluation import evaluated
from perfmodel.counts.quasipoly.printing import quasi_polynomial_of
from perfmodel.counts.reading import sets
from perfmodel.counts.reading.values import COPIED, is_size, text_of
from perfmodel.errors import ArgumentError, listed

SET, PARAM = isl.dim_type.set, isl.dim_type.param
MOST = 2**18  #: Most points of a nest that are kept
ALL = 2**22  #: Most points of a nest whose distinct indices are counted
BLOCK = 2**16  #: Most points whose indices are evaluated together: their values stay in the processor's caches
ITEMS = 2**12  #: Most work-items whose indices are compared
LONGEST_S = 30.0  #: Time after which no further value is computed [s]
LARGEST_DENOMINATOR = 10**6  # of a mean
Ints = NDArray[np.int64]
FUNCTIONS = {
    "abs": np.abs, "fabs": np.abs, "sqrt": np.sqrt, "exp": np.exp, "log": np.log, "sin": np.sin, "cos": np.cos,
    "floor": np.floor, "ceil": np.ceil, "isnan": np.isnan, "min": np.minimum, "max": np.maximum,
    "fmin": np.fmin, "fmax": np.fmax,
}  # fmt: skip


class UnobservedError(Exception):
    """The arrays do not give a statistic; the text has the reason."""


@dataclass(frozen=True)
class Points:
    """Points of a nest: the values of each iname and scalar, and the mean trips of each loop in it."""

    number: int
    values: Mapping[str, Any] = field(default_factory=dict)
    trips: Mapping[str, Fraction] = field(default_factory=dict)
    scalars: dict[str, Any] = field(default_factory=dict, compare=False)  # values of temporaries that were asked for
    parts: "dict[frozenset[Any], tuple[Ints, Points]]" = field(default_factory=dict, compare=False)  # by conditions

    def selected(self, which: Ints) -> "Points":
        """Return the points with some numbers, perhaps repeated."""
        if len(which) == self.number and np.array_equal(which, np.arange(self.number)):
            return self  # with the values of its scalars
        values = {
            name: value[which] if isinstance(value, np.ndarray) and value.shape == (self.number,) else value
            for name, value in self.values.items()
        }
        return Points(len(which), values, self.trips)

    def evenly(self, most: int) -> "Points":
        """Return at most this number of points, evenly distributed."""
        number = min(self.number, max(most, 1))
        return self.selected(np.linspace(0, self.number - 1, number).astype(np.int64))


@dataclass(frozen=True)
class CallData:
    """The data of one call of a kernel."""

    scalars: Mapping[str, Any]  #: Values of its scalar arguments.
    arrays: Mapping[str, Any]  #: NumPy arrays, in the shape of the argument, or flat as in memory.


class Observed:
    """The statistics that the data of a call give for a scheduled kernel.

    ``found`` has the statistics that were asked for, by key, and ``notes`` the reasons why some could not be found.
    A loop in several nests has the mean of the last one.
    """

    def __init__(self, kernel: lp.LoopKernel, data: CallData) -> None:
        self.kernel, self.scalars, self.arrays = kernel, dict(data.scalars), data.arrays
        self.found: dict[str, float] = {}
        self.notes: list[str] = []
        self.writers = kernel.writer_map()
        self.random = np.random.default_rng(0)
        self.began = perf_counter()
        self._nests: dict[object, Points] = {}
        self._bounds: dict[object, Any] = {}

    def trips(self, inames: Collection[str], loops: Collection[str]) -> dict[str, Fraction]:
        """Return the conditional mean trips of those `loops` of a nest that depend on data; empty if not found."""
        try:
            points = self.points(inames, last=loops)
        except UnobservedError as error:
            self._note(f"the trip count of {', '.join(loops)}", error)
            return {}
        self.found |= {name: float(points.trips[name]) for name in loops}
        return {name: points.trips[name] for name in loops}

    def probability(self, test: Any, inames: Collection[str], before: Iterable[tuple[Any, bool]]) -> Fraction | None:
        """Return how often a test is true in a nest, where each test `before` it has its value; None if not found."""
        key = text_of(test)
        try:
            conditions = [condition if truth else p.LogicalNot(condition) for condition, truth in before]
            points = self.points(self.needed([test, *conditions]) & {*inames})
            part = points.selected(self._where(conditions, points))
            true = len(self._where([test], part))
        except UnobservedError as error:
            self._note(f"the probability of '{key}'", error)
            return None
        chance = _fraction(true, part.number)
        self.found[key] = float(chance)
        return chance

    def depends_on_branches(self, condition: tuple[Any, bool]) -> bool:
        """Return whether several instructions assign a scalar of a test.

        Such a scalar may have a value only where the other tests of an instruction hold, so that these come first.
        """
        return any(len(self.writers.get(name, ())) > 1 for name in get_dependencies(condition[0]))

    def span(
        self, key: str, indices: Iterable[Any], inames: Collection[str], lanes: Collection[str]
    ) -> Fraction | None:
        """Return the width of the window in which a work-item's `indices` lie; None if not found.

        `lanes` are the inames on hardware axes, the fastest last. The window moves evenly from the first work-item's
        indices to the last one's; work-items that are far from this line widen it. Without lanes, iterations of the
        outermost loop take the place of work-items.
        """
        lanes = lanes or self._outermost(frozenset(inames))
        try:
            points = self._of_whole_items((self.needed(indices) | {*lanes}) & {*inames}, lanes)
            at = self._together((self.value(index, points) for index in indices), points)
        except UnobservedError as error:
            self._note(f"'{key}'", error)
            return None
        if not points.number:
            return None
        span = _span_of(self._together((points.values[lane] for lane in lanes), points), at)
        self.found[key] = float(span)
        return span

    def _outermost(self, inames: frozenset[str]) -> list[str]:
        """Return the outermost loop of the code around the first instruction in all `inames`, or an empty list."""
        around: list[str] = []
        for item in self.kernel.linearization or ():
            if isinstance(item, EnterLoop):
                around.append(item.iname)
            elif isinstance(item, LeaveLoop):
                around.pop()
            elif isinstance(item, RunInstruction) and inames <= self.kernel.id_to_insn[item.insn_id].within_inames:
                loops = [name for name in around if name in inames]
                return [name for name in loops if not self.kernel.iname_tags_of_type(name, COPIED)][:1]
        return []

    def cells(self, indices: Collection[Any], inames: Collection[str]) -> int | None:
        """Return how many distinct `indices` a nest has; None if not found, or if the nest has too many points."""
        found = []
        try:
            points = self._all_points(tuple(self._outer_first(self.needed(indices) & {*inames}, frozenset())))
            for begin in range(0, points.number, BLOCK):
                block = points.selected(np.arange(begin, min(begin + BLOCK, points.number)))
                at = [np.broadcast_to(self.value(index, block), block.number) for index in indices]
                first = np.unique(self._together(at, block), return_index=True)[1]
                found.append([part[first] for part in at])
                block.parts.clear()  # a part may be the block itself: this breaks the cycle
        except UnobservedError:  # the span's note has the reason
            return None
        at = [np.concatenate(parts) for parts in zip(*found, strict=True)]
        return len(np.unique(self._together(at, Points(len(at[0]))))) if at else 0

    def _all_points(self, inames: tuple[str, ...]) -> Points:
        """Return the points of a nest of loops, the outer ones first, or raise an UnobservedError if they are many."""
        if inames not in self._nests:
            points = Points(1)
            for iname in inames:
                if int(self._values_at(iname, points)[1].sum()) > ALL:
                    raise UnobservedError(f"there are more than {ALL:,} points")
                points = self._entered(points, iname, ALL)
            self._nests[inames] = points
        return self._nests[inames]

    @staticmethod
    def _together(parts: Iterable[Any], points: Points) -> Ints:
        """Return one number for the values of several indices at each point; the last index varies fastest."""
        number = np.zeros(points.number, np.int64)
        for part in parts:
            value = np.broadcast_to(part, number.shape).astype(np.int64)
            number = number * (int(value.max(initial=0)) + 1) + value
        return number

    def _note(self, what: str, error: UnobservedError) -> None:
        note = f"{what} was not found from the arrays: {error}"
        if note not in self.notes:
            self.notes.append(note)

    # {{{ points

    def points(self, inames: Collection[str], last: Collection[str] = ()) -> Points:
        """Return the points of a nest, after the loops on which it depends; the loops `last` come last."""
        wanted = frozenset(inames)
        key = wanted, frozenset(last)
        if key not in self._nests:
            points = Points(1)
            for iname in self._outer_first(wanted, frozenset(last)):
                points = self._entered(points, iname)
            self._nests[key] = points
        return self._nests[key]

    def _of_whole_items(self, inames: Collection[str], lanes: Collection[str]) -> Points:
        """Return the points of some work-items, each with all of its points."""
        points = self.points(lanes).evenly(ITEMS)
        for iname in self._outer_first(frozenset(inames), frozenset(inames) - {*lanes}):
            if iname not in points.values:
                total = int(self._values_at(iname, points)[1].sum())
                points = self._entered(points.evenly(points.number * MOST // max(total, 1)), iname)
        return points

    def _outer_first(self, inames: frozenset[str], last: frozenset[str]) -> list[str]:
        order: list[str] = []

        def put(iname: str, inner: frozenset[str]) -> None:
            if iname not in order:
                around = self._around(iname) & inames - inner
                for outer in sorted(around, key=lambda name: (name in last, name)):
                    put(outer, inner | {iname})
                order.append(iname)

        for iname in sorted(inames, key=lambda name: (name in last, name)):
            put(iname, frozenset())
        return order

    def _around(self, iname: str) -> frozenset[str]:
        """Return the loops on which a loop's bounds depend, directly or through scalars."""
        domain = sets.inames_domain(self.kernel, [iname])
        constraints = (part.get_coefficients_by_name() for piece in domain.get_basic_sets()
                       for part in piece.get_constraints())  # fmt: skip
        bounding = {name for names in constraints if iname in names for name in names}
        found: set[str] = set()
        for name in (*domain.get_var_names(PARAM), *domain.get_var_names(SET)):
            if name in self.kernel.temporary_variables:
                found |= self._loops_of_scalar(name)
            elif name in self.kernel.all_inames() and (name in domain.get_var_names(PARAM) or name in bounding):
                found.add(name)
        return frozenset(found - {iname})

    def _loops_of_scalar(self, name: str) -> set[str]:
        """Return the loops around the instructions that give a temporary its value."""
        giving = _giving(self.kernel, self.writers, [name])
        return {iname for instruction in giving for iname in instruction.within_inames}

    def needed(self, expressions: Iterable[Any]) -> frozenset[str]:
        """Return the loops on which some expressions depend, directly, through scalars or through bounds."""
        found: set[str] = set()
        for name in {name for expression in expressions for name in get_dependencies(expression)}:
            if name in self.kernel.all_inames():
                found.add(name)
            elif name in self.kernel.temporary_variables:
                found |= self._loops_of_scalar(name)
        while more := {outer for iname in found for outer in self._around(iname)} - found:
            found |= more
        return frozenset(found)

    def _entered(self, points: Points, iname: str, most: int = MOST) -> Points:
        """Return the points with the values of one more loop; a random part if there are more than `most`.

        Points at which a scalar in the loop's bounds has no value are left out.
        """
        bounding = sets.inames_domain(self.kernel, [iname]).get_var_names(PARAM)
        scalars = self.kernel.temporary_variables.keys() & bounding
        writers = _giving(self.kernel, self.writers, scalars)
        several = {name for name, each in self.writers.items() if len(each) > 1}
        once = [writer.predicates for writer in writers if several.isdisjoint(writer.assignee_var_names())]
        if conditions := frozenset().union(*once):
            _, points = self._part(conditions, points)
        low, trips = self._values_at(iname, points)
        total = int(trips.sum())
        kept = np.arange(total) if total <= most else np.sort(self.random.choice(total, most, replace=False))
        ends = np.cumsum(trips)
        which = np.searchsorted(ends, kept, side="right")
        values = {**points.selected(which).values, iname: low[which] + kept - (ends - trips)[which]}
        return Points(len(which), values, {**points.trips, iname: _fraction(total, points.number)})

    def _values_at(self, iname: str, points: Points) -> tuple[Ints, Ints]:
        """Return the first value and the number of values of a loop at each point."""
        known = frozenset(points.values)
        key = iname, known
        if key not in self._bounds:
            domain = sets.inames_domain(self.kernel, [iname])
            for name in domain.get_var_names(SET):
                place = domain.find_dim_by_name(SET, name)
                if name != iname and name in known:
                    domain = domain.move_dims(PARAM, domain.dim(PARAM), SET, place, 1)
                elif name != iname:
                    domain = domain.project_out(SET, place, 1)
            if any(piece.dim(isl.dim_type.div) for piece in domain.get_basic_sets()):
                raise UnobservedError(f"the values of the loop '{iname}' are not contiguous")
            low, high = domain.dim_min(0), domain.dim_max(0)
            functions = low, high.sub(low).add_constant_val(isl.Val(1))  # both are 0 where the loop has no value
            self._bounds[key] = tuple(quasi_polynomial_of(isl.PwQPolynomial.from_pw_aff(each)) for each in functions)
        low, trips = (np.broadcast_to(self._of_function(each, points), points.number) for each in self._bounds[key])
        return low, trips

    def _of_function(self, function: Any, points: Points) -> Ints:
        given = [
            np.broadcast_to(np.asarray(self.value(p.Variable(name), points), np.int64), points.number)
            for name in function.parameters
        ]
        return evaluated(function, given, points.number).astype(np.int64)

    # }}}

    # {{{ values

    def value(self, expression: Any, points: Points) -> Any:
        """Return the values of an expression at the points."""
        if perf_counter() - self.began > LONGEST_S:
            raise UnobservedError(f"{LONGEST_S:.0f} s were over")
        try:
            return _Values(self, points)(expression)
        except OverflowError:
            raise UnobservedError(f"'{expression}' has a number outside of the type of its operands") from None

    def scalar(self, name: str, points: Points) -> Any:
        """Return the values of a temporary scalar after all instructions that assign it."""
        if name not in points.scalars:
            writers = [self.kernel.id_to_insn[writer] for writer in self.writers.get(name, ())]
            if not writers:
                raise UnobservedError(f"'{name}' is never assigned")
            if not all(isinstance(writer, lp.Assignment) for writer in writers):
                raise UnobservedError(f"'{name}' is not assigned by a plain instruction")
            if len(writers) == 1:
                if get_dependencies(writers[0].expression) & {name}:
                    raise UnobservedError(f"'{name}' depends on itself")
                found, dtype = self._assigned(writers[0], points), self.kernel.temporary_variables[name].dtype
                points.scalars[name] = np.asarray(found).astype(dtype.numpy_dtype)
            else:
                points.scalars[name] = self._assigned_in_turn(name, writers, points)
        return points.scalars[name]

    def _assigned_in_turn(self, name: str, writers: list[lp.Assignment], points: Points) -> Any:
        """Return the values of a scalar that several instructions assign, each where its conditions hold."""
        runs = (item.insn_id for item in self.kernel.linearization if isinstance(item, RunInstruction))
        order = {identifier: position for position, identifier in enumerate(runs)}
        writers = sorted(writers, key=lambda writer: order[writer.id])
        if len({writer.within_inames for writer in writers}) > 1:
            raise UnobservedError(f"'{name}' is assigned in different loops")
        readers = set(self.kernel.reader_map().get(name, ())) - {writer.id for writer in writers}
        if any(order[reader] < order[writers[-1].id] for reader in readers):
            raise UnobservedError(f"'{name}' is used before it is assigned for the last time")
        values = np.zeros(points.number, self.kernel.temporary_variables[name].dtype.numpy_dtype)
        known = np.zeros(points.number, bool)
        for writer in writers:
            now = Points(points.number, points.values, points.trips, {**points.scalars, name: values})
            there = self._where(writer.predicates, now)
            if name in writer.read_dependency_names() and not known[there].all():
                raise UnobservedError(f"'{name}' has a value of another iteration at some points")
            part = now.selected(there)
            part.scalars[name] = values[there]
            values = values.copy()
            values[there] = self.value(writer.expression, part)
            known[there] = True
        if not known.all():
            raise UnobservedError(f"'{name}' has a value of another iteration at some points")
        return values

    def _assigned(self, instruction: lp.Assignment, points: Points) -> Any:
        if not instruction.predicates:
            return self.value(instruction.expression, points)
        there, part = self._part(instruction.predicates, points)
        found = np.asarray(self.value(instruction.expression, part))
        values = np.zeros(points.number, found.dtype)  # it has no value elsewhere
        values[there] = found
        return values

    def _part(self, conditions: frozenset[Any], points: Points) -> tuple[Ints, Points]:
        """Return the numbers of the points at which all conditions hold, and these points."""
        if conditions not in points.parts:
            there = self._where(conditions, points)
            points.parts[conditions] = there, points.selected(there)
        return points.parts[conditions]

    def _where(self, conditions: Iterable[Any], points: Points) -> Ints:
        """Return the numbers of the points at which all conditions hold."""
        holds = np.ones(points.number, bool)
        for condition in conditions:
            holds &= np.broadcast_to(self.value(condition, points), holds.shape).astype(bool)
        return np.flatnonzero(holds)

    def element(self, name: str, indices: tuple[Any, ...]) -> Any:
        """Return elements of an array that was given."""
        if name not in self.arrays:
            raise UnobservedError(f"the values of '{name}' were not given")
        if name in self.kernel.get_written_variables():
            raise UnobservedError(f"the kernel writes '{name}'")
        array = self.arrays[name]
        if array.ndim == len(indices) != 1:
            place: Any = indices
            extents = array.shape
        else:
            place, extents = (self._address(name, indices),), (array.size,)
            array = array.reshape(-1)
        for index, extent in zip(place, extents, strict=True):
            numbers = np.asarray(index)
            if numbers.size and not (0 <= numbers.min() and numbers.max() < extent):
                raise UnobservedError(f"an index of '{name}' is outside of the array that was given")
        return _widened(array[tuple(np.asarray(index, np.int64) for index in place)])

    def _address(self, name: str, indices: tuple[Any, ...]) -> Any:
        """Return addresses in elements from the array's start in memory."""
        argument = self.kernel.arg_dict[name]
        offset = getattr(argument, "offset", 0) or 0
        address = self.scalars.get(offset, 0) if isinstance(offset, str) else self.value(offset, Points(1))
        tags = argument.dim_tags
        if not indices:
            return address
        if not tags:
            if len(indices) != 1:
                raise UnobservedError(f"the strides of '{name}' are not known")
            return address + indices[0]
        for index, tag in zip(indices, tags, strict=True):
            address = address + index * self.value(tag.stride, Points(1))
        return address

    # }}}


def _widened(values: Any) -> Any:
    """Return integers of 8 and 16 bits as C computes with them."""
    return values.astype(np.int32) if values.dtype.kind in "iu" and values.dtype.itemsize < 4 else values


class _Values(EvaluationMapper):  # type: ignore[misc]
    """Maps an expression to its values at some points."""

    def __init__(self, observed: Observed, points: Points) -> None:
        super().__init__({})
        self.observed, self.points = observed, points

    def map_variable(self, expr: p.Variable) -> Any:
        name = expr.name
        if name in self.points.values:
            return self.points.values[name]
        if name in self.observed.scalars:
            return self.observed.scalars[name]
        if name in self.observed.kernel.temporary_variables:
            return _widened(self.observed.scalar(name, self.points))
        if name in self.observed.arrays:  # of one element
            return self.observed.element(name, ())
        raise UnobservedError(f"the value of '{name}' is not known")

    def map_subscript(self, expr: p.Subscript) -> Any:
        name = expr.aggregate.name
        if name in self.observed.kernel.temporary_variables:
            raise UnobservedError(f"'{expr}' is an element of a temporary array")
        return self.observed.element(name, tuple(self.rec(index) for index in expr.index_tuple))

    def map_linear_subscript(self, expr: Any) -> Any:
        return self.observed.element(expr.aggregate.name, (self.rec(expr.index),))

    def map_if(self, expr: p.If) -> Any:
        return np.where(self.rec(expr.condition), self.rec(expr.then), self.rec(expr.else_))

    def map_logical_and(self, expr: p.LogicalAnd) -> Any:
        return np.logical_and.reduce(np.broadcast_arrays(*map(self.rec, expr.children)))

    def map_logical_or(self, expr: p.LogicalOr) -> Any:
        return np.logical_or.reduce(np.broadcast_arrays(*map(self.rec, expr.children)))

    def map_logical_not(self, expr: p.LogicalNot) -> Any:
        return np.logical_not(self.rec(expr.child))

    def map_min(self, expr: p.Min) -> Any:
        return np.minimum.reduce(np.broadcast_arrays(*map(self.rec, expr.children)))

    def map_max(self, expr: p.Max) -> Any:
        return np.maximum.reduce(np.broadcast_arrays(*map(self.rec, expr.children)))

    def map_type_cast(self, expr: Any) -> Any:
        return np.asarray(self.rec(expr.child)).astype(expr.type.numpy_dtype)

    def map_literal(self, expr: Any) -> Any:
        return float(str(expr.s).rstrip("fF"))

    def map_call(self, expr: p.Call) -> Any:
        name = getattr(expr.function, "name", str(expr.function))
        if name not in FUNCTIONS:
            raise UnobservedError(f"the function '{name}' is not evaluated")
        return FUNCTIONS[name](*map(self.rec, expr.parameters))


def _giving(kernel: lp.LoopKernel, writers: Mapping[str, Any], names: Iterable[str]) -> list[lp.InstructionBase]:
    """Return the instructions that give some names their values, and those that give the temporaries in them theirs."""
    found, pending = {}, [*names]
    while pending:
        for writer in writers.get(pending.pop(), ()):
            if writer not in found:
                found[writer] = kernel.id_to_insn[writer]
                pending += found[writer].read_dependency_names() & kernel.temporary_variables.keys()
    return [*found.values()]


def _fraction(numerator: int, denominator: int) -> Fraction:
    return Fraction(numerator, max(denominator, 1)).limit_denominator(LARGEST_DENOMINATOR)


def _span_of(item: Ints, at: Ints) -> Fraction:
    """Return the span of the indices `at` of work-items `item`, both of shape (points,)."""
    order = np.argsort(item, kind="stable")
    item, at = item[order], at[order]
    first = np.flatnonzero(np.r_[True, item[1:] != item[:-1]])
    least, most = np.minimum.reduceat(at, first), np.maximum.reduceat(at, first)
    span = float(np.mean(most - least + 1))
    if len(first) > 2:
        some = min(8, len(first))
        line = np.interp(item[first], item[first][[0, -1]], [np.median(least[:some]), np.median(least[-some:])])
        span = max(span, float(2 * np.mean(np.abs(least - line)) + 1))
    return Fraction(max(round(span, 1), 1.0)).limit_denominator(10)


def call_data(kernel: lp.LoopKernel, arguments: Mapping[str, Any]) -> CallData:
    """Return the data of a call; sizes that are not given follow from the shapes of arrays.

    Raises an ArgumentError if the kernel has no such argument.
    """
    if unknown := arguments.keys() - kernel.arg_dict.keys():
        problem = f"the kernel has no argument {listed(sorted(map(repr, unknown)), ' or ')}"
        raise ArgumentError(problem, f"its arguments are {listed(sorted(kernel.arg_dict))}")
    arrays: dict[str, Any] = {}
    scalars: dict[str, Any] = {}
    for name, value in arguments.items():
        is_array = isinstance(kernel.arg_dict[name], lp.ArrayArg)
        (arrays if is_array else scalars)[name] = np.asarray(value) if is_array else value
    sizes = {argument.name for argument in kernel.args if is_size(argument)}
    for name, array in arrays.items():
        shape = kernel.arg_dict[name].shape
        for extent, length in zip(shape if isinstance(shape, tuple) else (), array.shape, strict=False):
            unknown = get_dependencies(extent) & sizes - scalars.keys()
            if len(unknown) == 1:
                size = next(iter(unknown))
                first, second = (evaluate(extent, {**scalars, size: value}) for value in (0, 1))
                if second == first + 1:
                    scalars[size] = length - first
    return CallData(scalars, arrays)


def data_needed(kernel: lp.LoopKernel) -> frozenset[str]:
    """Return the arguments, other than sizes, on which loops, tests or indices depend, perhaps through temporaries."""
    names: set[str] = set()
    for domain in sets.domains(kernel):
        names.update(domain.get_var_names(PARAM))
    walk = _Deciding()
    for instruction in kernel.instructions:
        for predicate in instruction.predicates:
            names |= get_dependencies(predicate)
        if isinstance(instruction, lp.MultiAssignmentBase):
            for expression in (*instruction.assignees, instruction.expression):
                walk(expression)
    names |= walk.names
    for instruction in _giving(kernel, kernel.writer_map(), names & kernel.temporary_variables.keys()):
        names |= instruction.read_dependency_names()
    return frozenset(argument.name for argument in kernel.args if argument.name in names and not is_size(argument))


class _Deciding(lp.symbolic.WalkMapper):  # type: ignore[misc]
    """Collects the names in indices and in conditions of an expression."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def map_subscript(self, expr: Any, *rest: Any) -> None:
        for index in expr.index_tuple:
            self.names |= get_dependencies(index)
        super().map_subscript(expr, *rest)

    def map_linear_subscript(self, expr: Any, *rest: Any) -> None:
        self.names |= get_dependencies(expr.index)
        self.rec(expr.index, *rest)

    def map_if(self, expr: Any, *rest: Any) -> None:
        self.names |= get_dependencies(expr.condition)
        super().map_if(expr, *rest)
