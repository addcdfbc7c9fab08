"""The tree of a launch's loops, and the references in it: what of its traffic is the same at all sizes.

The picture is the loops in the order in which the device runs them (:mod:`~perfmodel.counts.traffic.order`), with the
references where they stand. Row sums in groups of 64, on a device that runs one work-item after another::

    launch              loop 0, depth -1
        g.0             loop 1, depth 0
            l.0         loop 2, depth 1
                j       loop 3, depth 2
                    a   reference 0: steps 64*4*m, 4*m, 4; iterations 1, n/64, n, n*m
                out     reference 1: steps 64*4, 4;        iterations 1, n/64, n

A *reference* stands for accesses to one array that move alike, as ``a[i - 1]`` and ``a[i + 1]``: a box for each start.
A loop's extent is the ratio of iterations in it to those around it: n*m/n = m for j. At n = 128, m = 64 the steps of
``a`` are 16384, 256 and 4 bytes and its extents 2, 64 and 64.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, reduce
from itertools import pairwise, starmap
from math import prod
from typing import Generic, TypeVar

import islpy as isl

from perfmodel.counts.counters.executions import Cardinalities
from perfmodel.counts.flow.trips import Trips
from perfmodel.counts.nests.nest import address_of, moving_address_of
from perfmodel.counts.points.cardinality import Cardinality
from perfmodel.counts.program.program import Access, Domain, device_kernels
from perfmodel.counts.quasipoly.count import Count
from perfmodel.counts.quasipoly.distinct import DistinctCounts
from perfmodel.counts.traffic.digits import StepsByDigits, by_digits, digits_of
from perfmodel.counts.traffic.order import Path, paths
from perfmodel.values import FrozenValue

SET = isl.dim_type.set
UNIT = Cardinality(isl.PwQPolynomial("{ 1 }"))

Number = TypeVar("Number", Count, float)


@dataclass(frozen=True)
class CoupledLoop(Generic[Number]):
    """A loop around a reference by its depth, and the iterations outside of it and in it."""

    depth: int
    outside: Number
    inside: Number


@dataclass(frozen=True)
class Window(Generic[Number]):
    """Indices that data give: those of a work-item lie in a window of so many, which moves on with the work-items."""

    width: Number | None  # None where nothing says that it is not all indices
    indices: Number | None  # from the first to the last; None where the array's shape is not known
    moving: tuple[bool, ...]  # which of the loops move it: those over work-items, else the outermost


@dataclass(frozen=True)
class Reference(Generic[Number]):
    """Accesses that move alike: one box for each start.

    Where a guard couples loops, ``coupled`` has for each depth the loops from there inwards, the smallest steps first.
    The order decides which of them is the shorter. It is None where the loops do not depend on each other.
    """

    array: str
    size: int  # bytes of one access
    loops: tuple[int, ...]  # around it, outermost first
    iterations: tuple[Number, ...]  # how often their bodies are executed: first outside of all, then in each
    blocks: tuple[tuple[int, int], ...]  # depths of loops over blocks, as vectors, and of those over what is in them
    steps: tuple[Number, ...] | None  # how far each moves the address [B]; None where data, or no affine form, give it
    coupled: tuple[tuple[CoupledLoop[Number], ...], ...] | None
    starts: tuple[Number, ...]  # where the boxes begin, in bytes from the array's first cell
    stores: tuple[bool, ...]  # which of them are stored to
    span: Number | None  # bytes of the array from its first cell to its last; None where its shape is not known
    walked: int | None  # the depth of a loop that data bounds, and that goes from each cell to the next
    paged: bool  # whether the array lies in global memory, where it begins on a page
    window: Window[Number] | None  # where data index, what is known of how local the indices are


@dataclass(frozen=True)
class TreeLoop:
    """A loop of the tree."""

    depth: int  # how many loops are around it
    children: tuple[int, ...]  # loops by their numbers, and references, each as ~number, which is negative; in order
    references: frozenset[int]  # all below


@dataclass(frozen=True)
class Gap:
    """Two children of a loop that use an array one after the other, and the references between them."""

    before: int
    reference_before: int  # to the array, below the child
    after: int
    reference_after: int
    between: frozenset[int]


@dataclass(frozen=True, eq=False)
class LoopTree(FrozenValue):
    """The loops of a launch, the first of which stands for the launch itself, and the arrays of its references."""

    loops: tuple[TreeLoop, ...]
    arrays: tuple[str, ...]

    def below(self, child: int) -> frozenset[int]:
        """Return the references below a child of a loop."""
        return frozenset((~child,)) if child < 0 else self.loops[child].references

    def by_array(self, references: frozenset[int]) -> Mapping[str, tuple[int, ...]]:
        """Return references by their arrays."""
        if references not in self._by_array:
            by_array: dict[str, list[int]] = defaultdict(list)
            for k in sorted(references):
                by_array[self.arrays[k]].append(k)
            self._by_array[references] = {array: tuple(numbers) for array, numbers in by_array.items()}
        return self._by_array[references]

    def gaps(self, loop: int, k: int) -> tuple[Gap, ...]:
        """Return the gaps between uses of reference k's array in a loop; the last is that to the next iteration."""
        key = loop, k
        if key not in self._gaps:
            self._gaps[key] = tuple(self._make_gaps(self.loops[loop].children, k))
        return self._gaps[key]

    def _make_gaps(self, children: Sequence[int], k: int) -> Iterator[Gap]:
        users = [
            (position, user) for position, child in enumerate(children) if (user := self._user(child, k)) is not None
        ]
        for (before, user_before), (after, user_after) in zip(users, [*users[1:], users[0]], strict=True):
            passed = children[before + 1:after] if after > before else (*children[before + 1:], *children[:after])
            between = frozenset(j for child in passed for j in self.below(child))
            yield Gap(children[before], user_before, children[after], user_after, between)

    def _user(self, child: int, k: int) -> int | None:
        """Return the reference itself, or else one to the same array, where it is below a child."""
        below, array = self.below(child), self.arrays[k]
        return k if k in below else next((j for j in sorted(below) if self.arrays[j] == array), None)

    @cached_property
    def _gaps(self) -> dict[tuple[int, int], tuple[Gap, ...]]:
        return {}

    @cached_property
    def _by_array(self) -> dict[frozenset[int], Mapping[str, tuple[int, ...]]]:
        return {}


