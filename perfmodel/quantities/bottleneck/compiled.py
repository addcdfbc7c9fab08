"""A kernel as a CPU's compiler sees it: nests of loops with their operations, accesses and chains.

Input: the nests of a kernel's counts. Output: a :class:`CompiledKernel` of counts for all sizes, made once
(:func:`compiled_kernel`), and then of numbers at given sizes. The generated code, here row sums in groups of 64::

    for i in g.0, l.0:              a launch
        total = 0
        for j:                      a nest: its iterations, entries and operations
            total += a[i, j]            an access: its executions and lane strides;
        out[i] = total                  a chain: additions that wait for each other, carried by j
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log2, prod
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from perfmodel.counts import Count, KernelCounts, OperationCount
from perfmodel.counts.nests.nest import NO_BYTES, Address, Nest, NestAccess, NestChain
from perfmodel.counts.quasipoly.distinct import NamedCounts
from perfmodel.quantities.instructions import is_call

MOST_COPIES = 64
"""Most copies of an access whose addresses are compared; no rule needs more streams."""
WIDEST_STRIDE = 4
"""Most cells from one lane to the next that a compiler loads in vectors and shuffles, if all of them are needed."""
MOST_ADDRESSES = 4
"""Rows of one matrix beyond which PoCL's compiler vectorises the computation of their addresses instead of work-items.

Without a limit, left-out groups are predicted worse on PoCL (44.8 instead of 41.4 %).
"""
FEWEST_ITEMS = 16
"""Work-items along the first axis below which PoCL's compiler unrolls the loop over them."""
INTEGER, LOAD = "integer_", "load"
"""Prefix of the kinds of integer operations on a chain, and the kind of loads there."""
WRITTEN_OUT = 16
"""Most trips of a loop of constant trips that a compiler unrolls."""

Number = TypeVar("Number", Count, float)


@dataclass(frozen=True)
class CompiledAccess(Generic[Number]):
    """An access of a nest.

    It has an *odd pitch* if the lane stride along another axis of a local array is not a power of two. The index is
    then a product by a constant, which hides from some compilers that lanes along the first axis are adjacent.
    """

    load: bool  # else it stores
    bits: int  # of the value
    executions: Number  # by work-items
    lane_strides: tuple[Number, ...]  # distances between neighbouring lanes, in accesses; empty if data decide
    invariant: bool  # whether the innermost loop does not move it
    contiguous: bool  # whether consecutive iterations of that loop, or copies, access adjacent cells
    scattered_copies: bool  # whether that loop is unrolled, and its copies access cells that are not adjacent
    assumed_lanes: bool  # whether the lane stride is one parameter (n, not 2*n): PoCL vectorises only for n = 1
    assumed_loop: bool  # whether the stride of the innermost loop is one parameter
    invariant_around: bool  # whether the loop around that one does not move it, and stores nothing
    odd_pitch: bool
    new_address: bool  # whether no earlier access has the address, so that it is computed
    fills_stride: bool  # whether it and similar accesses fill the cells between lanes: vectors load all of them
    start: Number | None  # the address where all inames are 0 [B]; None if data decide
    steps: tuple[Number, ...]  # bytes by which each iname moves it


@dataclass(frozen=True)
class CompiledChain(Generic[Number]):
    """A chain of operations in a nest, each of which waits for the one before."""

    operations: Mapping[str, Number]  # by kind; integer kinds with the prefix INTEGER; and LOAD
    cells: int  # independent chains of this kind
    bits: int  # of its values
    carried_around: bool  # whether a loop around the innermost carries it too


@dataclass(frozen=True)
class CompiledOperation(Generic[Number]):
    """Operations of one kind on values of so many bits, without those that only compute an address."""

    kind: str
    bits: int
    integer: bool
    executions: Number


