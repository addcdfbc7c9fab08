"""The program of a scheduled kernel as frozen values: launches, statements, schedule and dataflow.

An *instance* of a statement is one execution of it, given by the values of the inames around the statement.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import NamedTuple

import islpy as isl

from perfmodel.values import FrozenValue


@dataclass(frozen=True)
class Run:
    """The execution of an instruction."""

    instruction: str  # its identifier


@dataclass(frozen=True)
class Wait:
    """A barrier."""

    scope: str  # "local" or "global"


@dataclass(frozen=True)
class Loop:
    """A loop over an iname. The loop is sequential or unrolled."""

    iname: str
    body: "tuple[Node, ...]"


@dataclass(frozen=True)
class DeviceKernel:
    """A device kernel in the launch sequence."""

    name: str
    body: "tuple[Node, ...]"


Node = Run | Wait | Loop | DeviceKernel
#: A position in a launch's schedule: the number of a node among its siblings, the loop, the number in that loop, ...
#: ``(4, "k", 0)`` is the first node in the loop ``k``, which is the third node of its launch. Nodes have even
#: numbers. A load for a node's test precedes the node and has the odd number before it.
NodePath = tuple[int | str, ...]


def nodes_in(nodes: Iterable[Node], loops: tuple[str, ...] = ()) -> Iterator[tuple[Node, tuple[str, ...]]]:
    """Yield some nodes and all nodes below them, in schedule order, each with the loops around it."""
    for node in nodes:
        yield node, loops
        if isinstance(node, (Loop, DeviceKernel)):
            yield from nodes_in(node.body, (*loops, node.iname) if isinstance(node, Loop) else loops)


def instructions_in(node: Node) -> list[str]:
    """Return the identifiers of the instructions below a node, in schedule order."""
    return [each.instruction for each, _ in nodes_in([node]) if isinstance(each, Run)]


def has_barrier(node: Node) -> bool:
    """Return whether the node is a barrier or has a barrier below it."""
    return any(isinstance(each, Wait) for each, _ in nodes_in([node]))


def device_kernels(nodes: Iterable[Node]) -> list[DeviceKernel]:
    """Return the device kernels below some nodes, in schedule order. There is one for each launch of a program."""
    return [node for node, _ in nodes_in(nodes) if isinstance(node, DeviceKernel)]


OpKind = tuple[str, str]  #: ``("float32", "mul")``, ``("global", "load")`` or ``("local", "barrier")``
#: An affine index: its constant, and the coefficients of the names in it; None for an index that is not affine.
Index = tuple[int, tuple[tuple[str, int], ...]] | None
Cell = tuple[Index, ...]
NAME = re.compile(r"(?<![\w.])[^\W\d]\w*")  # in the text of an operand
INDEX_DIVISIONS = ("index_div", "row_index_div")  # by a size, in an index: for each lane, and equal for a row of lanes
UNLISTED = ("atomic", "convert", "switch", "index", *INDEX_DIVISIONS)  # kinds that nests have, but no table
DECISIONS = ("compare", "select", *UNLISTED)  # kinds of operations that are not counted as arithmetic
ARITHMETIC = frozenset({"add", "mul", "madd", "div", "pow", "minmax", "shift", "bitwise", "intpow"})
BUILT_IN = frozenset({
    "abs", "acos", "acosh", "acospi", "asin", "asinh", "asinpi", "atan", "atan2", "atan2pi", "atanh", "atanpi",
    "cbrt", "ceil", "clamp", "copysign", "cos", "cosh", "cospi", "dot", "erf", "erfc", "exp", "exp10", "exp2", "expm1",
    "fabs", "fdim", "floor", "fma", "fmod", "frexp", "hypot", "ilogb", "isfinite", "isinf", "isnan", "ldexp",
    "lgamma", "log", "log10", "log1p", "log2", "logb", "mad", "modf", "nan", "nextafter", "pow", "pown", "powr",
    "remainder", "remquo", "rint", "rootn", "round", "rsqrt", "sign", "sin", "sincos", "sinh", "sinpi", "sqrt",
    "tan", "tanh", "tanpi", "tgamma", "trunc",
})  # fmt: skip
"""OpenCL's functions of numbers. Any other function is the user's own."""
SHARED = ("global", "local")  # the spaces whose accesses take time; private ones are registers


class Read(NamedTuple):  # counts make thousands; a NamedTuple is four times as fast as a dataclass
    """A value that a statement needs, and the operations and accesses from this value to the statement's result."""

    variable: str  # a temporary or an array
    cell: Cell  # where in it; empty for a scalar
    path: tuple[OpKind, ...]  # the load from memory, if any, then each operation from the value to the result, as in C


