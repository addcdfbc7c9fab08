"""The loops around the statements of a launch, and how often their bodies are executed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import islpy as isl

from perfmodel.counts.counters.cardinality import Cardinalities
from perfmodel.counts.flow.trips import Trips
from perfmodel.counts.points.cardinality import Cardinality
from perfmodel.counts.program.program import Domain
from perfmodel.counts.quasipoly.count import Count
from perfmodel.counts.traffic.order import Path
from perfmodel.lazy import cached_property

SET = isl.dim_type.set
ONE = Cardinality(isl.PwQPolynomial("{ 1 }"))
#: Loops: the depth of each, and the iterations outside of it and in it.
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


@dataclass
class Frames:
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

    def extents(
        self, domain: Domain, frame: Frame, names: Sequence[str], steps: Sequence[Count]
    ) -> tuple[Extents, ...]:
        """Return for each depth the loops inwards, the smallest steps first, as in a reference."""
        plain = tuple((k, frame.iterations[k], frame.iterations[k + 1]) for k in range(len(names)))
        if self._is_box(domain):
            return tuple(plain[depth:] for depth in range(len(names) + 1))
        sizes = [abs(float(step(**dict.fromkeys(step.parameters, 1) | self.sizes))) for step in steps]
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
    def sizes(self) -> dict[str, int]:
        """Large sizes, at which steps are compared."""
        return dict(Trips(self.cardinalities).sizes)

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
