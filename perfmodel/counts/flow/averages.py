"""How often an average sub-group passes a place of the schedule: the weights of a work flow graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from perfmodel.counts.flow.trips import Trips
from perfmodel.counts.kernel import KernelCounts
from perfmodel.counts.program.places import access_places
from perfmodel.counts.program.program import Domain
from perfmodel.errors import FlowUnknownError


class Averages:
    """Executions by sub-groups over the sub-groups of one launch, at some sizes.

    A loop nest is passed as often as the statement in it that is executed most; a guarded statement
    as often as its accesses to global memory, and one that has none as often as its nest.

    Parameters
    ----------
    counts
        The counted kernel.
    sizes
        All size parameters.

    Raises
    ------
    FlowUnknownError
        The counts were stored before dataflow was recorded.
    """

    def __init__(self, counts: KernelCounts, sizes: Mapping[str, int]) -> None:
        if counts.flow is None:
            raise FlowUnknownError(counts.name)
        self.counts, self.sizes, self.program = counts, sizes, counts.program
        self.cardinalities = counts.flow.cardinalities
        self._known: dict[tuple[str, tuple[str, ...], str], float] = {}
        self.launches = {row.name: k for k, row in enumerate(counts.launch_table)}
        self.trips = Trips(self.cardinalities)
        self.loops = set(self.trips.around)
        self.places = {launch: access_places(self.program, launch) for launch in self.launches.values()}

    def executions(self, launch: str, loops: tuple[str, ...], statement: str = "") -> float:
        """Return the average of a nest of the launch, or of a guarded statement in it."""
        key = (launch, loops, statement)
        if key not in self._known:
            self._known[key] = self._executions(*key)
        return self._known[key]

    def _executions(self, launch: str, loops: tuple[str, ...], statement: str) -> float:
        number = self.launches.get(launch)
        if number is None:  # between launches
            return float(self.trips.count(loops)(**self.sizes))
        own = {id(one.domain): one.domain for one in self.places[number] if statement and one.statement == statement}
        inside = [
            one.domain for one in self.program.statements
            if one.domain.launch == number and self.loops & set(one.domain.names) == set(loops)
        ]
        found = self._most(number, own.values() or inside)
        return float(self.trips.count(loops)(**self.sizes)) if found is None else found

    def _most(self, launch: int, domains: Iterable[Domain]) -> float | None:
        row = self.counts.launch_table[launch]
        repeats, groups = float(row.launches(**self.sizes)), float(row.work_groups(**self.sizes))
        size = self.program.launches[launch].group_size
        each = -(-size // self.counts.subgroup_size) * groups / max(repeats, 1.0)
        numbers = [float(self.cardinalities.count(domain, "subgroup")(**self.sizes)) for domain in domains]
        return max(numbers) / each if numbers and each else None
