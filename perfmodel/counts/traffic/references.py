"""The references of a launch: where they are in the tree of its loops, and their steps along these."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import islpy as isl

from perfmodel.counts.counters.cardinality import Cardinalities
from perfmodel.counts.flow.trips import Trips
from perfmodel.counts.nests.address import address_of
from perfmodel.counts.points.cardinality import Cardinality
from perfmodel.counts.program.places import statements_with_places
from perfmodel.counts.program.program import Access, Domain
from perfmodel.counts.program.tree import device_kernels
from perfmodel.counts.quasipoly.count import Count
from perfmodel.counts.traffic.order import Path, paths

SET = isl.dim_type.set
ONE = Cardinality(isl.PwQPolynomial("{ 1 }"))
Extents = tuple[tuple[int, Count, Count], ...]


@dataclass(frozen=True, eq=False)
class Frame:
    """The loops around a reference, outermost first.

    Attributes
    ----------
    path : Path
        The path to it.
    nodes : tuple of Path
        Each loop as the path to it.
    iterations : tuple of Count
        How often the loops' bodies are executed: first outside of all, then in each.
    """

    path: Path
    nodes: tuple[Path, ...]
    iterations: tuple[Count, ...]


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
    frames = _Frames(cardinalities, launch)
    found: dict[tuple[object, ...], list[tuple[Reference, Count, bool]]] = defaultdict(list)
    for statement in statements_with_places(program):
        domain = statement.domain
        for access in statement.accesses if domain.launch == launch else ():
            if access.space != "private":
                frame, names = frames.of(domain, around[statement.place])
                one, start = frames.reference(access, domain, frame, names)
                texts = None if one.steps is None else tuple(str(step.polynomial) for step in one.steps)
                key = one.array, one.size, id(frame), texts
                found[key].append((one, start, access.direction == "store"))
    together = (
        replace(same[0][0], starts=tuple(one[1] for one in same), stores=tuple(one[2] for one in same))
        for same in found.values()
    )
    return tuple(sorted(together, key=lambda one: [(isinstance(entry, str), entry) for entry in one.frame.path]))


@dataclass
class _Frames:
    """The loops around the statements of one launch; those of one domain at one place are made once."""

    cardinalities: Cardinalities
    launch: int
    known: dict[tuple[Domain, Path], tuple[Frame, tuple[str, ...]]] = field(default_factory=dict)
    boxes: dict[Domain, bool] = field(default_factory=dict)

    def of(self, domain: Domain, path: Path) -> tuple[Frame, tuple[str, ...]]:
        """Return the frame of a statement, and the inames of its loops; "" where it does not depend on one."""
        if (domain, path) not in self.known:
            self.known[domain, path] = self._made(domain, self._with_copies(domain, path))
        return self.known[domain, path]

    @property
    def _host(self) -> list[str]:
        return list(self.cardinalities.program.launches[self.launch].repeats.get_var_names(SET))

    def _with_copies(self, domain: Domain, path: Path) -> Path:
        """Return a path with the inames that have no loop in the schedule: a copy of the statement for each value."""
        pairs = zip(domain.names, domain.axes, strict=True)
        copies = [name for name, axis in pairs if not axis and name not in path and name not in self._host]
        last = len(path) - (path[-1] == "l.0")
        return (*path[:last], *copies, *path[last:])

    def reference(
        self, access: Access, domain: Domain, frame: Frame, names: Sequence[str]
    ) -> tuple[Reference, Count]:
        """Return an access as a reference, without its start, and its start."""
        address = address_of(access, domain)
        exact = address is not None and domain.exact and domain.factor == 1
        steps = None if address is None else tuple(address.step(name) for name in names)
        inner = () if steps is None else self._inner(domain, frame, names, steps)
        start = Count.constant(0, "byte") if address is None else address.start
        paged = access.space == "global"
        return Reference(access.array, access.bits // 8, frame, steps, inner, (), (), exact, paged), start

    def _inner(
        self, domain: Domain, frame: Frame, names: Sequence[str], steps: Sequence[Count]
    ) -> tuple[Extents, ...]:
        """Return for each depth the loops inwards, the smallest steps first."""
        plain = tuple((k, frame.iterations[k], frame.iterations[k + 1]) for k in range(len(names)))
        if self._is_box(domain):
            return tuple(plain[depth:] for depth in range(len(names) + 1))
        sizes = [abs(float(step(**self.sizes))) for step in steps]
        found = []
        for depth in range(len(names) + 1):
            inside = [*self._host_of(domain), *(name for name in names[:depth] if name)]
            before, loops = self._number(domain, inside, ONE), []
            for k in sorted(range(depth, len(names)), key=sizes.__getitem__):
                if names[k] and sizes[k]:
                    inside.append(names[k])
                    after = self._number(domain, inside, ONE)
                    loops.append((k, before, after))
                    before = after
            found.append(tuple(loops))
        return tuple(found)

    def _is_box(self, domain: Domain) -> bool:
        """Whether no condition couples the inames of a domain."""
        if domain not in self.boxes:
            box = isl.Set("{ [] }")
            number = len(domain.axes)
            for k in range(number):
                box = box.flat_product(domain.points.project_out(SET, k + 1, number - k - 1).project_out(SET, 0, k))
            self.boxes[domain] = bool(box.is_equal(domain.points))
        return self.boxes[domain]

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """Large sizes, at which steps are compared."""
        return Trips(self.cardinalities).sizes

    def _host_of(self, domain: Domain) -> list[str]:
        return [name for name in self._host if name in domain.names]

    def _made(self, domain: Domain, path: Path) -> tuple[Frame, tuple[str, ...]]:
        by_axis = {axis: name for axis, name in zip(domain.axes, domain.names, strict=True) if axis}
        inside = self._host_of(domain)
        factor = ONE
        if not inside:
            factor = self.cardinalities.size(self.cardinalities.program.launches[self.launch].repeats)
        trips = domain.trips
        iterations = [self._number(domain, inside, factor)]
        nodes, names = [], []
        for depth, entry in enumerate(path, 1):
            if isinstance(entry, str):
                name = by_axis.get(entry, entry)
                if name in domain.names:
                    inside.append(name)
                elif entry[:2] in ("g.", "l."):
                    factor = factor.times(self._extent(entry))
                elif trips is not None:  # statistics give the trips of all such loops together
                    factor, trips = factor.times(isl.PwQPolynomial(f"{{ {trips} }}")), None
                nodes.append(path[:depth])
                names.append(name if name in domain.names else "")
                iterations.append(self._number(domain, inside, factor))
        return Frame(path, tuple(nodes), tuple(iterations)), tuple(names)

    def _number(self, domain: Domain, inside: Sequence[str], factor: Cardinality) -> Count:
        if not inside:
            return self.cardinalities.wrap(factor)
        points = domain.points
        for k in reversed(range(len(domain.names))):
            if domain.names[k] not in inside:
                points = points.project_out(SET, k, 1)
        return self.cardinalities.wrap(self.cardinalities.size(points.coalesce()).times(factor))

    def _extent(self, axis: str) -> isl.PwQPolynomial:
        launch, number = self.cardinalities.program.launches[self.launch], int(axis[2:])
        if axis.startswith("l"):
            return isl.PwQPolynomial(f"{{ {launch.group_shape[number]} }}")
        return isl.PwQPolynomial.from_pw_aff(launch.grid[number])
