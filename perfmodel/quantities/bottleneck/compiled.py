"""A kernel as its compiler sees it: the nests of loops of each launch, what they access, and what they carry.

The picture is the generated code, here sums along the rows of a matrix, in groups of 64 work-items::

    for i in g.0, l.0:              a launch: its groups, and the streams of addresses that it follows (a, out)
        total = 0
        for j:                      a nest: its iterations, entries and operations
            total += a[i, j]            an access: its executions, and its stride from lane to lane;
        out[i] = total                  a chain: additions that wait for each other, carried by j

Everything that is counted stands in the nest by its name: first as a :class:`~perfmodel.counts.quasipoly.count.Count`,
for all sizes, in :func:`compiled_kernel`; then, at given sizes, as a number.

Examples
--------
128 rows of 64 cells are 8192 iterations in 128 entries of the loop, and neighbouring lanes are 64 cells apart:

>>> import loopy as lp, numpy as np
>>> from perfmodel.counts import count
>>> unit = lp.make_kernel(
...     "[n, m] -> { [i, j]: 0 <= i < n and 0 <= j < m }", "out[i] = sum(j, a[i, j])", lang_version=(2018, 2),
...     assumptions="n mod 64 = 0 and n >= 64 and m > 0")
>>> unit = lp.split_iname(lp.add_dtypes(unit, {"a": np.float32}), "i", 64, outer_tag="g.0", inner_tag="l.0")
>>> kernel = compiled_kernel(count(unit)).at({"n": 128, "m": 64})
>>> [rows] = [nest for nest in kernel.launches[0].nests if nest.loops]
>>> rows.iterations, rows.entries, rows.accesses[0].lane_strides, rows.chains[0].operations
(8192.0, 128.0, (64.0,), {'add': 8192.0})
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log2, prod
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from perfmodel.counts import Count, KernelCounts, OperationCount
from perfmodel.counts.nests.nest import NO_BYTES, Address, Nest, NestAccess, NestChain
from perfmodel.counts.quasipoly.distinct import NamedCounts
from perfmodel.errors import FlowUnknownError

MOST_COPIES = 64
"""Most copies of an access whose addresses are looked at; there are more streams than any rule asks for."""
WRITTEN_OUT = 16
"""Most trips of a loop of a constant number of trips that a compiler writes out."""

Number = TypeVar("Number", Count, float)


@dataclass(frozen=True)
class CompiledAccess(Generic[Number]):
    """An access of a nest.

    It has an *odd pitch* where lanes of another axis are a number of cells of a local array apart that is no power of
    two. The index is then a product by a constant, which hides from some compilers that lanes of the first axis are
    neighbours.
    """

    load: bool  # else it stores
    bits: int  # of the value
    executions: Number  # by work-items
    lane_strides: tuple[Number, ...]  # distances between neighbouring lanes, in accesses; empty where data decide
    invariant: bool  # whether the innermost loop does not move it
    invariant_around: bool  # whether the loop around that one does not, and stores nothing
    odd_pitch: bool
    fills_stride: bool  # whether copies of it fill the cells from one lane to the next: a vector takes all of them
    start: Number | None  # the address of its first execution [B]; None where data decide
    steps: tuple[Number, ...]  # how far each iname moves it [B]


@dataclass(frozen=True)
class CompiledChain(Generic[Number]):
    """A chain of a nest: each of its operations waits for the one before."""

    operations: Mapping[str, Number]  # by kind
    cells: int  # how many such chains run side by side
    carried_around: bool  # whether a loop around the innermost carries it too


@dataclass(frozen=True)
class CompiledOperation(Generic[Number]):
    """Floating-point operations of one kind on values of so many bits."""

    kind: str
    bits: int
    executions: Number


@dataclass(frozen=True)
class CompiledNest(Generic[Number]):
    """A nest; see :class:`~perfmodel.counts.nests.nest.Nest`."""

    loops: int  # inside the stretch between barriers
    written_out: bool  # whether the compiler writes the innermost loop out
    iterations: Number
    box: Number
    entries: Number
    entries_around: Number  # how often the loop around the innermost one is entered; ``entries`` where there is none
    kept_values: Number  # loads and stores of private values that live over barriers
    operations: tuple[CompiledOperation[Number], ...]
    accesses: tuple[CompiledAccess[Number], ...]
    chains: tuple[CompiledChain[Number], ...]


@dataclass(frozen=True)
class CompiledLaunch(Generic[Number]):
    """A launch."""

    shape: tuple[int, ...]  # of a group
    launches: Number  # how often it is launched
    groups: Number  # of all launches
    barriers: bool  # whether it has any
    loops: bool  # whether a runtime loop stands between them
    streams: int  # of addresses that it follows in global memory
    nests: tuple[CompiledNest[Number], ...]

    @property
    def group_items(self) -> int:
        """Work-items of a group."""
        return prod(self.shape)

    @property
    def row_items(self) -> int:
        """Work-items along the first axis of a group."""
        return self.shape[0] if self.shape else 1


@dataclass(frozen=True)
class CompiledKernel(Generic[Number]):
    """A kernel."""

    launches: tuple[CompiledLaunch[Number], ...]
    depth: Mapping[str, Number]  # the operations on the longest chain of a work-item, by kind
    barriers: Number  # times work-items


_compiled_kernels: WeakKeyDictionary[KernelCounts, NamedCounts] = WeakKeyDictionary()


def compiled_kernel(counts: KernelCounts) -> NamedCounts:
    """Return a :class:`CompiledKernel`, to be evaluated at sizes; it is kept as long as the kernel's counts.

    Raises
    ------
    FlowUnknownError, PlacesUnknownError
        The counts were stored before dataflow, or the places of instructions, were recorded.
    """
    kernel = _compiled_kernels.get(counts)
    if kernel is None:
        kernel = _compiled_kernels[counts] = NamedCounts(_kernel(counts))
    return kernel


def _kernel(counts: KernelCounts) -> CompiledKernel[Count]:
    if counts.flow is None:
        raise FlowUnknownError(counts.name)
    nests: dict[str, list[Nest]] = defaultdict(list)
    for nest in counts.nests:
        nests[nest.launch].append(nest)
    launches = tuple(
        _launch(row.group_shape, row.launches, row.work_groups, nests.get(row.name, [])) for row in counts.launch_table
    )
    depth: dict[str, Count] = {}
    for chain in counts.flow.depth.rows:
        if chain.is_operation:
            depth[chain.kind] = depth[chain.kind] + chain.count if chain.kind in depth else chain.count
    return CompiledKernel(launches, depth, counts.barriers(scope="local"))


def _launch(shape: tuple[int, ...], launches: Count, groups: Count, nests: Sequence[Nest]) -> CompiledLaunch[Count]:
    return CompiledLaunch(
        shape, launches, groups,
        barriers=len({nest.stretch for nest in nests}) > 1 or any(nest.outer for nest in nests),
        loops=any(nest.inner for nest in nests), streams=_streams(nests),
        nests=tuple(_nest(nest, nests) for nest in nests),
    )  # fmt: skip


def _nest(nest: Nest, launch: Sequence[Nest]) -> CompiledNest[Count]:
    loops_around = [loop for loop in nest.inner[-2:-1] if not _stores_in(loop, launch)]
    return CompiledNest(
        loops=len(nest.inner),
        written_out=nest.trips is not None and nest.trips <= WRITTEN_OUT,
        iterations=nest.iterations, box=nest.box, entries=nest.entries,
        entries_around=nest.entered[-2] if len(nest.inner) > 1 else nest.entries,
        kept_values=nest.kept,
        operations=tuple(
            CompiledOperation(operation.kind, _bits(operation.dtype), operation.count)
            for operation in _floating(nest.compiled)
        ),
        accesses=tuple(
            _access(access, nest, loops_around)
            for access in _without_repeats(nest.accesses) if access.space != "private"
        ),
        chains=tuple(_chain(chain, nest) for chain in nest.chains if any(True for _ in _floating(chain.operations))),
    )  # fmt: skip


def _chain(chain: NestChain, nest: Nest) -> CompiledChain[Count]:
    operations = {operation.kind: operation.count for operation in _floating(chain.operations)}
    return CompiledChain(operations, chain.chains, bool(set(nest.inner[:-1]).intersection(chain.loops)))


def _floating(operations: Iterable[OperationCount]) -> Iterable[OperationCount]:
    return (operation for operation in operations if operation.dtype.startswith(("float", "complex")))


def _bits(dtype: str) -> int:
    return 64 if dtype in ("float64", "complex128") else 32


def _without_repeats(accesses: Iterable[NestAccess]) -> Iterable[NestAccess]:
    """Yield accesses, but loads of one address only once: a compiler keeps the value in a register."""
    seen: set[tuple[object, ...]] = set()
    for access in accesses:
        if access.direction == "load" and access.address is not None:
            steps = tuple(sorted((name, str(step.polynomial)) for name, step in access.address.steps.items()))
            key = access.array, access.bits, str(access.address.start.polynomial), steps, str(access.count.polynomial)
            if key in seen:
                continue
            seen.add(key)
        yield access


def _access(access: NestAccess, nest: Nest, loops_around: Sequence[str]) -> CompiledAccess[Count]:
    address = access.address
    return CompiledAccess(
        load=access.direction == "load", bits=access.bits, executions=access.count,
        lane_strides=() if address is None else tuple(Count(lane.distance) for lane in access.lanes),
        invariant=_is_invariant(access, nest.inner[-1:]),
        invariant_around=_is_invariant(access, loops_around),
        odd_pitch=_has_odd_pitch(access, {*nest.outer, *nest.inner, *access.copies}),
        fills_stride=_fills_stride(access),
        start=None if address is None else address.start,
        steps=() if address is None else tuple(address.steps.values()),
    )  # fmt: skip


def _stores_in(loop: str, launch: Sequence[Nest]) -> bool:
    """Return whether a launch stores to an array in a loop; what it loads there cannot be loaded before the loop."""
    nests = (nest for nest in launch if loop in nest.inner)
    return any(access.direction == "store" and access.space != "private" for nest in nests for access in nest.accesses)


def _is_invariant(access: NestAccess, loops: Iterable[str]) -> bool:
    """Return whether a loop, if there is one, does not move an access."""
    return any(access.step(loop) == NO_BYTES for loop in loops)


def _has_odd_pitch(access: NestAccess, loops: Container[str]) -> bool:
    if access.space != "local" or access.address is None:
        return False
    lane_steps = (step for name, step in access.address.steps.items() if name not in loops)
    return any(log2(abs(float(step())) * 8 / access.bits) % 1 for step in lane_steps)


def _fills_stride(access: NestAccess) -> bool:
    if access.address is None or not access.lanes:
        return False
    cell = Count.constant(Fraction(access.bits, 8), "byte")
    width = prod(values for name, values in access.copies.items() if access.address.step(name) == cell)
    return width > 1 and all(Count(lane.distance) == Count.constant(width) for lane in access.lanes)


def _streams(nests: Iterable[Nest]) -> int:
    """Return how many streams of global addresses there are: starts of one array a constant apart are one."""
    return len({
        (access.array, base)
        for nest in nests for access in nest.accesses if access.space == "global" for base in _bases(access)
    })  # fmt: skip


def _bases(access: NestAccess) -> set[str]:
    """Return the base of each copy of an access that the code writes out (:attr:`Address.base`)."""
    if access.address is None:
        return {""}
    starts = [access.address.start]
    for iname, values in access.copies.items():
        step = access.address.step(iname)
        if len(starts) * values <= MOST_COPIES:
            starts = [start + value * step for start in starts for value in range(values)]
    return {Address(start, {}).base for start in starts}
