"""Memory traces: the requests to global memory of some work-groups, in the order of the program.

What a work-item accesses, and when, follows from the polyhedral domains and the schedule; nothing is executed: the
points of isl's sets are listed at fixed sizes, and arrays are laid out in global memory. A sub-group runs in step: one
access by its active lanes makes a request for each line that they touch. Kim et al. 2012, section 4.2.3, collect such
traces with probes in the kernel's source.

A loop whose length is data, as along the rows of a sparse matrix, has the mean m of the ``statistics``: work-item i
goes from cell floor(i m) to before cell floor((i + 1) m), so that rows follow one another and are as even as can be.
In such a loop another one, of mean k, goes at cell c of the outer one from floor(c k) to before floor((c + 1) k).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod
from typing import NamedTuple

import islpy as isl
import numpy as np
from numpy.typing import NDArray

from perfmodel.counts.kernel import KernelCounts
from perfmodel.counts.lanes import addresses, value_of, values_at
from perfmodel.counts.program.program import Access, BarrierSite, Loop, Node, NodePath, Program, Wait, device_kernels
from perfmodel.counts.quasipoly.arguments import at_sizes, held, whole
from perfmodel.counts.quasipoly.evaluation import evaluated
from perfmodel.counts.quasipoly.printing import indicator_of
from perfmodel.errors import CountError, SizeError
from scripts.lab.kim.places import AccessPlace, access_places, loops_of

SET, PARAM, IN = isl.dim_type.set, isl.dim_type.param, isl.dim_type.in_
Ints = NDArray[np.int64]
MOST = 20_000_000  # points used for one set
PAGE = 4096  # bytes; every array begins on a page
BARRIER = -1  # the array of a row that is a barrier


def fixed(points: isl.Set, sizes: Mapping[str, int], values: Mapping[str, int] | None = None) -> isl.Set:
    """Return a set at some values of its parameters and dimensions; it has no parameters then."""
    return held(at_sizes(points, sizes), values or {}, SET)


def too_long(number: int) -> CountError:
    """Return the error of an access that a work-group executes too often to be traced."""
    problem = f"one access is executed up to {number} times by a work-group, and {MOST} are traced at most"
    return CountError(problem, "take smaller sizes that still fill the caches")


def enumerate_points(points: isl.Set) -> tuple[dict[str, Ints], int]:
    """Return the points of a bounded set without parameters, each dimension's values, and their number."""
    names = list(points.get_var_names(SET))
    if points.is_empty():
        return {name: np.zeros(0, np.int64) for name in names}, 0
    ends = [(points.dim_min_val(k).to_python(), points.dim_max_val(k).to_python()) for k in range(len(names))]
    number = prod(high - low + 1 for low, high in ends)
    if number > MOST:
        raise too_long(number)
    axes = np.meshgrid(*(np.arange(low, high + 1, dtype=np.int64) for low, high in ends), indexing="ij")
    columns = {name: axis.ravel() for name, axis in zip(names, axes, strict=True)}
    program = indicator_of(points.move_dims(PARAM, 0, SET, 0, len(names)).params())
    if not program.parameters:
        return columns, number
    inside = evaluated(program, [columns[name] for name in program.parameters], number) != 0
    return {name: column[inside] for name, column in columns.items()}, int(inside.sum())