@dataclass(frozen=True)
class LaunchReferences(Generic[Number]):
    """A launch: the tree of its loops and its references, in the order of the device."""

    tree: LoopTree
    references: tuple[Reference[Number], ...]


@dataclass(frozen=True, eq=False)
class _Frame:
    """The loops around a statement, outermost first."""

    path: Path
    loops: tuple[Path, ...]  # the paths to them
    names: tuple[str, ...]  # their inames; "" where the statement does not depend on a loop
    widths: tuple[int, ...]  # values of the iname in an iteration: lanes of a vector, or the place value of a digit
    scales: tuple[Fraction, ...]  # of the iterations, by which each loop makes fewer or more than its number has values
    iterations: tuple[Count, ...]  # as in a reference
    data_loop: int | None  # the depth of the loop whose trips statistics give

    def loops_of(self, domain: Domain) -> tuple[str, ...]:
        """Return the inames, also of the loop whose trips statistics give."""
        (data,) = [name for name, _ in domain.means] if len(domain.means) == 1 else [""]
        return tuple(data if depth == self.data_loop else name for depth, name in enumerate(self.names))

    @property
    def blocks(self) -> tuple[tuple[int, int], ...]:
        """As in a reference."""
        entries = [str(path[-1]).partition("/")[0] for path in self.loops]
        around = (depth for depth, width in enumerate(self.widths) if width > 1)
        return tuple([(depth, entries.index(entries[depth], depth + 1)) for depth in around])


@dataclass(frozen=True, eq=False)
class _Box:
    """An access as a reference of one start."""

    access: Access
    frame: _Frame
    steps: tuple[Count, ...] | None
    coupled: tuple[tuple[CoupledLoop[Count], ...], ...] | None
    start: Count
    exact: bool

    @property
    def motion(self) -> tuple[object, ...]:
        """What accesses that move alike have in common."""
        steps = None if self.steps is None else tuple(str(step.polynomial) for step in self.steps)
        return self.access.array, self.access.bits // 8, id(self.frame), steps, self.access.walks


