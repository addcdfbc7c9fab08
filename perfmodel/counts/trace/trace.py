"""Memory traces: the requests to global memory of some work-groups, in the order of the program.

What a work-item accesses, and when, follows from the polyhedral domains and the schedule; nothing is
executed. A sub-group runs in step: one access by its active lanes makes a request for each line that
they touch. Kim et al. 2012, section 4.2.3, collect such traces with probes in the kernel's source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import islpy as isl
import numpy as np

from perfmodel.counts.kernel import KernelCounts
from perfmodel.counts.program.places import AccessPlace, Place, access_places, barrier_places, loops_of
from perfmodel.counts.program.program import Launch
from perfmodel.counts.quasipoly.arguments import whole
from perfmodel.counts.trace.memory import ArrayPlace, array_places, value_of
from perfmodel.counts.trace.set_points import SET, Ints, enumerate_points, fixed, values_at
from perfmodel.errors import ParameterError, UntraceableError

BARRIER = -1


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
        False where something was drawn, or a test on data was taken to let everything through.
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

    def __len__(self) -> int:
        return len(self.line)


def trace(
    counts: KernelCounts, sizes: Mapping[str, int], groups: int = 8, line_bytes: int = 64, seed: int = 0
) -> tuple[Trace, ...]:
    """Return the requests of a sample of each launch's work-groups.

    The groups follow one another in the middle of the launch; of launches that the host repeats, the
    first is traced. Arrays lie one after another, each on a page of its own.

    Parameters
    ----------
    counts
        The counted kernel; its sub-group size counts.
    sizes
        All size parameters.
    groups
        Work-groups of each launch, or all if there are less.
    line_bytes
        Size of a line [B].
    seed
        Of the generator that draws cells where data give the index.

    Raises
    ------
    ParameterError
        A size is missing or no natural number.
    UntraceableError
        Data decide how often a loop runs, or an indirect access is to an array of unknown shape.
    TraceTooLongError
        A work-group has too many accesses.

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
            raise ParameterError(name, "was left out", counts.parameters)
    memory = array_places(counts.program, values, line_bytes)
    return tuple(
        _Tracing(counts, values, number, line_bytes, memory, np.random.default_rng(seed)).trace(groups)
        for number in range(len(counts.program.launches))
    )