#: The number n of another operation of the instruction, ~n for its negative, or a text with all names that the operand
#: depends on: ``"2.0"``, ``"a[i]"``, ``"x if c else y"``. The third operand of a minimum or a comparison is its name.
Operand = int | str


def literal_of(text: str) -> float | None:
    """Return the number in a text, or None if the text is not a literal."""
    try:
        return None if NAME.search(text) else float(text)
    except ValueError:
        return None


class Computed(NamedTuple):
    """An operation of an instruction, and its operands."""

    number: int  # among the operations of the instruction
    dtype: str
    kind: str
    lanes: int  # components of the widest operand, each of which is an operation
    operands: tuple[Operand, ...]


class Write(NamedTuple):
    """The place where a statement stores its result."""

    variable: str
    cell: Cell
    space: str  # "global", "local" or "private"


@dataclass(frozen=True)
class Step:
    """One statement: the cells that it reads and writes, and the operations and accesses of one execution."""

    name: str  # identifier of the instruction, as in the schedule
    reads: tuple[Read, ...]  # the values that it needs, also for its guards and data-dependent indices
    writes: tuple[Write, ...]  # what it assigns
    #: operations and accesses to global and local memory: the two parts of each kind, and their number
    operations: tuple[tuple[str, str, int], ...]
    guarded: bool = False  # whether a test decides if it is executed
    names: tuple[str, ...] = ()  # inames, variables and arguments that it reads; empty where they are not recorded


@dataclass(frozen=True)
class Dataflow(FrozenValue):
    """All statements of a kernel, in the order of the schedule."""

    steps: tuple[Step, ...]
    unrolled: tuple[str, ...] = ()  # inames of loops that the generated code writes out, or that are lanes of a vector
    parallel: tuple[str, ...] = ()  # inames on hardware axes

    @cached_property
    def by_name(self) -> Mapping[str, Step]:
        return {step.name: step for step in self.steps}


@dataclass(frozen=True)
class Launch:
    """One device kernel of the launch sequence."""

    name: str  # of the device kernel in the generated code
    group_shape: tuple[int, ...]  # work-items along the local axes 0, 1, ...
    grid: tuple[isl.PwAff, ...]  # work-groups along the group axes 0, 1, ..., as functions of the parameters
    repeats: isl.Set  # values of the host's loops around the launch

    @property
    def group_size(self) -> int:
        """The number of work-items in a work-group."""
        return prod(self.group_shape)


def unknown_probability(test: str) -> str:
    """Return the reason for doubt if the probability of a test of data is not known."""
    return f"the probability of '{test}' is not known"


@dataclass(frozen=True, eq=False)
class Domain(FrozenValue):
    """The instances at which a statement is executed."""

    launch: int  # position in the program
    points: isl.Set  # the executed values of the inames, one set dimension for each
    axes: tuple[str, ...]  # for each set dimension: "g.0", "l.1" (a hardware axis) or "" (sequential)
    #: The product of the mean trip counts of data-dependent loops, which are not among the set's dimensions.
    trips: Fraction | None = None
    chance: Fraction = Fraction(1)  # product of the probabilities of the data-dependent tests around it
    exact: bool = True  # False where the points are a superset of the executed ones
    #: The sequential inames whose value each lane fixes; the lanes of a sub-group run their loops together.
    tied: frozenset[str] = frozenset()
    reasons: tuple[str, ...] = ()  # why it is not exact
    means: tuple[tuple[str, Fraction], ...] = ()  # of each loop in `trips`

    @property
    def factor(self) -> Fraction:
        """The factor by which statistics change the number of points."""
        return self.chance if self.trips is None else self.trips * self.chance

    @property
    def doubts(self) -> tuple[str, ...]:
        """The reasons why it is unknown which work-items execute the statement. Statistics only give their number."""
        if self.exact and self.chance == 1 and self.trips is None:
            return ()
        return self.reasons or ("data decide which work-items execute it",)

    @property
    def unknown_tests(self) -> tuple[str, ...]:
        """The tests of data around it whose probabilities are not known. They count as always true."""
        start, end = unknown_probability("\n").split("\n")
        tests = (reason for reason in self.reasons if reason.startswith(start) and reason.endswith(end))
        return tuple(reason.removeprefix(start).removesuffix(end) for reason in tests)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(self.points.get_var_names(isl.dim_type.set))

    @cached_property
    def with_loops(self) -> isl.Set:
        """The points with one more dimension for each loop in ``trips``. These dimensions have no bounds."""
        points = self.points.add_dims(isl.dim_type.set, len(self.means))
        for position, (name, _) in enumerate(self.means, len(self.names)):
            points = points.set_dim_name(isl.dim_type.set, position, name)
        return points


