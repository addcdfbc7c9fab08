"""The loop tree of a launch, and the references in this tree. This part of the traffic is the same at all sizes.

Steps, starts and iterations are counts, to be evaluated at sizes. Row sums in groups of 64, on a device that runs one
work-item after another (:mod:`~perfmodel.counts.traffic.order`)::

    launch              loop 0, depth -1
        g.0             loop 1, depth 0
            l.0         loop 2, depth 1
                j       loop 3, depth 2
                    a   reference 0: steps 64*4*m, 4*m, 4; iterations 1, n/64, n, n*m
                out     reference 1: steps 64*4, 4;        iterations 1, n/64, n

A *reference* is all accesses to one array with the same motion, such as ``a[i - 1]`` and ``a[i + 1]``. Each access has
one start. The *extent* of a loop is the ratio of its iterations to the iterations around it, here n*m/n = m for j. So a
triangular loop has its mean extent.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, reduce
from itertools import pairwise
from math import prod
from typing import Generic

import islpy as isl

from perfmodel.counts.counters.executions import Cardinalities
from perfmodel.counts.flow.trips import Trips
from perfmodel.counts.nests.addresses import NO_BYTES, address_of, moving_address_of
from perfmodel.counts.nests.digits import AddressByDigits, name_and_place_value, place_values
from perfmodel.counts.points.cardinality import Cardinality
from perfmodel.counts.program.program import Access, Domain, device_kernels
from perfmodel.counts.quasipoly.count import Count
from perfmodel.counts.quasipoly.distinct import Amount, DistinctCounts
from perfmodel.counts.traffic.order import Path, paths, with_digit_loops
from perfmodel.values import grouped

SET = isl.dim_type.set
UNIT = Cardinality(isl.PwQPolynomial("{ 1 }"))


@dataclass(frozen=True)
class CoupledLoop(Generic[Amount]):
    """A loop around a reference: its depth, and the iterations outside and inside of the loop."""

    depth: int
    outside: Amount
    inside: Amount


@dataclass(frozen=True)
class Window(Generic[Amount]):
    """The window of one work-item's data-dependent indices, which moves from work-item to work-item."""

    width: Amount | None  # None if it may be all indices
    indices: Amount | None  # of the array; None if its shape is unknown
    moving: tuple[bool, ...]  # whether each loop moves it: the loops over work-items, or else the outermost loop


@dataclass(frozen=True)
class Reference(Generic[Amount]):
    """Accesses with the same motion. There is one box for each start.

    A guard may couple loops. Then ``coupled`` has for each depth the loops from that depth inwards, smallest steps
    first. The order decides which of two coupled loops is the shorter one. If no condition couples loops, ``coupled``
    is None.
    """

    array: str
    size: int  # bytes of one access
    loops: tuple[int, ...]  # around it, outermost first
    iterations: tuple[Amount, ...]  # executions outside of all loops, then in each loop
    blocks: tuple[tuple[int, int], ...]  # depths of a loop over blocks, such as vectors, and of its inner loop
    steps: tuple[Amount, ...] | None  # bytes by which each loop moves the address; None if not affine
    coupled: tuple[tuple[CoupledLoop[Amount], ...], ...] | None
    starts: tuple[Amount, ...]  # of the boxes, in bytes from the array's first cell
    stores: tuple[bool, ...]  # whether each start is of a store
    span: Amount | None  # bytes of the array; None if its shape is unknown
    walked: int | None  # the depth of a data-bounded loop over neighbouring cells
    paged: bool  # whether the array is in global memory and so starts on a page
    window: Window[Amount] | None  # of data-dependent indices
    #: Bytes by which each loop moves an address that data choose. A loop that chooses has None, as has an unknown one.
    rows: tuple[Amount | None, ...]


@dataclass(frozen=True)
class TreeLoop:
    """A loop of the loop tree."""

    depth: int  # loops around it
    children: tuple[int, ...]  # in order: numbers of loops, and ~number of references (negative)
    references: frozenset[int]  # all below