def references_of(
    cardinalities: Cardinalities,
    launch: int,
    unrolled: Container[str],
    order: str,
    lanes: int,
    spans: Mapping[str, Count],
) -> tuple[LaunchReferences[Count], bool]:
    """Return the references of a launch in the order of the device, and whether all of them are exact.

    Registers (private arrays) are left out. ``spans`` are the bytes of each array where they are known. A
    reference is not exact where its executed instances are only bounded.
    """
    program = cardinalities.program
    device = list(device_kernels(program.schedule))[launch]
    around = paths(device, program.launches[launch], unrolled, order, lanes)
    frames = _Frames(cardinalities, launch, digits_of(program, launch))
    alike: dict[tuple[object, ...], list[_Box]] = defaultdict(list)
    for statement in program.statements:
        domain = statement.domain
        for access in statement.accesses if domain.launch == launch else ():
            if access.space != "private":
                box = _box(frames, access, domain, frames.of(domain, around[statement.place]))
                alike[box.motion].append(box)
    groups = sorted(alike.values(), key=lambda boxes: [(isinstance(step, str), step) for step in boxes[0].frame.path])
    tree, loops_around = _tree([boxes[0] for boxes in groups])
    references = tuple(
        _reference(boxes, loops, spans.get(boxes[0].access.array), _window(cardinalities, boxes[0]))
        for boxes, loops in zip(groups, loops_around, strict=True)
    )
    return LaunchReferences(tree, references), all(boxes[0].exact for boxes in groups)


def _box(frames: _Frames, access: Access, domain: Domain, frame: _Frame) -> _Box:
    moved = not access.drifts and len(domain.means) == 1 and frames.is_box(domain)
    address = moving_address_of(access, domain) if moved else address_of(access, domain)
    if address is not None:
        names = frame.loops_of(domain)
        steps = tuple(width * address.step(name) for name, width in zip(names, frame.widths, strict=True))
        start = address.start
    elif steps_by_digits := StepsByDigits.of(access, domain):
        steps = tuple(starmap(steps_by_digits.step, zip(frame.names, frame.widths, strict=True)))
        start = steps_by_digits.start
    else:
        return _Box(access, frame, None, None, Count.constant(0, "byte"), exact=False)
    exact = domain.exact and domain.factor == 1 and address is not None
    return _Box(access, frame, steps, frames.coupled(domain, frame, steps), start, exact)


def _window(cardinalities: Cardinalities, box: _Box) -> Window[Count] | None:
    """Return what is known of the indices that data give; None where they don't, or where a loop goes along cells."""
    if box.steps is not None or (box.access.walks and box.frame.data_loop is not None):
        return None
    over_items = tuple(entry[:2] in ("g.", "l.") for entry in box.frame.path if isinstance(entry, str))
    moving = over_items if any(over_items) else tuple(k == 0 for k in range(len(over_items)))
    span, extents = box.access.span, box.access.shape
    if span is None:
        return Window(None, None, moving)
    width, indices = Count.constant(span.indices, "cell"), None
    if extents is not None and all(extents[axis].is_bounded() for axis in span.axes):
        numbers = (cardinalities.wrap(cardinalities.size(extents[axis]), granularity="cell") for axis in span.axes)
        indices = reduce(Count.times, numbers)
    return Window(width, indices, moving)


def _reference(
    boxes: Sequence[_Box], loops: tuple[int, ...], span: Count | None, window: Window[Count] | None
) -> Reference[Count]:
    first, access = boxes[0], boxes[0].access
    return Reference(
        access.array, access.bits // 8, loops, first.frame.iterations,
        first.frame.blocks, first.steps, first.coupled,
        tuple(box.start for box in boxes), tuple(box.access.direction == "store" for box in boxes), span,
        first.frame.data_loop if access.walks and first.steps is None else None, access.space == "global",
        window,
    )  # fmt: skip