@dataclass(frozen=True)
class Operation:
    """``amount`` real operations of one kind at each instance."""

    dtype: str
    kind: str
    amount: int = 1


@dataclass(frozen=True)
class LaneStride:
    """The distance between the cells of neighbouring lanes, on a part of an access's domain."""

    distance: isl.PwQPolynomial  # |address difference| in units of the access, a function of the parameters
    within: isl.Set | None  # where it holds; None for everywhere
    #: The distance, if it is a constant along the array's unit-stride axis; else None, as lanes touch several rows.
    along_unit_axis: int | None


SPAN = ":span"  # the suffix of an array's name in the key of its span in ``statistics``


class Statistic(NamedTuple):
    """A statistic from the user. The upper bound is the product of the numbers of points of ``most``."""

    key: str
    value: Fraction
    most: tuple[isl.Set, ...]


class IndexSpan(NamedTuple):
    """The locality of data-dependent indices. One work-item's indices lie in a window of ``indices`` indices."""

    indices: Fraction
    axes: tuple[int, ...]  # the array's axes with data-dependent indices
    cells: int | None = None  # distinct cells of the array that the access touches; None if unknown


@dataclass(frozen=True)
class Access:
    """One load or store at each instance. Addresses are in units of the access."""

    space: str  # "global", "constant", "local" or "private"
    direction: str  # "load" or "store"
    array: str
    dtype: str  # of an element; of one component, for vector types
    bits: int  # size of the access
    cells: isl.Map | None  # from the domain's points to the array's cells; None where the index depends on data
    cells_exact: bool  # False where different cells of the map may be one cell of the array
    shape: tuple[isl.Set, ...] | None  # for each axis the indices 0 <= x < extent; None where they are not known
    unit_axis: int | None  # the axis along which neighbouring cells are adjacent in memory
    lane_stride: tuple[LaneStride, ...]  # between neighbouring lanes, and where each holds; empty if indirect
    strides: tuple[isl.PwQPolynomial, ...]  # distance in memory between neighbours along each axis
    offset: isl.PwQPolynomial  # address of the array's cell 0, from an aligned base
    #: The argument that only gives the array's offset (by default 0), and how much the address grows with it.
    shift: tuple[str, int] | None = None
    walks: bool = False  # whether a data-dependent loop goes along adjacent cells
    span: IndexSpan | None = None
    along: str = ""  # the loop that walks, if several data-dependent loops are around the access
    #: The map from :attr:`Domain.with_loops` to cells, if data-dependent loops are in the index.
    moves: isl.Map | None = None
    drifts: bool = False  # whether the first value of such a loop, or a part of the index, depends on data
    chosen: str = ""  # the parts of the index that data decide, such as "idx[e]" in ``u[idx[e], j]``
    chosen_by: tuple[str, ...] = ()  # the inames on which these parts depend
    #: Whether C adds a 64-bit size to the address before it adds the lane. The lane is then converted to 64 bits alone.
    widened: bool = False

    def shifted(self, sizes: Mapping[str, int]) -> int:
        """Return the part of the address that comes from the argument for the array's offset, at some sizes."""
        return 0 if self.shift is None else self.shift[1] * sizes.get(self.shift[0], 0)

    @property
    def indirect(self) -> bool:
        """Whether the address depends on data."""
        return not self.lane_stride


@dataclass(frozen=True)
class Statement:
    """The operations and accesses of an instruction or a test, executed at the points of one domain."""

    domain: Domain
    operations: tuple[Operation, ...]
    accesses: tuple[Access, ...]
    place: NodePath = ()
    instruction: str = ""  # its identifier; "" for a test
    computed: tuple[Computed, ...] = ()  # each of the operations, or nothing where operands are not recorded


@dataclass(frozen=True)
class BarrierSite:
    """A barrier. ``points`` are the values of loops and group axes at which a group executes it."""

    launch: int
    scope: str
    points: isl.Set
    axes: tuple[str, ...]
    factor: Fraction = Fraction(1)
    exact: bool = True
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Program:
    """A scheduled kernel, the input of all counters."""

    name: str
    parameters: tuple[str, ...]
    assumptions: isl.Set
    launches: tuple[Launch, ...]
    statements: tuple[Statement, ...]
    barriers: tuple[BarrierSite, ...]
    schedule: tuple[Node, ...]
    dataflow: Dataflow = Dataflow(())
    statistics: tuple[Statistic, ...] = ()  # those that have a largest value
    #: The :data:`DECISIONS` of instructions and tests, which are not among the operations of `statements`.
    decisions: tuple[Statement, ...] = ()