@dataclass(frozen=True)
class Gap:
    """Two children of a loop with consecutive uses of an array, and the references between these children."""

    before: int
    reference_before: int  # the use of the array, below this child
    after: int
    reference_after: int
    between: frozenset[int]


class LoopTree:
    """The loops of a launch, and the arrays of its references. The first loop is the launch."""

    def __init__(self, loops: tuple[TreeLoop, ...], arrays: tuple[str, ...]) -> None:
        self.loops, self.arrays = loops, arrays
        self.by_array, self.gaps = cache(self._by_array), cache(self._gaps)

    def below(self, child: int) -> frozenset[int]:
        return frozenset((~child,)) if child < 0 else self.loops[child].references

    def _by_array(self, references: frozenset[int]) -> Mapping[str, tuple[int, ...]]:
        by_array = grouped((self.arrays[k], k) for k in sorted(references))
        return {array: tuple(numbers) for array, numbers in by_array.items()}

    def _gaps(self, loop: int, k: int) -> tuple[Gap, ...]:
        """Return the gaps between uses of reference k's array in a loop. The last gap ends in the next iteration."""
        children = self.loops[loop].children
        each_user = ((position, self._user(child, k)) for position, child in enumerate(children))
        users = [(position, user) for position, user in each_user if user is not None]
        gaps = []
        for (before, user_before), (after, user_after) in zip(users, [*users[1:], users[0]], strict=True):
            passed = children[before + 1:after] if after > before else (*children[before + 1:], *children[:after])
            between = frozenset(j for child in passed for j in self.below(child))
            gaps.append(Gap(children[before], user_before, children[after], user_after, between))
        return tuple(gaps)

    def _user(self, child: int, k: int) -> int | None:
        """Return a reference below a child to the array of reference k, or None. Reference k is preferred."""
        below, array = self.below(child), self.arrays[k]
        return k if k in below else next((j for j in sorted(below) if self.arrays[j] == array), None)


@dataclass(frozen=True)
class LaunchReferences(Generic[Amount]):
    """The loop tree of a launch and its references, in the order of the device."""

    tree: LoopTree
    references: tuple[Reference[Amount], ...]


@dataclass(frozen=True, eq=False)
class _Frame:
    """The loops around a statement, outermost first."""

    path: Path
    loops: tuple[Path, ...]
    names: tuple[str, ...]  # "" if the statement does not depend on the loop
    widths: tuple[int, ...]  # values of the iname per iteration: lanes of a vector, or a digit's place value
    scales: tuple[Fraction, ...]  # iterations of each loop over values of its iname
    iterations: tuple[Count, ...]  # as in Reference
    data_loop: int | None  # the depth of the loop whose trips statistics give

    def loops_of(self, domain: Domain) -> tuple[str, ...]:
        (data,) = [name for name, _ in domain.means] if len(domain.means) == 1 else [""]
        return tuple(data if depth == self.data_loop else name for depth, name in enumerate(self.names))

    @property
    def blocks(self) -> tuple[tuple[int, int], ...]:
        entries = [name_and_place_value(str(path[-1]))[0] for path in self.loops]
        around = (depth for depth, width in enumerate(self.widths) if width > 1)
        return tuple([(depth, entries.index(entries[depth], depth + 1)) for depth in around])


@dataclass(frozen=True, eq=False)
class _Box:
    access: Access
    frame: _Frame
    steps: tuple[Count, ...] | None
    coupled: tuple[tuple[CoupledLoop[Count], ...], ...] | None
    start: Count
    exact: bool
    rows: tuple[Count | None, ...] = ()

    @property
    def motion(self) -> tuple[object, ...]:
        """A key that all accesses with the same motion share."""
        steps = None if self.steps is None else tuple(str(step.polynomial) for step in self.steps)
        return self.access.array, self.access.bits // 8, id(self.frame), steps, self.access.walks