@dataclass(frozen=True)
class CompiledNest(Generic[Number]):
    """A nest; see :class:`~perfmodel.counts.nests.nest.Nest`."""

    loops: int  # inside the barrier interval
    written_out: bool  # whether the compiler unrolls the innermost loop
    iterations: Number
    box: Number
    entries: Number
    entries_around: Number  # of the loop around the innermost one; ``entries`` without one
    calls: bool  # whether it calls functions of a library
    kept_values: Number  # loads and stores of private values that are live across barriers
    operations: tuple[CompiledOperation[Number], ...]
    accesses: tuple[CompiledAccess[Number], ...]
    chains: tuple[CompiledChain[Number], ...]


@dataclass(frozen=True)
class CompiledLaunch(Generic[Number]):
    """A launch as a compiler sees it."""

    shape: tuple[int, ...]  # of a group
    launches: Number  # how often it is launched
    groups: Number  # of all launches
    barriers: bool  # whether it has any
    loops: bool  # whether it has a runtime loop
    separate_addresses: int  # the most addresses of one global matrix that differ by more than a constant
    stores_pairs: bool  # whether work-items store to neighbouring cells
    nests: tuple[CompiledNest[Number], ...]

    @property
    def packs_items(self) -> bool:
        """Whether a compiler that loops over the work-items of a group packs neighbours into vectors.

        Without barriers it does if it has no loop and no call inside that loop, if it does not unroll that loop
        (:data:`FEWEST_ITEMS`) or vectorise something else (:data:`MOST_ADDRESSES`), and if it does not assume that a
        parameter is 1.
        """
        one_loop = not self.loops and not self.barriers and self.row_items >= FEWEST_ITEMS
        no_calls = not any(nest.calls for nest in self.nests)
        assumed = any(access.assumed_lanes for nest in self.nests for access in nest.accesses)
        return one_loop and no_calls and not assumed and self.separate_addresses <= MOST_ADDRESSES

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
    """A kernel as a compiler sees it."""

    launches: tuple[CompiledLaunch[Number], ...]
    depth: Mapping[str, Number]  # the operations on the longest chain of a work-item, by kind
    barriers: Number  # times work-items


_compiled_kernels: WeakKeyDictionary[KernelCounts, NamedCounts] = WeakKeyDictionary()


def compiled_kernel(counts: KernelCounts) -> NamedCounts:
    """Return the :class:`CompiledKernel` of counts, to be evaluated at sizes; it is kept as long as the counts."""
    kernel = _compiled_kernels.get(counts)
    if kernel is None:
        kernel = _compiled_kernels[counts] = NamedCounts(_kernel(counts))
    return kernel


def _kernel(counts: KernelCounts) -> CompiledKernel[Count]:
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
        barriers=len({nest.interval for nest in nests}) > 1 or any(nest.outer for nest in nests),
        loops=any(nest.inner for nest in nests), separate_addresses=_separate_addresses(nests),
        stores_pairs=any(_stores_pairs(access) for nest in nests for access in nest.accesses),
        nests=tuple(_nest(nest, nests) for nest in nests),
    )  # fmt: skip


def _nest(nest: Nest, launch: Sequence[Nest]) -> CompiledNest[Count]:
    loops_around = [loop for loop in nest.inner[-2:-1] if not _stores_in(loop, launch)]
    accesses = [access for access in _without_repeats(nest.accesses) if access.space != "private"]
    filling, fresh = _filling(accesses), _fresh_addresses(accesses)
    return CompiledNest(
        loops=len(nest.inner),
        written_out=nest.trips is not None and nest.trips <= WRITTEN_OUT,
        iterations=nest.iterations, box=nest.box, entries=nest.entries,
        entries_around=nest.entered[-2] if len(nest.inner) > 1 else nest.entries,
        calls=any(is_call(operation.kind, _bits(operation.dtype)) for operation in _floating(nest.compiled)),
        kept_values=nest.kept,
        operations=tuple(
            CompiledOperation(operation.kind, _bits(operation.dtype), not _is_floating(operation), operation.count)
            for operation in nest.compiled
        ),
        accesses=tuple(_access(access, nest, loops_around, access in filling, access in fresh) for access in accesses),
        chains=tuple(_chain(chain, nest) for chain in nest.chains if _waits(chain)),
    )  # fmt: skip


