"""Every access of a kernel, one by one in the order of the device, through an LRU cache: an oracle for traffic."""

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeVar

import islpy as isl
import numpy as np
from numpy.typing import NDArray

from perfmodel.counts import KernelCounts
from perfmodel.counts.lanes import addresses, value_of, values_at
from perfmodel.counts.program.program import Access, Launch, Program, Statement, device_kernels
from perfmodel.counts.traffic.footprints import Cache
from perfmodel.counts.traffic.order import Path, paths
from tests.counts.enumerated import PAGE, SET, drawn_addresses, enumerate_points, fixed

Ints = NDArray[np.int64]
Line = TypeVar("Line", bound=Hashable)


@dataclass
class Moved:
    """Lines of one array that came into the cache, and how many of these were stored to while there."""

    fetched: int = 0
    stored: int = 0


@dataclass(frozen=True)
class Requests:
    """Accesses in order: the line, the position of the array in ``names``, and whether it is a store."""

    names: tuple[str, ...]
    line: Ints
    array: Ints
    store: Ints
    repeats: int


def simulated(
    counts: KernelCounts, sizes: Mapping[str, int], caches: Sequence[Cache], order: str = "serial"
) -> list[dict[str, Moved]]:
    """Return for each cache what it moves of each array; it is empty when a launch begins."""
    found: list[dict[str, Moved]] = [{} for _ in caches]
    for launch in range(len(counts.program.launches)):
        requests = requests_of(counts.program, launch, sizes, order, caches[0].line_bytes, counts.subgroup_size)
        for one, cache in zip(found, caches, strict=True):
            _through(cache, requests, one)
    return found


def _through(cache: Cache, requests: Requests, moved: dict[str, Moved]) -> None:
    sets = cache.sets or 1
    held: list[OrderedDict[int, bool]] = [OrderedDict() for _ in range(sets)]  # lines, each with whether it is dirty
    counted = [moved.setdefault(name, Moved()) for name in requests.names]
    rows = zip(requests.line.tolist(), requests.array.tolist(), requests.store.tolist(), strict=True)
    for line, array, store in rows:
        lines, one = held[line % sets], counted[array]
        if line not in lines:
            if len(lines) == cache.lines // sets:
                lines.popitem(last=False)
            lines[line] = False
            one.fetched += requests.repeats
        lines.move_to_end(line)
        if store and not lines[line]:
            lines[line] = True
            one.stored += requests.repeats


def fetched_lines(accesses: Iterable[Line], capacity: int) -> Iterator[Line]:
    """Yield the lines, of accesses in their order, that an LRU cache of so many lines fetches."""
    held: OrderedDict[Line, None] = OrderedDict()
    for line in accesses:
        if line not in held:
            yield line
            if len(held) == capacity:
                held.popitem(last=False)
        held[line] = None
        held.move_to_end(line)


def requests_of(
    program: Program, launch: int, sizes: Mapping[str, int], order: str, line_bytes: int, lanes: int = 1
) -> Requests:
    """Return all accesses of a launch, registers left out, in the order of the device."""
    device, shape = list(device_kernels(program.schedule))[launch], program.launches[launch]
    around = paths(device, shape, program.dataflow.unrolled, order, lanes)
    bases = _bases(program, sizes, line_bytes)
    accesses = [
        (statement, access)
        for direction in ("load", "store") for statement in program.statements for access in statement.accesses
        if statement.domain.launch == launch and access.space != "private" and access.direction == direction
    ]
    tables = []
    for number, (statement, access) in enumerate(accesses):
        key, address = _ordered(shape, statement, access, around[statement.place], sizes)
        line = (bases[access.array] + address) // line_bytes
        count = len(line)
        what = [np.full(count, list(bases).index(access.array)), np.full(count, access.direction == "store")]
        tables.append(([*key, np.full(count, number)], [line, *what]))
    depth = max((len(key) for key, _ in tables), default=0)
    rows = [_table(key, depth, rest) for key, rest in tables] or [np.zeros((0, 3), np.int64)]
    table = np.concatenate(rows)
    table = table[np.lexsort(table[:, :depth].T[::-1])][:, depth:] if depth else table
    repeats = enumerate_points(fixed(shape.repeats, sizes))[1]
    return Requests(tuple(bases), table[:, 0], table[:, 1], table[:, 2], repeats)