def _tree(boxes: Sequence[_Box]) -> tuple[LoopTree, list[tuple[int, ...]]]:
    """Return the tree of loops around boxes, which are in the order of the device, and the loops around each."""
    numbers: dict[Path, int] = {(): 0}
    children: list[list[int]] = [[]]
    depths, below = [-1], [set(range(len(boxes)))]
    loops_around = []
    for k, box in enumerate(boxes):
        loops = [0]
        for depth, path in enumerate(box.frame.loops):
            if path not in numbers:
                numbers[path] = len(children)
                children[loops[-1]].append(numbers[path])
                children.append([])
                depths.append(depth)
                below.append(set())
            loops.append(numbers[path])
            below[loops[-1]].add(k)
        children[loops[-1]].append(~k)
        loops_around.append(tuple(loops[1:]))
    tree_loops = map(TreeLoop, depths, map(tuple, children), map(frozenset, below))
    return LoopTree(tuple(tree_loops), tuple(box.access.array for box in boxes)), loops_around


@dataclass
class _Frames:
    """The loops around the statements of one launch; those of one domain at one place are made once."""

    cardinalities: Cardinalities
    launch: int
    digits: Mapping[str, tuple[int, ...]]
    frames: dict[tuple[Domain, Path], _Frame] = field(default_factory=dict)
    uncoupled: dict[Domain, bool] = field(default_factory=dict)
    loops: dict[tuple[_Frame, tuple[int, ...]], tuple[tuple[CoupledLoop[Count], ...], ...] | None] = field(
        default_factory=dict
    )
    iterations: dict[tuple[Domain, frozenset[str], int], tuple[Cardinality, Count]] = field(default_factory=dict)

    def of(self, domain: Domain, path: Path) -> _Frame:
        """Return the loops around the statement at a path."""
        if (domain, path) not in self.frames:
            whole = by_digits(self._with_copies(domain, path), self.digits)
            self.frames[domain, path] = self._frame(domain, whole)
        return self.frames[domain, path]

    def _host_names_of(self, domain: Domain) -> list[str]:
        """Return the inames of loops around the launch on which a domain depends."""
        names = self.cardinalities.program.launches[self.launch].repeats.get_var_names(SET)
        return [name for name in names if name in domain.names]

    def _with_copies(self, domain: Domain, path: Path) -> Path:
        """Return a path with the inames that have no loop in the schedule: a copy of the statement for each value."""
        pairs, host = zip(domain.names, domain.axes, strict=True), self._host_names_of(domain)
        copies = [name for name, axis in pairs if not axis and name not in path and name not in host]
        last = len(path) - (path[-1] == "l.0")
        return (*path[:last], *copies, *path[last:])

    def _frame(self, domain: Domain, path: Path) -> _Frame:
        by_axis = {axis: name for axis, name in zip(domain.axes, domain.names, strict=True) if axis}
        inside = self._host_names_of(domain)
        factor = UNIT
        if not inside:
            factor = self.cardinalities.size(self.cardinalities.program.launches[self.launch].repeats)
        trips = domain.trips
        iterations = [self._iterations(domain, inside, factor)]
        loops, names, widths = list[Path](), list[str](), list[int]()
        data_loop: int | None = None
        taken: dict[str, int] = {}  # of a number's values those that an iteration takes
        scales = list[Fraction]()
        for depth, entry in enumerate(path, 1):
            if isinstance(entry, str):
                axis, _, width = entry.partition("/")
                name = by_axis.get(axis, axis)
                if axis in taken:
                    pass  # the loops of one number make its iterations together
                elif name in domain.names:
                    inside.append(name)
                elif entry[:2] in ("g.", "l."):
                    factor = factor.times(self._axis_extent(axis))
                elif trips is not None:  # statistics give the trips of all such loops together
                    factor, trips = factor.times(isl.PwQPolynomial(f"{{ {trips} }}")), None
                    data_loop = len(loops)
                loops.append(path[:depth])
                names.append(name if name in domain.names else "")
                widths.append(int(width or 1))
                scales.append(Fraction(taken.get(axis, 1), widths[-1]))
                taken[axis] = widths[-1]
                iterations.append(prod(scales) * self._iterations(domain, inside, factor))
        return _Frame(path, tuple(loops), tuple(names), tuple(widths), tuple(scales), tuple(iterations), data_loop)

    def _iterations(self, domain: Domain, inside: Sequence[str], factor: Cardinality) -> Count:
        """Return the values that the inames inside take in a domain, times a factor."""
        key = (domain, frozenset(inside), id(factor))
        if key not in self.iterations:
            number = factor
            if inside:
                points = domain.points.project_out_except(inside, [SET]).coalesce()
                number = self.cardinalities.size(points).times(factor)
            self.iterations[key] = (factor, self.cardinalities.wrap(number))  # that the factor lives keeps its identity
        return self.iterations[key][1]

    def _axis_extent(self, axis: str) -> isl.PwQPolynomial:
        launch, number = self.cardinalities.program.launches[self.launch], int(axis[2:])
        if axis.startswith("l"):
            return isl.PwQPolynomial(f"{{ {launch.group_shape[number]} }}")
        return isl.PwQPolynomial.from_pw_aff(launch.grid[number])

    def coupled(
        self, domain: Domain, frame: _Frame, steps: Sequence[Count]
    ) -> tuple[tuple[CoupledLoop[Count], ...], ...] | None:
        """Return the coupled loops of a reference, or None where the loops of its domain are not coupled."""
        if self.is_box(domain):
            return None
        sizes = [abs(float(step(**dict.fromkeys(step.parameters, 1) | self.large_sizes))) for step in steps]
        moving = (k for k, name in enumerate(frame.names) if name and sizes[k])
        order = tuple(sorted(moving, key=sizes.__getitem__))
        if (frame, order) not in self.loops:
            loops = tuple(self._coupled(domain, frame, order, depth) for depth in range(len(sizes) + 1))
            self.loops[frame, order] = None if _are_nested(loops, frame.iterations) else loops
        return self.loops[frame, order]

    def _coupled(
        self, domain: Domain, frame: _Frame, order: Sequence[int], depth: int
    ) -> tuple[CoupledLoop[Count], ...]:
        """Return the loops from a depth inwards, in this order."""
        inside = [*self._host_names_of(domain), *dict.fromkeys(name for name in frame.names[:depth] if name)]
        scale = prod(frame.scales[:depth], start=Fraction(1))
        outside, loops = scale * self._iterations(domain, inside, UNIT), []
        for k in order:
            if k >= depth:
                scale *= frame.scales[k]
                if frame.names.index(frame.names[k]) == k:  # else the loop goes over a smaller digit
                    inside.append(frame.names[k])
                iterations = scale * self._iterations(domain, inside, UNIT)
                loops.append(CoupledLoop(k, outside, iterations))
                outside = iterations
        return tuple(loops)

    def is_box(self, domain: Domain) -> bool:
        """Whether no condition couples the inames of a domain."""
        if domain not in self.uncoupled:
            box = isl.Set("{ [] }")
            number = len(domain.axes)
            for k in range(number):
                box = box.flat_product(domain.points.project_out(SET, k + 1, number - k - 1).project_out(SET, 0, k))
            self.uncoupled[domain] = bool(box.is_equal(domain.points))
        return self.uncoupled[domain]

    @cached_property
    def large_sizes(self) -> dict[str, int]:
        """Large sizes, at which steps are compared."""
        return dict(Trips(self.cardinalities).sizes)


def _are_nested(loops_by_depth: Sequence[Sequence[CoupledLoop[Count]]], iterations: Sequence[Count]) -> bool:
    """Return whether coupled loops are, at each depth, the loops as they are nested, with their iterations."""
    position = DistinctCounts()
    nested = [(k, position(outside), position(inside)) for k, (outside, inside) in enumerate(pairwise(iterations))]
    return all(
        [(loop.depth, position(loop.outside), position(loop.inside)) for loop in loops] == nested[depth:]
        for depth, loops in enumerate(loops_by_depth)
    )
