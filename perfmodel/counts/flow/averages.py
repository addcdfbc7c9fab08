"""How often an average sub-group executes a part of the schedule, as a work-flow graph needs it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from perfmodel.counts.counters.cardinality import Cardinalities
from perfmodel.counts.flow.trips import Nest, Trips
from perfmodel.counts.program.places import access_places
from perfmodel.counts.program.program import Domain


class Averages:
    """Executions by the sub-groups of one launch over their number, at fixed sizes.

    A loop nest counts as often as its most executed statement. A guarded statement counts as often
    as its accesses to global memory; without such accesses it counts as often as its nest.

    Parameters
    ----------
    cardinalities : Cardinalities
        Counts the sets of the program.
    sizes : mapping of str to int
        All size parameters.
    """

    def __init__(self, cardinalities: Cardinalities, sizes: Mapping[str, int]) -> None:
        self.cardinalities, self.sizes, self.program = cardinalities, sizes, cardinalities.program
        self.trips = Trips(cardinalities)
        self.launches = {launch.name: k for k, launch in enumerate(self.program.launches)}
        self.places = {k: access_places(self.program, k) for k in self.launches.values()}
        self.sub_groups = {k: self._sub_groups(k) for k in self.launches.values()}
        self.executions = cache(self._executions)

    def _executions(self, launch: str, loops: Nest, statement: str = "") -> float:
        """Return the average of a nest of the launch, or of a guarded statement in it."""
        number = self.launches.get(launch)
        if number is None:  # the nest stands between two launches
            return float(self.trips.count(loops)(**self.sizes))
        own = {id(one.domain): one.domain for one in self.places[number] if statement and one.statement == statement}
        inside = [
            one.domain for one in self.program.statements
            if one.domain.launch == number and self.trips.around.keys() & one.domain.names == set(loops)
        ]
        found = self._most(number, own.values() or inside)
        return float(self.trips.count(loops)(**self.sizes)) if found is None else found

    def _most(self, launch: int, domains: Iterable[Domain]) -> float | None:
        numbers = [float(self.cardinalities.count(domain, "subgroup")(**self.sizes)) for domain in domains]
        return max(numbers) / self.sub_groups[launch] if numbers and self.sub_groups[launch] else None

    def _sub_groups(self, launch: int) -> float:
        """Return the sub-groups of one execution of the launch."""
        repeats = float(self.cardinalities.repeats(launch)(**self.sizes))
        groups = float(self.cardinalities.work_groups(launch)(**self.sizes))
        size = self.program.launches[launch].group_size
        return -(-size // self.cardinalities.subgroup_size) * groups / max(repeats, 1.0)