def _table(key: Sequence[Ints], depth: int, rest: Sequence[Ints]) -> Ints:
    missing = [np.zeros(len(rest[0]), np.int64)] * (depth - len(key))
    return np.stack([*key, *missing, *rest], axis=1)


def _ordered(
    launch: Launch, statement: Statement, access: Access, path: Path, sizes: Mapping[str, int]
) -> tuple[list[Ints], Ints]:
    """Return columns by which the executions of an access are ordered, and their addresses in bytes."""
    domain = statement.domain
    repeats = fixed(launch.repeats, sizes)
    host = {name: repeats.dim_min_val(k).to_python() for k, name in enumerate(repeats.get_var_names(SET))}
    points = fixed(domain.points, sizes, {name: host[name] for name in domain.names if name in host})
    columns, count = enumerate_points(points)
    if access.cells is None:
        address = drawn_addresses(access, sizes, np.random.default_rng(0), count)
    else:
        address = values_at(addresses(access, access.cells, points, sizes), columns, count)
    columns |= {axis: columns[name] for axis, name in zip(domain.axes, domain.names, strict=True) if axis}
    loops = [entry for entry in path if isinstance(entry, str)]
    axes = [entry for entry in loops if entry[:2] in ("g.", "l.") and "/" not in entry]
    missing = {axis: _extent(launch, axis, sizes) for axis in axes if axis not in columns}
    spread = prod(missing.values())  # work-items that all execute it
    grid = dict(zip(missing, np.indices(tuple(missing.values())).reshape(len(missing), spread), strict=True))

    def column(entry: int | str) -> Ints:
        if isinstance(entry, str) and "/" in entry:  # vectors of lanes
            axis, lanes = entry.split("/")
            return column(axis) // int(lanes)
        if entry in grid:
            return np.tile(grid[str(entry)], count)
        if entry in columns:
            return np.repeat(columns[str(entry)], spread)
        return np.full(count * spread, entry if isinstance(entry, int) else 0)

    pairs = zip(domain.names, domain.axes, strict=True)
    copies = [name for name, axis in pairs if not axis and name not in loops and name not in host]
    last = len(path) - (path[-1] == "l.0")
    key = [column(entry) for entry in (*path[:last], *copies, *path[last:])]
    return key, np.repeat(address, spread) * access.bits // 8


def _extent(launch: Launch, axis: str, sizes: Mapping[str, int]) -> int:
    if axis.startswith("l."):
        return launch.group_shape[int(axis[2:])]
    return value_of(isl.PwQPolynomial.from_pw_aff(launch.grid[int(axis[2:])]), sizes)


def _bases(program: Program, sizes: Mapping[str, int], line_bytes: int) -> dict[str, int]:
    """Return where arrays begin: global ones on pages, then the local ones on lines."""
    accesses = [access for statement in program.statements for access in statement.accesses]
    end, bases = 0, {}
    for space, unit in (("global", PAGE), ("local", line_bytes)):
        for name in sorted({access.array for access in accesses if access.space == space}):
            bases[name] = -(-end // unit) * unit
            end = bases[name] + max(_bytes(access, sizes) for access in accesses if access.array == name)
    return bases


def _bytes(access: Access, sizes: Mapping[str, int]) -> int:
    assert access.shape is not None
    extents = [fixed(extent, sizes).dim_max_val(0).to_python() + 1 for extent in access.shape]
    strides = [value_of(stride, sizes) for stride in access.strides]
    last = sum(abs(stride) * (extent - 1) for stride, extent in zip(strides, extents, strict=True))
    return (value_of(access.offset, sizes) + last + 1) * access.bits // 8


def accesses_of(counts: KernelCounts, sizes: Mapping[str, int]) -> float:
    """Return how many accesses :func:`requests_of` would list."""
    return sum(float(counts.accesses(space=space)(**sizes)) for space in ("global", "local"))


def total(moved: Iterable[Moved]) -> tuple[int, int]:
    """Return the lines fetched and stored to of several arrays."""
    both = [(one.fetched, one.stored) for one in moved]
    return sum(one for one, _ in both), sum(one for _, one in both)