def _waits(chain: NestChain) -> bool:
    """Return whether a chain's operations have to wait: a compiler reorders a sum of integers."""
    kinds = {operation.kind for operation in chain.operations}
    return len(kinds) > 1 or chain.loads > 0 or any(map(_is_floating, chain.operations))


def _chain(chain: NestChain, nest: Nest) -> CompiledChain[Count]:
    """Return a chain; its loads count if all operations are integer, which then compute the next address."""
    floating = [*_floating(chain.operations)]
    operations = {f"{'' if floating else INTEGER}{row.kind}": row.count for row in floating or chain.operations}
    if chain.loads and not floating:
        operations[LOAD] = chain.loads * nest.iterations
    bits = max((_bits(row.dtype) for row in floating or chain.operations), default=32)
    return CompiledChain(operations, chain.chains, bits, bool(set(nest.inner[:-1]).intersection(chain.loops)))


def _is_floating(operation: OperationCount) -> bool:
    return operation.dtype.startswith(("float", "complex"))


def _floating(operations: Iterable[OperationCount]) -> Iterable[OperationCount]:
    return filter(_is_floating, operations)


def _bits(dtype: str) -> int:
    return 64 if dtype in ("float64", "complex128", "int64", "uint64") else 32


def _position_key(access: NestAccess) -> tuple[object, ...]:
    """Return a key that accesses have in common if they have the same distance from the start of their arrays."""
    if access.address is None:
        return (id(access),)
    steps = tuple(sorted((name, str(step.polynomial)) for name, step in access.address.steps.items()))
    return access.bits, str(access.address.start.polynomial), steps


def _fresh_addresses(accesses: Iterable[NestAccess]) -> set[NestAccess]:
    return set({_position_key(access): access for access in reversed([*accesses])}.values())


def _without_repeats(accesses: Iterable[NestAccess]) -> Iterable[NestAccess]:
    """Yield accesses; of loads from one address only the first, because a compiler keeps the value in a register."""
    seen: set[tuple[object, ...]] = set()
    for access in accesses:
        if access.direction == "load" and access.address is not None:
            key = access.array, *_position_key(access), str(access.count.polynomial)
            if key in seen:
                continue
            seen.add(key)
        yield access


def _access(
    access: NestAccess, nest: Nest, loops_around: Sequence[str], fills: bool, fresh: bool
) -> CompiledAccess[Count]:
    address = access.address
    return CompiledAccess(
        load=access.direction == "load", bits=access.bits, executions=access.count,
        lane_strides=() if address is None else tuple(Count(lane.distance) for lane in access.lanes),
        invariant=_is_invariant(access, nest.inner[-1:]), contiguous=_is_contiguous(access, nest.inner[-1:]),
        scattered_copies=any(not _is_cell(step, access) for step in _unrolled_steps(access, nest.inner[-1:])),
        assumed_lanes=any(Count(lane.distance).is_parameter for lane in access.lanes),
        assumed_loop=_is_assumed(access, nest.inner[-1:]),
        invariant_around=_is_invariant(access, loops_around),
        odd_pitch=_has_odd_pitch(access, {*nest.outer, *nest.inner, *access.copies}),
        new_address=fresh, fills_stride=fills,
        start=None if address is None else address.start,
        steps=() if address is None else tuple(address.steps.values()),
    )  # fmt: skip


def _stores_in(loop: str, launch: Sequence[Nest]) -> bool:
    """Return whether a launch stores to an array in a loop: loads in it cannot move before the loop."""
    nests = (nest for nest in launch if loop in nest.inner)
    return any(access.direction == "store" and access.space != "private" for nest in nests for access in nest.accesses)