class _Tracing:
    """Writes one launch's requests out, one work-group after another."""

    def __init__(
        self, counts: KernelCounts, sizes: Mapping[str, int], launch: int, line_bytes: int,
        memory: Mapping[str, ArrayPlace], generator: np.random.Generator,
    ) -> None:
        program = counts.program
        self.sizes, self.line_bytes, self.memory, self.generator = sizes, line_bytes, memory, generator
        self.subgroup_size = counts.subgroup_size
        self.launch: Launch = program.launches[launch]
        self.accesses = access_places(program, launch)
        self.barriers = barrier_places(program, launch)
        host = fixed(self.launch.repeats, sizes)
        self.host = {
            name: host.dim_min_val(k).to_python() for k, name in enumerate(host.get_var_names(SET))
        }
        self.depth = max((len(loops_of(one.place)) for one in self.accesses), default=0)
        for one in self.accesses:
            if one.domain.trips is not None:
                raise UntraceableError(
                    f"data decide how often a loop around an access to '{one.access.array}' runs",
                    "trace a variant whose loops have bounds in the sizes",
                )
        self.extras = {id(one): self._extras(one) for one in self.accesses}
        self.most_extras = max(map(len, self.extras.values()), default=0)

    def trace(self, number: int) -> Trace:
        extents = [value_of(isl.PwQPolynomial.from_pw_aff(extent), self.sizes) for extent in self.launch.grid]
        total = prod(extents)
        number = min(number, total)
        groups = tuple(range((total - number) // 2, (total - number) // 2 + number))
        parts = [self.group(k, _unravel(group, extents)) for k, group in enumerate(groups)]
        rows = np.concatenate(parts) if parts else np.zeros((0, 6), np.int64)
        drawn = tuple(sorted({one.access.array for one in self.accesses if one.access.cells is None}))
        exact = not drawn and all(one.domain.exact and one.domain.chance == 1 for one in self.accesses)
        first = tuple(place.first for place in self.memory.values())
        group, subgroup, phase, line, array, store = rows.T
        return Trace(
            self.launch.name, groups, self.line_bytes, tuple(self.memory), first,
            group, subgroup, phase, line, array, store, drawn, exact,
        )

    def group(self, k: int, position: Sequence[int]) -> Ints:
        """Return a group's requests as rows (group, sub-group, phase, line, array, store), sorted."""
        held = {**self.host, **{f"g.{axis}": value for axis, value in enumerate(position)}}
        chunks = [self.requests(one, held) for one in self.accesses]
        chunks.append(self.waits(held))
        rows = np.concatenate(chunks)
        rows = rows[np.lexsort(rows[:, ::-1].T)]
        subgroup, line, array, store = rows[:, 0], rows[:, -3], rows[:, -2], rows[:, -1]
        wait = array == BARRIER
        met = np.cumsum(wait)
        starts = np.flatnonzero(np.diff(subgroup, prepend=-1))
        lengths = np.diff(np.append(starts, len(rows)))
        phase = met - np.repeat(met[starts] - wait[starts] if len(starts) else met, lengths)
        found = np.stack([np.full(len(rows), k), subgroup, phase, line, array, store], axis=1)
        return np.asarray(found[~wait], dtype=np.int64)

    def requests(self, one: AccessPlace, held: Mapping[str, int]) -> Ints:
        """Return an access's requests as rows (sub-group, key, number, line, array, store)."""
        domain, access = one.domain, one.access
        points = fixed(domain.points, self.sizes, self._held(domain.axes, domain.names, held))
        columns, count = enumerate_points(points)
        memory = self.memory[access.array]
        if access.cells is not None:
            address = values_at(memory.addresses(access, access.cells, points, self.sizes), columns, count)
        else:
            address = memory.drawn(access, self.sizes, self.generator, count)
        line = memory.first + (address * access.bits // 8) // self.line_bytes
        lane, spread = self._lanes(one, columns, count)
        loops = (*loops_of(one.place), *self.extras[id(one)])
        tied = one.domain.tied  # lanes run these together, whatever the value
        at = [columns[loop] * (loop not in tied) for loop in loops]
        packed, (sub_group, *values, lines) = _distinct(
            [lane // self.subgroup_size, *(np.repeat(column, spread) for column in at), np.repeat(line, spread)]
        )
        around = len(loops_of(one.place))
        key = self._key(one.place, values[:around], values[around:], packed)
        array = list(self.memory).index(access.array)
        store = int(access.direction == "store")
        rest = [np.full(packed, one.number), lines, np.full(packed, array), np.full(packed, store)]
        return np.stack([sub_group, *key, *rest], axis=1)

    def waits(self, held: Mapping[str, int]) -> Ints:
        """Return a row for each barrier met by each sub-group."""
        width = 2 * self.depth + 1 + self.most_extras + 5
        chunks = [np.zeros((0, width), np.int64)]
        number = -(-self.launch.group_size // self.subgroup_size)
        for site, place in self.barriers:
            names = tuple(site.points.get_var_names(SET))
            columns, count = enumerate_points(fixed(site.points, self.sizes, self._held(site.axes, names, held)))
            loops = [np.tile(columns[loop], number) for loop in loops_of(place)]
            key = self._key(place, loops[:self.depth], [], number * count)
            rest = [np.full(number * count, value) for value in (0, 0, BARRIER, 0)]
            sub_group = np.repeat(np.arange(number), count)
            chunks.append(np.stack([sub_group, *key, *rest], axis=1))
        return np.concatenate(chunks)

    def _key(self, place: Place, loops: Sequence[Ints], extras: Sequence[Ints], count: int) -> list[Ints]:
        """Return the columns by which requests of one sub-group are ordered."""
        key = []
        for level in range(self.depth + 1):
            at = place[2 * level] if 2 * level < len(place) else 0
            key.append(np.full(count, int(at)))
            if level < self.depth:
                key.append(loops[level] if level < len(loops) else np.zeros(count, np.int64))
        missing = self.most_extras - len(extras)
        return [*key, *extras, *(np.zeros(count, np.int64) for _ in range(missing))]

    def _lanes(self, one: AccessPlace, columns: Mapping[str, Ints], count: int) -> tuple[Ints, int]:
        """Return the linear local ids; each point is repeated by lanes along axes that it lacks."""
        lane = np.zeros((count, 1), np.int64)
        step = 1
        named = {axis: name for axis, name in zip(one.domain.axes, one.domain.names, strict=True) if axis}
        for axis, extent in enumerate(self.launch.group_shape):
            name = named.get(f"l.{axis}")
            if name is not None:
                lane = lane + step * columns[name][:, None]
            else:
                lane = (lane[:, :, None] + step * np.arange(extent)).reshape(count, lane.shape[1] * extent)
            step *= extent
        return lane.ravel(), lane.shape[1]

    def _held(self, axes: Sequence[str], names: Sequence[str], held: Mapping[str, int]) -> dict[str, int]:
        return {
            name: held[axis if axis.startswith("g") else name]
            for axis, name in zip(axes, names, strict=True) if axis.startswith("g") or name in held
        }

    def _extras(self, one: AccessPlace) -> tuple[str, ...]:
        """Return the sequential inames that are no loops of the schedule: copies of a statement."""
        around = {*loops_of(one.place), *self.host}
        return tuple(
            name for axis, name in zip(one.domain.axes, one.domain.names, strict=True)
            if not axis and name not in around
        )


def _distinct(columns: list[Ints]) -> tuple[int, list[Ints]]:
    """Return how many different rows there are, and these, column by column."""
    packed = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        low = column.min(initial=0)
        packed = packed * (column.max(initial=0) - low + 1) + (column - low)
    _, first = np.unique(packed, return_index=True)
    return len(first), [column[first] for column in columns]


def _unravel(group: int, extents: Sequence[int]) -> tuple[int, ...]:
    position = []
    for extent in extents:
        position.append(group % extent)
        group //= extent
    return tuple(position)