def references_of(
    cardinalities: Cardinalities, launch: int, unrolled: Container[str], order: str, lanes: int,
    spans: Mapping[str, Count],
) -> tuple[LaunchReferences[Count], bool]:
    """Return a launch's references in the device's order, and whether all executions and addresses are known exactly.

    Private arrays are left out, since they are in registers. ``spans`` has the size [B] of each array of known shape.
    """
    program = cardinalities.program
    around = paths(list(device_kernels(program.schedule))[launch], program.launches[launch], unrolled, order, lanes)
    frames = _Frames(cardinalities, launch)
    every = (
        _box(frames, access, statement.domain, frames.of(statement.domain, around[statement.place]))
        for statement in program.statements if statement.domain.launch == launch
        for access in statement.accesses if access.space != "private"
    )  # fmt: skip
    alike = grouped((box.motion, box) for box in every)
    groups = sorted(alike.values(), key=lambda boxes: [(isinstance(step, str), step) for step in boxes[0].frame.path])
    tree, loops_around = _tree([boxes[0] for boxes in groups])
    references = tuple(
        _reference(cardinalities, boxes, loops, spans.get(boxes[0].access.array))
        for boxes, loops in zip(groups, loops_around, strict=True)
    )
    return LaunchReferences(tree, references), all(boxes[0].exact for boxes in groups)


def _box(frames: "_Frames", access: Access, domain: Domain, frame: _Frame) -> _Box:
    moved = not access.drifts and len(domain.means) == 1 and frames.is_box(domain)
    affine = moving_address_of(access, domain) if moved else address_of(access, domain)
    address = affine or AddressByDigits.of(access, domain)
    if address is None:
        return _Box(access, frame, None, None, NO_BYTES, exact=False, rows=_rows(access, domain, frame))
    strides = frames.strides_in(domain, frame)
    steps = tuple(
        strides.get(name, 1) * address.step(moved_by, width)
        for name, moved_by, width in zip(frame.names, frame.loops_of(domain), frame.widths, strict=True)
    )
    exact = domain.exact and domain.factor == 1 and affine is not None
    return _Box(access, frame, steps, frames.coupled(domain, frame, steps), address.start, exact)


def _rows(access: Access, domain: Domain, frame: _Frame) -> tuple[Count | None, ...]:
    """Return the steps [B] of loops that move an address like ``u[idx[e], j]`` along the row that data chose."""
    address = moving_address_of(access, domain) if access.chosen else None
    if address is None:
        return ()
    names = frame.loops_of(domain) if len(domain.means) == 1 else frame.names
    axes = (str(path[-1])[:2] in ("g.", "l.") for path in frame.loops)
    return tuple(
        address.step(name, width) if name in address.steps else NO_BYTES if axis and not name else None
        for name, width, axis in zip(names, frame.widths, axes, strict=True)
    )


def _window(cardinalities: Cardinalities, box: _Box) -> Window[Count] | None:
    """Return the window of data-dependent indices. Other indices, and loops over neighbouring cells, have none."""
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
    cardinalities: Cardinalities, boxes: Sequence[_Box], loops: tuple[int, ...], span: Count | None
) -> Reference[Count]:
    first, access = boxes[0], boxes[0].access
    return Reference(
        access.array, access.bits // 8, loops, first.frame.iterations, first.frame.blocks, first.steps, first.coupled,
        tuple(box.start for box in boxes), tuple(box.access.direction == "store" for box in boxes), span,
        first.frame.data_loop if access.walks and first.steps is None else None, access.space == "global",
        _window(cardinalities, first), first.rows,
    )  # fmt: skip


def _tree(boxes: Sequence[_Box]) -> tuple[LoopTree, list[tuple[int, ...]]]:
    """Return the tree of loops around boxes, and the loops around each box. Boxes are in the device's order."""
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