def _is_invariant(access: NestAccess, loops: Iterable[str]) -> bool:
    return any(access.step(loop) == NO_BYTES for loop in loops)


def _is_contiguous(access: NestAccess, loops: Sequence[str]) -> bool:
    """Return whether a loop moves an access by one cell, or unrolled copies are one cell from each other."""
    steps = [*(access.step(loop) for loop in loops), *_unrolled_steps(access, loops)]
    return any(_is_cell(step, access) for step in steps)


def _is_cell(step: Count | None, access: NestAccess) -> bool:
    cell = Count.constant(Fraction(access.bits, 8), "byte")
    return step in (cell, -1 * cell)


def _is_assumed(access: NestAccess, loops: Iterable[str]) -> bool:
    steps = (access.step(loop) for loop in loops)
    return any(step is not None and (Fraction(8, access.bits) * step).is_parameter for step in steps)


def _unrolled_steps(access: NestAccess, loops: Iterable[str]) -> Iterator[Count]:
    """Yield the steps between copies that an unrolled loop made, if the loop continues after the last copy."""
    if access.address is not None:
        for loop in loops:
            step = access.address.step(loop)
            for copies, number in access.copies.items():
                part = access.address.step(copies)
                if number > 1 and step != NO_BYTES and step == number * part:
                    yield part


def _stores_pairs(access: NestAccess) -> bool:
    if access.direction == "load" or access.space != "global" or access.address is None:
        return False
    return any(_is_cell(access.address.step(copies), access) for copies in access.copies)


def _has_odd_pitch(access: NestAccess, loops: Container[str]) -> bool:
    if access.space != "local" or access.address is None:
        return False
    lane_steps = (step for name, step in access.address.steps.items() if name not in loops)
    return any(log2(abs(float(step())) * 8 / access.bits) % 1 for step in lane_steps)


def _filling(accesses: Iterable[NestAccess]) -> set[NestAccess]:
    """Return the accesses that together touch all cells from one lane to the next: vectors load them all."""
    together: dict[tuple[object, ...], list[NestAccess]] = defaultdict(list)
    for access in accesses:
        if access.address is not None and access.lanes:
            steps = {name: step for name, step in access.address.steps.items() if name not in access.copies}
            moving = *sorted((name, str(step.polynomial)) for name, step in steps.items()), access.address.base
            together[access.array, access.direction, access.bits, moving].append(access)
    return {access for alike in together.values() if _fill_stride(alike) for access in alike}


def _fill_stride(alike: Sequence[NestAccess]) -> bool:
    """Return whether accesses with the same motion touch all cells from one lane to the next."""
    distances = {lane.along_unit_axis for access in alike for lane in access.lanes}
    width = distances.pop() if len(distances) == 1 else None
    if width is None or not 1 < abs(width) <= WIDEST_STRIDE:
        return False
    starts = {start.constant for access in alike for start in _starts(access)}
    touched = {start * 8 / alike[0].bits % abs(width) for start in starts if start is not None}
    return len(touched) == abs(width)


def _separate_addresses(nests: Iterable[Nest]) -> int:
    """Return the most expressions of global addresses of one matrix that differ by more than a constant.

    Arrays with more axes do not count: PoCL's compiler does not vectorise their addresses.
    """
    bases: dict[str, set[str]] = defaultdict(set)
    for nest in nests:
        for access in nest.accesses:
            if access.space == "global" and access.address is not None and access.address.degree <= 1:
                bases[access.array].add(access.address.base)
    return max(map(len, bases.values()), default=0)


def _starts(access: NestAccess) -> list[Address]:
    if access.address is None:
        return []
    starts = [access.address.start]
    for iname, values in access.copies.items():
        step = access.address.step(iname)
        if len(starts) * values <= MOST_COPIES:
            starts = [start + value * step for start in starts for value in range(values)]
    return [Address(start, {}) for start in starts]
