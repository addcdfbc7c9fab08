"""What is found once for a kernel: its nests, with the counts that are evaluated at each size."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log2, prod
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from perfmodel.counts.nests.nest import Address, Nest, NestAccess
from perfmodel.counts.quasipoly.count import Count
from perfmodel.counts.quasipoly.distinct import DistinctCounts, JointCounts
from perfmodel.errors import FlowUnknownError

if TYPE_CHECKING:
    from perfmodel.counts import KernelCounts
    from perfmodel.counts.rows import OperationCount

MOST_COPIES = 64
"""Most copies of an access whose addresses are looked at; there are more streams than any rule asks for."""
WRITTEN_OUT = 16
"""Most trips of a loop of a constant number of trips that a compiler writes out."""


@dataclass(frozen=True)
class AccessPlan:
    """An access of a nest; ``count`` and the entries of ``apart`` and ``places`` are positions of counts.

    ``apart`` are the distances between neighbouring lanes in accesses, empty where data decide. ``invariant`` is
    whether the innermost loop does not move it, ``held`` whether the loop around it does not, and stores nothing;
    ``odd_pitch`` is as in :func:`_odd_pitch`, ``filled`` as in :func:`_filled`. ``places`` are where it begins and how
    far each iname moves it [B].
    """

    load: bool
    bits: int
    count: int
    apart: tuple[int, ...]
    invariant: bool
    held: bool
    odd_pitch: bool
    filled: bool
    places: tuple[int, ...]


@dataclass(frozen=True)
class ChainPlan:
    """A chain of a nest.

    Its operations by kind, the cells that run side by side, and whether a loop around the innermost carries it too.
    """

    operations: Mapping[str, int]
    cells: int
    goes_on: bool


@dataclass(frozen=True)
class NestPlan:
    """A nest; numbers are positions of counts. See :class:`~perfmodel.counts.nests.nest.Nest`."""

    loops: int
    written_out: bool
    iterations: int
    box: int
    entries: int
    entries_around: int
    kept: int
    operations: tuple[tuple[int, str, int], ...]  # bits of the type, kind, count
    accesses: tuple[AccessPlan, ...]
    chains: tuple[ChainPlan, ...]


@dataclass(frozen=True)
class LaunchPlan:
    """A launch: its groups, the streams of addresses it follows in global memory, and its nests."""

    shape: tuple[int, ...]
    launches: int
    groups: int
    barriers: bool
    loops: bool
    streams: int
    nests: tuple[NestPlan, ...]

    @property
    def items(self) -> int:
        """Work-items of a group."""
        return prod(self.shape)


@dataclass(frozen=True)
class KernelPlan:
    """A kernel: its launches, all counts, and the operations on the longest chain of a work-item, by kind."""

    launches: tuple[LaunchPlan, ...]
    depth: Mapping[str, int]
    barriers: int
    counts: JointCounts


_plans: WeakKeyDictionary[KernelCounts, KernelPlan] = WeakKeyDictionary()


def plan_of(counts: KernelCounts) -> KernelPlan:
    """Return the plan of a kernel; it is kept as long as the kernel's counts.

    Raises
    ------
    FlowUnknownError, PlacesUnknownError
        The counts were stored before dataflow, or the places of instructions, were recorded.
    """
    found = _plans.get(counts)
    if found is None:
        found = _plans[counts] = _plan(counts)
    return found


def _plan(counts: KernelCounts) -> KernelPlan:
    if counts.flow is None:
        raise FlowUnknownError(counts.name)
    position = DistinctCounts()
    nests: dict[str, list[Nest]] = defaultdict(list)
    for nest in counts.nests:
        nests[nest.launch].append(nest)
    launches = []
    for row in counts.launch_table:
        own = nests.get(row.name, [])
        launches.append(LaunchPlan(
            row.group_shape, position(row.launches), position(row.work_groups),
            len({nest.stretch for nest in own}) > 1 or any(nest.outer for nest in own),
            any(nest.inner for nest in own), _streams(own), tuple(_nest(nest, own, position) for nest in own),
        ))  # fmt: skip
    depth: dict[str, Count] = {}
    for chain in counts.flow.depth.rows:
        if chain.is_operation:
            depth[chain.kind] = depth[chain.kind] + chain.count if chain.kind in depth else chain.count
    places = {kind: position(count) for kind, count in depth.items()}
    barriers = position(counts.barriers(scope="local"))
    return KernelPlan(tuple(launches), places, barriers, position.joint())


def _nest(nest: Nest, launch: Sequence[Nest], position: DistinctCounts) -> NestPlan:
    quiet = [loop for loop in nest.inner[-2:-1] if not _stores(loop, launch)]
    around = set(nest.inner[:-1])
    return NestPlan(
        loops=len(nest.inner),
        written_out=nest.trips is not None and nest.trips <= WRITTEN_OUT,
        iterations=position(nest.iterations), box=position(nest.box), entries=position(nest.entries),
        entries_around=position(nest.entered[-2] if len(nest.inner) > 1 else nest.entries),
        kept=position(nest.kept),
        operations=tuple((_bits(one.dtype), one.kind, position(one.count)) for one in _floating(nest.operations)),
        accesses=tuple(_access(one, nest, quiet, position) for one in _once(nest.accesses) if one.space != "private"),
        chains=tuple(
            ChainPlan(_by_kind(chain.operations, position), chain.chains, bool(around.intersection(chain.loops)))
            for chain in nest.chains if any(True for _ in _floating(chain.operations))
        ),
    )  # fmt: skip


def _once(accesses: Iterable[NestAccess]) -> Iterable[NestAccess]:
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


def _access(access: NestAccess, nest: Nest, quiet: Sequence[str], position: DistinctCounts) -> AccessPlan:
    apart = () if access.address is None else tuple(position(Count(one.distance)) for one in access.lanes)
    return AccessPlan(
        access.direction == "load", access.bits, position(access.count), apart,
        _stays(access, nest.inner[-1:]), _stays(access, quiet),
        _odd_pitch(access, {*nest.outer, *nest.inner, *access.copies}), _filled(access),
        () if access.address is None else tuple(
            position(one) for one in (access.address.start, *access.address.steps.values())
        ),
    )  # fmt: skip


def _stores(loop: str, launch: Sequence[Nest]) -> bool:
    """Return whether a launch stores to an array in a loop; what it loads there cannot be loaded before the loop."""
    own = (nest for nest in launch if loop in nest.inner)
    return any(access.direction == "store" and access.space != "private" for nest in own for access in nest.accesses)


def _stays(access: NestAccess, loop: Sequence[str]) -> bool:
    """Return whether a loop, if there is one, does not move an access."""
    return any(access.step(name) == Count.constant(0, "byte") for name in loop)


def _odd_pitch(access: NestAccess, loops: Container[str]) -> bool:
    """Return whether lanes of another axis are a number of cells of a local array apart that is no power of two.

    Then the index is a product by a constant, which hides from some compilers that lanes of the first axis are
    neighbours.
    """
    if access.space != "local" or access.address is None:
        return False
    lanes = (step for name, step in access.address.steps.items() if name not in loops)
    return any(log2(abs(float(step())) * 8 / access.bits) % 1 for step in lanes)


def _filled(access: NestAccess) -> bool:
    """Return whether copies of an access fill the cells from one lane to the next: a vector takes all of them."""
    if access.address is None or not access.lanes:
        return False
    cell = Count.constant(Fraction(access.bits, 8), "byte")
    width = prod(values for name, values in access.copies.items() if access.address.step(name) == cell)
    return width > 1 and all(Count(one.distance) == Count.constant(width) for one in access.lanes)


def _floating(operations: Iterable[OperationCount]) -> Iterable[OperationCount]:
    return (one for one in operations if one.dtype.startswith(("float", "complex")))


def _by_kind(operations: Iterable[OperationCount], position: DistinctCounts) -> Mapping[str, int]:
    return {one.kind: position(one.count) for one in _floating(operations)}


def _bits(dtype: str) -> int:
    return 64 if dtype in ("float64", "complex128") else 32


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
