"""The requests that the accesses of one launch make, in the order in which each sub-group makes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from perfmodel.counts.program.places import AccessPlace, access_places, barrier_places, loops_of
from perfmodel.counts.program.program import Place, Program
from perfmodel.counts.trace.fixed_sizes import SET, Ints, enumerate_points, fixed, values_at
from perfmodel.counts.trace.memory import addresses, drawn_addresses
from perfmodel.errors import UntraceableError

BARRIER = -1  # stands for an array where a row is a barrier


class LaunchRequests:
    """Lists the requests of one launch, one work-group after another."""

    def __init__(
        self, program: Program, launch: int, subgroup_size: int, sizes: Mapping[str, int], line_bytes: int,
        first_lines: Mapping[str, int], generator: np.random.Generator,
    ) -> None:
        self.sizes, self.line_bytes, self.first_lines, self.generator = sizes, line_bytes, first_lines, generator
        self.subgroup_size = subgroup_size
        self.launch = program.launches[launch]
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

    def of_group(self, k: int, position: Sequence[int]) -> Ints:
        """Return the requests of the group at a position of the grid, sorted.

        Each is a row (``k``, sub-group, phase, line, array, store).
        """
        held = {**self.host, **{f"g.{axis}": value for axis, value in enumerate(position)}}
        chunks = [self._requests(one, held) for one in self.accesses]
        chunks.append(self._waits(held))
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

    def _requests(self, one: AccessPlace, held: Mapping[str, int]) -> Ints:
        """Return an access's requests as rows (sub-group, key, number, line, array, store)."""
        domain, access = one.domain, one.access
        points = fixed(domain.points, self.sizes, self._held(domain.axes, domain.names, held))
        columns, count = enumerate_points(points)
        if access.cells is not None:
            address = values_at(addresses(access, access.cells, points, self.sizes), columns, count)
        else:
            address = drawn_addresses(access, self.sizes, self.generator, count)
        line = self.first_lines[access.array] + (address * access.bits // 8) // self.line_bytes
        lane, spread = self._lanes(one, columns, count)
        loops = (*loops_of(one.place), *self.extras[id(one)])
        tied = one.domain.tied  # lanes run these together, whatever the value
        at = [columns[loop] * (loop not in tied) for loop in loops]
        packed, (sub_group, *values, lines) = _distinct(
            [lane // self.subgroup_size, *(np.repeat(column, spread) for column in at), np.repeat(line, spread)]
        )
        around = len(loops_of(one.place))
        key = self._key(one.place, values[:around], values[around:], packed)
        array = list(self.first_lines).index(access.array)
        store = int(access.direction == "store")
        rest = [np.full(packed, one.number), lines, np.full(packed, array), np.full(packed, store)]
        return np.stack([sub_group, *key, *rest], axis=1)

    def _waits(self, held: Mapping[str, int]) -> Ints:
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
        """Return the sequential inames without a loop in the schedule: each value is a copy of the statement."""
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