class _Frames:
    def __init__(self, cardinalities: Cardinalities, launch: int) -> None:
        self.cardinalities, self.number = cardinalities, launch
        self.launch = cardinalities.program.launches[launch]
        values = place_values(cardinalities.program, factors=False)
        self.digits = {name: numbers for (number, name), numbers in values.items() if number == launch}
        self.of, self.is_box, self._coupled_in = cache(self._of), cache(self._is_box), cache(self._coupled_in_order)
        self.strides, self.has_all_values = cache(self._strides), cache(_has_all_values)
        self._iterations_by: dict[tuple[Domain, frozenset[str], int], tuple[Cardinality, Count]] = {}

    def _of(self, domain: Domain, path: Path) -> _Frame:
        """Return the loops around a statement. If an iname has no loop in the schedule, each value is a copy."""
        pairs, host = zip(domain.names, domain.axes, strict=True), self._host_names_of(domain)
        copies = [name for name, axis in pairs if not axis and name not in path and name not in host]
        last = len(path) - (path[-1] == "l.0")
        return self._frame(domain, with_digit_loops((*path[:last], *copies, *path[last:]), self.digits))

    def _host_names_of(self, domain: Domain) -> list[str]:
        """Return the inames of loops around the launch on which a domain depends."""
        return [name for name in self.launch.repeats.get_var_names(SET) if name in domain.names]

    def _frame(self, domain: Domain, path: Path) -> _Frame:
        by_axis = {axis: name for axis, name in zip(domain.axes, domain.names, strict=True) if axis}
        inside = self._host_names_of(domain)
        factor = UNIT if inside else self.cardinalities.size(self.launch.repeats)
        trips = domain.trips
        iterations = [self._iterations(domain, inside, factor)]
        loops, names, widths = list[Path](), list[str](), list[int]()
        data_loop: int | None = None
        taken: dict[str, int] = {}  # values of an iname per iteration of the innermost loop so far
        scales = list[Fraction]()
        for depth, entry in enumerate(path, 1):
            if isinstance(entry, str):
                axis, width = name_and_place_value(entry)
                name = by_axis.get(axis, axis)
                if axis in taken:
                    pass  # the loops of one iname make its iterations together
                elif name in domain.names:
                    inside.append(name)
                elif entry[:2] in ("g.", "l."):
                    factor = factor.times(self._axis_extent(axis))
                elif trips is not None:  # statistics give the trips of all such loops together
                    factor, trips = factor.times(isl.PwQPolynomial(f"{{ {trips} }}")), None
                    data_loop = len(loops)
                loops.append(path[:depth])
                names.append(name if name in domain.names else "")
                widths.append(width)
                scales.append(Fraction(taken.get(axis, 1), width))
                taken[axis] = width
                iterations.append(prod(scales) * self._iterations(domain, inside, factor))
        return _Frame(path, tuple(loops), tuple(names), tuple(widths), tuple(scales), tuple(iterations), data_loop)

    def _iterations(self, domain: Domain, inside: Sequence[str], factor: Cardinality) -> Count:
        """Return the number of combined values of the inames ``inside`` in a domain, times a factor."""
        key = (domain, frozenset(inside), id(factor))
        if key not in self._iterations_by:
            number = factor
            if inside:
                points = domain.points.project_out_except(inside, [SET]).coalesce()
                number = self.cardinalities.size(points).times(factor)
            # keeps id(factor) in use
            self._iterations_by[key] = (factor, self.cardinalities.wrap(number))
        return self._iterations_by[key][1]

    def _axis_extent(self, axis: str) -> isl.PwQPolynomial:
        number = int(axis[2:])
        if axis.startswith("l"):
            return isl.PwQPolynomial(f"{{ {self.launch.group_shape[number]} }}")
        return isl.PwQPolynomial.from_pw_aff(self.launch.grid[number])

    def coupled(
        self, domain: Domain, frame: _Frame, steps: Sequence[Count]
    ) -> tuple[tuple[CoupledLoop[Count], ...], ...] | None:
        """Return the coupled loops of a reference, or None if no loops of its domain are coupled."""
        if self.is_box(domain):
            return None
        sizes = [abs(float(step(**{**dict.fromkeys(step.parameters, 1), **self._large_sizes}))) for step in steps]
        moving = (k for k, name in enumerate(frame.names) if name and sizes[k])
        return self._coupled_in(domain, frame, tuple(sorted(moving, key=sizes.__getitem__)))

    def _coupled_in_order(
        self, domain: Domain, frame: _Frame, order: tuple[int, ...]
    ) -> tuple[tuple[CoupledLoop[Count], ...], ...] | None:
        loops = tuple(self._coupled(domain, frame, order, depth) for depth in range(len(frame.names) + 1))
        return None if _are_nested(loops, frame.iterations) else loops

    def _coupled(
        self, domain: Domain, frame: _Frame, order: Sequence[int], depth: int
    ) -> tuple[CoupledLoop[Count], ...]:
        strides = self.strides_in(domain, frame)
        inside = list(dict.fromkeys(name for name in frame.names[:depth] if name))
        around, scale = self._host_names_of(domain), prod(frame.scales[:depth], start=Fraction(1))

        def values() -> Count:  # with those that a guard leaves out at regular distances
            left_out = prod(self.strides(domain, tuple(inside)))
            return scale * left_out * self._iterations(domain, [*around, *inside], UNIT)

        outside, loops = values(), []
        for k in order:
            if k >= depth:
                scale *= frame.scales[k]
                name, stride = frame.names[k], 1
                if frame.names.index(name) == k:  # else it is the loop of a smaller digit
                    inside.append(name)
                    stride = strides[name]
                iterations = values()
                loops.append(CoupledLoop(k, outside, Fraction(1, stride) * iterations if stride > 1 else iterations))
                outside = iterations
        return tuple(loops)

    def strides_in(self, domain: Domain, frame: _Frame) -> Mapping[str, int]:
        """Return the distances between the values of each iname, while the inames around it do not change."""
        names = tuple(dict.fromkeys(name for name in frame.names if name))
        return dict(zip(names, self.strides(domain, names), strict=True))

    def _strides(self, domain: Domain, names: tuple[str, ...]) -> tuple[int, ...]:
        """Return the distances between the values of inames, each while those before it do not change.

        If a guard executes the cells of one colour of a chessboard, they are 1 for the rows and 2 for the columns.
        """
        if self.has_all_values(domain):
            return (1,) * len(names)
        strides = []
        for number, name in enumerate(names, 1):
            points = domain.points.project_out_except([*self._host_names_of(domain), *names[:number]], [SET])
            strides.append(points.get_stride(points.find_dim_by_name(SET, name)).to_python())
        return tuple(strides)

    def _is_box(self, domain: Domain) -> bool:
        box = isl.Set("{ [] }")
        number = len(domain.axes)
        for k in range(number):
            box = box.flat_product(domain.points.project_out(SET, k + 1, number - k - 1).project_out(SET, 0, k))
        return bool(box.is_equal(domain.points))

    @cached_property
    def _large_sizes(self) -> Mapping[str, int]:
        return Trips(self.cardinalities).sizes


def _has_all_values(domain: Domain) -> bool:
    """Return whether no iname has only every second or third value and so on, at given values of all others."""
    points = domain.points
    divisions = any(piece.dim(isl.dim_type.div) for piece in points.get_basic_sets())
    return not divisions or all(points.get_stride(k).is_one() for k in range(points.dim(SET)))


def _are_nested(loops_by_depth: Sequence[Sequence[CoupledLoop[Count]]], iterations: Sequence[Count]) -> bool:
    """Return whether the coupled loops at each depth are all loops of the nest, with the nest's iterations."""
    position = DistinctCounts()
    nested = [(k, position(outside), position(inside)) for k, (outside, inside) in enumerate(pairwise(iterations))]
    return all(
        [(loop.depth, position(loop.outside), position(loop.inside)) for loop in loops] == nested[depth:]
        for depth, loops in enumerate(loops_by_depth)
    )
