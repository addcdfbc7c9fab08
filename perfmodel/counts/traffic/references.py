"""The references of a launch: where they are in the tree of its loops, and their steps along these."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace

from perfmodel.counts.counters.cardinality import Cardinalities
from perfmodel.counts.nests.nest import address_of
from perfmodel.counts.program.program import Access, Domain, device_kernels
from perfmodel.counts.program.serialisation import statements_with_places
from perfmodel.counts.quasipoly.count import Count
from perfmodel.counts.traffic.frames import Extents, Frame, Frames
from perfmodel.counts.traffic.order import paths


@dataclass(frozen=True, eq=False)
class Reference:
    """Accesses that move alike: one box for each start.

    Attributes
    ----------
    array : str
        What is accessed.
    size : int
        Bytes of one access.
    frame : Frame
        The loops around it.
    steps : tuple of Count or None
        How far the address moves with each of them; None where data, or something not affine, gives it.
    inner : tuple of tuple
        For each depth the loops from there inwards, the smallest steps first: the loop's depth, and the iterations
        outside of it and in it. Where a guard couples loops, the order decides which of them is the shorter.
    starts : tuple of Count
        Where the boxes begin, in bytes from the array's first cell.
    stores : tuple of bool
        Which of them are stored to.
    exact : bool
        False where the executed instances are only bounded.
    paged : bool
        Whether the array lies in global memory, where it begins on a page.
    """

    array: str
    size: int
    frame: Frame
    steps: tuple[Count, ...] | None
    inner: tuple[Extents, ...]
    starts: tuple[Count, ...]
    stores: tuple[bool, ...]
    exact: bool
    paged: bool


def references_of(
    cardinalities: Cardinalities, launch: int, unrolled: Container[str], order: str
) -> tuple[Reference, ...]:
    """Return the references of a launch in the order of the device; registers (private arrays) are left out.

    Raises
    ------
    PlacesUnknownError
        The program was stored before places were recorded.
    """
    program = cardinalities.program
    device = list(device_kernels(program.schedule))[launch]
    around = paths(device, program.launches[launch], unrolled, order)
    frames = Frames(cardinalities, launch)
    found: dict[tuple[object, ...], list[tuple[Reference, Count, bool]]] = defaultdict(list)
    for statement in statements_with_places(program):
        domain = statement.domain
        for access in statement.accesses if domain.launch == launch else ():
            if access.space != "private":
                frame, names = frames.of(domain, around[statement.place])
                one, start = _reference(frames, access, domain, frame, names)
                texts = None if one.steps is None else tuple(str(step.polynomial) for step in one.steps)
                key = one.array, one.size, id(frame), texts
                found[key].append((one, start, access.direction == "store"))
    together = (
        replace(same[0][0], starts=tuple(one[1] for one in same), stores=tuple(one[2] for one in same))
        for same in found.values()
    )
    return tuple(sorted(together, key=lambda one: [(isinstance(entry, str), entry) for entry in one.frame.path]))


def _reference(
    frames: Frames, access: Access, domain: Domain, frame: Frame, names: Sequence[str]
) -> tuple[Reference, Count]:
    """Return an access as a reference, without its start, and its start."""
    address = address_of(access, domain)
    exact = address is not None and domain.exact and domain.factor == 1
    steps = None if address is None else tuple(address.step(name) for name in names)
    inner = () if steps is None else frames.extents(domain, frame, names, steps)
    start = Count.constant(0, "byte") if address is None else address.start
    return Reference(
        access.array, access.bits // 8, frame, steps, inner, (), (), exact, access.space == "global"
    ), start