def first_lines(program: Program, sizes: Mapping[str, int], line_bytes: int) -> dict[str, int]:
    """Return the number of the first line of each array in global memory, in the order of the names."""
    accesses = [a for statement in program.statements for a in statement.accesses if a.space == "global"]
    lines: dict[str, int] = {}
    end = 0
    for name in sorted({access.array for access in accesses}):
        lines[name] = -(-end // line_bytes)
        size = max(_bytes(access, sizes) for access in accesses if access.array == name)
        end = -(-(lines[name] * line_bytes + size) // PAGE) * PAGE
    return lines


def drawn_addresses(
    access: Access, sizes: Mapping[str, int], generator: np.random.Generator, count: int,
    along: NDArray[np.float64] | float = 0.0,
) -> Ints:  # fmt: skip
    """Return addresses drawn evenly from the whole array, or from as many neighbours as its span has.

    `along` is the position of each of the `count` accesses among all work-items, from 0 to 1: the neighbours move on
    with it from the first cells to the last.
    """
    extents = _extents(access, sizes)
    if extents is None:
        raise CountError(
            f"data give the index into '{access.array}', whose shape is not known", "declare the array's shape"
        )
    cells = max(int(np.prod(extents)), 1)
    span = cells if access.span is None or len(extents) > 1 else min(max(int(access.span.indices), 1), cells)
    first: Ints = np.floor(np.asarray(along) * (cells - span)).astype(np.int64)
    return first + generator.integers(0, span, count)


def rows_of(item: Ints, mean: Fraction) -> tuple[Ints, Ints]:
    """Return the first cell of each work-item's row, and the cells in it: rows follow one another, m cells on average.

    Examples
    --------
    >>> [part.tolist() for part in rows_of(np.arange(4), Fraction(5, 2))]
    [[0, 2, 5, 7], [2, 3, 2, 3]]
    """
    starts, ends = (one * mean.numerator // mean.denominator for one in (item, item + 1))
    return starts, ends - starts


def _extents(access: Access, sizes: Mapping[str, int]) -> tuple[int, ...] | None:
    if access.shape is None:
        return None
    ends = [fixed(extent, sizes).dim_max_val(0) for extent in access.shape]
    return tuple(int(end.to_python()) + 1 for end in ends) if all(end.is_int() for end in ends) else None


def _bytes(access: Access, sizes: Mapping[str, int]) -> int:
    """Return the bytes of an array; where its shape is unknown, more than arrays have in practice."""
    strides = [value_of(stride, sizes) for stride in access.strides]
    extents = _extents(access, sizes) or (1 << 20,) * len(strides)
    last = sum(abs(stride) * (extent - 1) for stride, extent in zip(strides, extents, strict=True))
    return (value_of(access.offset, sizes) + access.shifted(sizes) + last + 1) * access.bits // 8


class Runs(NamedTuple):
    """The executions of an access under loops whose lengths are data, in the order of the program.

    Parameters
    ----------
    place
        Of each execution which of the given work-items it is of, shape (n_executions,).
    turn, cell
        By each loop's name how often it has run before, and the cell that it has come to, shape (n_executions,).
    """

    place: Ints
    turn: Mapping[str, Ints]
    cell: Mapping[str, Ints]

    @classmethod
    def of(cls, item: Ints, loops: Iterable[tuple[str, Fraction]]) -> Runs:
        """Return those of work-items, shape (n_items,), under loops with their means, the outermost first.

        Examples
        --------
        >>> runs = Runs.of(np.arange(2), [("j", Fraction(2)), ("k", Fraction(3, 2))])
        >>> runs.place.tolist(), runs.cell["j"].tolist(), runs.cell["k"].tolist()
        ([0, 0, 0, 1, 1, 1], [0, 1, 1, 2, 3, 3], [0, 1, 2, 3, 4, 5])
        """
        place, last = np.arange(len(item)), item
        turns: dict[str, Ints] = {}
        cells: dict[str, Ints] = {}
        for name, mean in loops:
            starts, times = rows_of(last, mean)
            if (number := int(times.sum())) > MOST:
                raise too_long(number)
            turn = np.arange(number) - np.repeat(np.cumsum(times) - times, times)
            place = np.repeat(place, times)
            turns, cells = ({loop: np.repeat(column, times) for loop, column in of.items()} for of in (turns, cells))
            turns[name], cells[name] = turn, np.repeat(starts, times) + turn
            last = cells[name]
        return cls(place, turns, cells)


class LaunchRequests:
    """Lists the requests of one launch, one work-group after another."""

    def __init__(
        self, counts: KernelCounts, launch: int, sizes: Mapping[str, int], line_bytes: int,
        first_lines: Mapping[str, int], seed: int,
    ) -> None:
        self.sizes, self.line_bytes, self.first_lines = sizes, line_bytes, first_lines
        self.generator = np.random.default_rng(seed)
        self.subgroup_size = counts.subgroup_size
        self.launch = counts.program.launches[launch]
        self.accesses = access_places(counts.program, launch)
        self.barriers = barrier_places(counts.program, launch)
        host = fixed(self.launch.repeats, sizes)
        self.host = {name: host.dim_min_val(k).to_python() for k, name in enumerate(host.get_var_names(SET))}
        self.depth = max((len(loops_of(placed.place)) for placed in self.accesses), default=0)
        self.data_loops = {id(placed): _data_loops(placed) for placed in self.accesses}
        self.grid = [value_of(isl.PwQPolynomial.from_pw_aff(extent), sizes) for extent in self.launch.grid]
        self.copies = {id(placed): self._copies(placed) for placed in self.accesses}
        self.most_copies = max(map(len, self.copies.values()), default=0)

    def trace(self, number: int) -> Trace:
        """Return the trace of ``number`` work-groups in the middle of the launch."""
        total = prod(self.grid)
        number = min(number, total)
        groups = tuple(range((total - number) // 2, (total - number) // 2 + number))
        parts = [self.of_group(k, group) for k, group in enumerate(groups)]
        rows = np.concatenate([np.zeros((0, 7), np.int64), *parts])
        by_data = [placed for placed in self.accesses if placed.access.cells is None and not placed.access.walks]
        exact = not by_data and not any(self.data_loops.values())
        exact &= all(placed.domain.exact and placed.domain.chance == 1 for placed in self.accesses)
        group, subgroup, phase, access, line, array, store = rows.T
        return Trace(
            self.launch.name, groups, self.line_bytes, tuple(self.first_lines), tuple(self.first_lines.values()),
            group, subgroup, phase, line, array, store, tuple(sorted({placed.access.array for placed in by_data})),
            exact, access, _sites(self.accesses),
        )

    def of_group(self, k: int, group: int) -> Ints:
        """Return the requests of the group of a number in the grid, axis 0 fastest, sorted.

        Each is a row (``k``, sub-group, phase, access, line, array, store).
        """
        position = np.unravel_index(group, self.grid, order="F")
        held = {**self.host, **{f"g.{axis}": int(value) for axis, value in enumerate(position)}}
        rows = np.concatenate([*(self._requests(placed, held, group) for placed in self.accesses), self._waits(held)])
        rows = rows[np.lexsort(rows[:, ::-1].T)]
        subgroup, access, line, array, store = (rows[:, column] for column in (0, -4, -3, -2, -1))
        wait = array == BARRIER
        met = np.cumsum(wait)
        starts = np.flatnonzero(np.diff(subgroup, prepend=-1))
        lengths = np.diff(np.append(starts, len(rows)))
        phase = met - np.repeat(met[starts] - wait[starts] if len(starts) else met, lengths)
        requests = np.stack([np.full(len(rows), k), subgroup, phase, access, line, array, store], axis=1)
        return np.asarray(requests[~wait], dtype=np.int64)

    def _requests(self, placed: AccessPlace, held: Mapping[str, int], group: int) -> Ints:
        """Return an access's requests as rows (sub-group, key, number, line, array, store)."""
        domain, access = placed.domain, placed.access
        points = self._points(domain.points, domain.axes, held)
        columns, count = enumerate_points(points)
        lane, spread = self._lanes(placed, columns, count)
        item = group * self.launch.group_size + lane
        runs = Runs.of(item, self.data_loops[id(placed)])

        def each(column: Ints) -> Ints:
            """Return a value of each point as one of each execution by a lane."""
            return np.asarray(np.repeat(column, spread)[runs.place])

        if access.cells is not None:
            address = each(values_at(addresses(access, access.cells, points, self.sizes), columns, count))
        elif access.walks:
            address = runs.cell[access.along or next(iter(runs.cell))]
        else:
            along = item[runs.place] / max(prod(self.grid) * self.launch.group_size - 1, 1)
            address = drawn_addresses(access, self.sizes, self.generator, len(along), along)
        line = self.first_lines[access.array] + (address * access.bits // 8) // self.line_bytes
        around = loops_of(placed.place)
        # Lanes run tied loops together, whatever the value.
        at = [
            runs.turn[name] if name in runs.turn else each(columns[name]) * (name not in domain.tied)
            for name in (*around, *self.copies[id(placed)])
        ]
        sub_group = lane[runs.place] // self.subgroup_size
        number, (sub_group, *values, lines) = _distinct([sub_group, *at, line])
        key = self._key(placed.place, values[:len(around)], values[len(around):])
        array = list(self.first_lines).index(access.array)
        store = access.direction == "store"
        return _rows(number, sub_group, *key, placed.number, lines, array, store)

    def _waits(self, held: Mapping[str, int]) -> Ints:
        """Return a row for each barrier met by each sub-group."""
        chunks = [np.zeros((0, 2 * self.depth + 1 + self.most_copies + 5), np.int64)]
        sub_groups = np.arange(-(-self.launch.group_size // self.subgroup_size))
        for site, place in self.barriers:
            columns, count = enumerate_points(self._points(site.points, site.axes, held))
            number = len(sub_groups) * count
            loops = [np.tile(columns[loop], len(sub_groups)) for loop in loops_of(place)]
            chunks.append(_rows(number, np.repeat(sub_groups, count), *self._key(place, loops), 0, 0, BARRIER, 0))
        return np.concatenate(chunks)

    def _key(self, place: NodePath, loops: Sequence[Ints], copies: Sequence[Ints] = ()) -> list[Ints | int]:
        """Return the columns by which requests of one sub-group are ordered."""
        key: list[Ints | int] = []
        for level in range(self.depth + 1):
            key.append(int(place[2 * level]) if 2 * level < len(place) else 0)
            if level < self.depth:
                key.append(loops[level] if level < len(loops) else 0)
        return [*key, *copies, *[0] * (self.most_copies - len(copies))]

    def _lanes(self, placed: AccessPlace, columns: Mapping[str, Ints], count: int) -> tuple[Ints, int]:
        """Return the linear local ids; each point is repeated by lanes along axes that it lacks."""
        lane = np.zeros((count, 1), np.int64)
        step = 1
        named = dict(zip(placed.domain.axes, placed.domain.names, strict=True))
        for axis, extent in enumerate(self.launch.group_shape):
            name = named.get(f"l.{axis}")
            if name is not None:
                lane = lane + step * columns[name][:, None]
            else:
                lane = (lane[:, :, None] + step * np.arange(extent)).reshape(count, lane.shape[1] * extent)
            step *= extent
        return lane.ravel(), lane.shape[1]

    def _points(self, points: isl.Set, axes: Sequence[str], held: Mapping[str, int]) -> isl.Set:
        """Return those points that lie in a group, in the first iteration of the host's loops."""
        keys = {
            name: axis if axis.startswith("g") else name
            for axis, name in zip(axes, points.get_var_names(SET), strict=True)
        }
        return fixed(points, self.sizes, {name: held[key] for name, key in keys.items() if key in held})

    def _copies(self, placed: AccessPlace) -> tuple[str, ...]:
        """Return the sequential inames without a loop in the schedule: each value is a copy of the statement."""
        around = {*loops_of(placed.place), *self.host}
        axes = zip(placed.domain.axes, placed.domain.names, strict=True)
        return tuple(name for axis, name in axes if not axis and name not in around)


def _data_loops(placed: AccessPlace) -> tuple[tuple[str, Fraction], ...]:
    """Return the loops around an access whose length is data, the outermost first, each with its mean."""
    domain, access = placed.domain, placed.access
    if domain.trips is None:
        return ()
    loops = [loop for loop in loops_of(placed.place) if loop not in domain.names]
    means = dict(domain.means) or dict.fromkeys(loops[:1], domain.trips)
    names = ", ".join(f"'{loop}'" for loop in loops)
    if not loops or {*loops} != {*means}:
        raise CountError(
            f"data decide how often the loops {names} around an access to '{access.array}' run, and only the product "
            "of their means is known",
            "count the kernel again, which keeps each of them",
        )
    if access.walks and len(access.strides) != 1:
        raise CountError(
            f"data decide how often {names} run, which go along an axis of '{access.array}', an array of several axes",
            "trace a variant in which they go along a flat array",
        )
    return tuple((loop, means[loop]) for loop in loops)


def _sites(accesses: Sequence[AccessPlace]) -> tuple[str, ...]:
    """Return the name of each access by its number: its instruction, direction and array, numbered where equal.

    The instruction of an access of a test is "test".
    """
    named = [f"{one.access.direction} {one.access.array} in {one.statement or 'test'}" for one in accesses]
    equal = Counter(named)
    seen: Counter[str] = Counter()
    names = []
    for name in named:
        seen[name] += 1
        names.append(name if equal[name] == 1 else f"{name} ({seen[name]})")
    return tuple(names)


def _rows(number: int, *columns: Ints | int) -> Ints:
    """Return rows of these columns, of which some have one value."""
    return np.stack([np.broadcast_to(np.asarray(column, np.int64), number) for column in columns], axis=1)


def _distinct(columns: list[Ints]) -> tuple[int, list[Ints]]:
    """Return how many different rows there are, and these, column by column."""
    packed = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        low = column.min(initial=0)
        packed = packed * (column.max(initial=0) - low + 1) + (column - low)
    _, first = np.unique(packed, return_index=True)
    return len(first), [column[first] for column in columns]


@dataclass(frozen=True, eq=False)
class Trace:
    """The requests of the sampled work-groups of one launch.

    Attributes
    ----------
    launch : str
        Name of the device kernel.
    groups : tuple of int
        Linear numbers of the work-groups, axis 0 fastest.
    line_bytes : int
        Size of a line.
    arrays, first : tuple of str, tuple of int
        The arrays in global memory, and the number of each one's first line.
    group, subgroup, phase : int64 arrays of shape (requests,)
        Position of the work-group in ``groups``, number of the sub-group in it, and how many
        barriers it has met. Requests are sorted by group, then sub-group, then in program order.
    line, array, store : int64 arrays of shape (requests,)
        The line's number in memory, the array's position in ``arrays``, and 1 for a store.
    drawn : tuple of str
        Arrays with an index that data give: its cells are drawn evenly from the whole array.
    exact : bool
        False where something was drawn, rows of a sparse matrix were taken to be even, or a test on data was taken to
        let everything through.
    access : int64 array of shape (requests,)
        The access's position in ``sites``.
    sites : tuple of str
        The accesses to global memory, each with its instruction: the places in the program.
    """

    launch: str
    groups: tuple[int, ...]
    line_bytes: int
    arrays: tuple[str, ...]
    first: tuple[int, ...]
    group: Ints
    subgroup: Ints
    phase: Ints
    line: Ints
    array: Ints
    store: Ints
    drawn: tuple[str, ...] = ()
    exact: bool = True
    access: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    sites: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.line)


def trace(
    counts: KernelCounts, sizes: Mapping[str, int], groups: int = 8, line_bytes: int = 64, seed: int = 0
) -> tuple[Trace, ...]:
    """Return the requests of a sample of each launch's work-groups.

    The groups follow one another in the middle of the launch; of launches that the host repeats, the first is traced.
    Arrays lie one after another, each on a separate page.

    Parameters
    ----------
    counts, sizes
        The counted kernel, whose sub-group size counts, and all size parameters.
    groups
        Work-groups of each launch, or all if there are less.
    line_bytes
        Size of a line [B].
    seed
        Of the generator that draws cells where data give the index.

    Raises
    ------
    SizeError
        A size is missing or not a natural number.
    CountError
        A loop whose length is data goes along an axis of an array of several, or an indirect access is to an array of
        unknown shape; or a work-group has too many accesses.

    Examples
    --------
    >>> import loopy as lp, numpy as np
    >>> from perfmodel.counts import count
    >>> copy = lp.make_kernel("{ [i]: 0 <= i < n }", "y[i] = x[i]", lang_version=(2018, 2))
    >>> copy = lp.split_iname(copy, "i", 64, outer_tag="g.0", inner_tag="l.0")
    >>> (one,) = trace(count(lp.add_dtypes(copy, {"x": np.float32})), {"n": 1024}, groups=1)
    >>> one.groups, one.line.tolist(), one.store.tolist()  # two sub-groups of 32, 16 floats to a line
    ((7,), [28, 29, 92, 93, 30, 31, 94, 95], [0, 0, 1, 1, 0, 0, 1, 1])
    """
    values = {name: whole(name, value, counts.parameters) for name, value in sizes.items()}
    for name in counts.parameters:
        if name not in values:
            raise SizeError(f"the size '{name}' is missing", f"give {', '.join(counts.parameters)}")
    lines = first_lines(counts.program, values, line_bytes)
    return tuple(
        LaunchRequests(counts, launch, values, line_bytes, lines, seed).trace(groups)
        for launch in range(len(counts.program.launches))
    )


def barrier_places(program: Program, launch: int) -> list[tuple[BarrierSite, NodePath]]:
    """Return the barriers of a launch with their places."""
    sites = [site for site in program.barriers if site.launch == launch]
    device = list(device_kernels(program.schedule))[launch]
    waits = [place for place, node in _placed(device.body, ()) if isinstance(node, Wait)]
    return list(zip(sites, waits, strict=True))


def _placed(nodes: Sequence[Node], around: NodePath) -> Iterator[tuple[NodePath, Node]]:
    """Yield the nodes below with their places, in the order of the schedule."""
    for k, node in enumerate(nodes):
        place = (*around, 2 * k)
        yield place, node
        if isinstance(node, Loop):
            yield from _placed(node.body, (*place, node.iname))
