"""The microbenchmarks of Karsin (2018), chapter 4, as measured: times over oversubscription, chains and launches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Any

from scripts.lab.studies.karsin import SPT
from scripts.lab.studies.study import StudyData

#: Its classes, and what each of their variants measures: copies in global memory, local memory, registers, barriers and
#: launches.
COPY, CHAINS, BARRIERS, LAUNCHES = "spt_copy", "spt_chains", "spt_barriers", "spt_launches"
OPERATIONS: Mapping[str, str] = MappingProxyType(
    {"copy": "4.1", "local": "4.2", "register": "4.3", "barrier": "4.4", "launch": "4.5"}
)
"""What is measured, and the figure that shows it."""
WIDTH = 256


@dataclass(frozen=True)
class Run:
    """One configuration."""

    operation: str  # one of :data:`OPERATIONS`
    ilp: int  # chains, or elements at a time, of a work-item: M_I
    # groups, launches: work-groups of a launch, and launches.
    groups: int
    launches: int
    threads: float  # M_o, the work-items for each core; below 1 where cores are idle
    amount: int  # operations of one work-item: accesses to global or local memory, multiply-adds, barriers; or launches
    measured: float  # time [s]
    predicted: float | None  # by the throughput model [s]; None if it is withheld

    @property
    def each(self) -> float:
        """Time of one operation of a work-item [s]: for an operation that is hidden it does not grow with M."""
        return self.measured / self.amount

    @property
    def rate(self) -> float:
        """Operations of all work-items in a second."""
        return self.groups * WIDTH * self.amount / self.measured

    def record(self) -> dict[str, Any]:
        """Return it as a row of a table."""
        return {
            "operation": self.operation, "ilp": self.ilp, "work_groups": self.groups, "launches": self.launches,
            "oversubscription": self.threads, "operations_each": self.amount, "measured_s": self.measured,
            "predicted_s": self.predicted, "operations_per_s": self.rate,
        }  # fmt: skip


def runs(data: StudyData) -> tuple[Run, ...]:
    """Return the measurements by operation, M_I, launches and work-groups."""
    family = SPT if SPT in data.families else data.recommended
    facts = data.facts
    lanes = facts.value("lanes_per_unit") if "lanes_per_unit" in facts else facts.value("subgroup_size")
    cores = float(facts.value("compute_units")) * float(lanes)
    found = []
    for case in data.cases(family):
        sizes, ilp = case.parameters, int(case.variant.get("ilp", 1))
        groups = int(sizes["n"] // WIDTH if "n" in sizes else sizes["groups"])
        operation, amount = _operation(case.kernel, case.variant, sizes, ilp)
        found.append(Run(
            operation, ilp, groups, int(sizes.get("launches", 1)), groups * WIDTH / cores, amount, case.measured,
            case.predicted,
        ))  # fmt: skip
    order = list(OPERATIONS)
    return tuple(sorted(found, key=lambda one: (order.index(one.operation), one.ilp, one.groups, one.launches)))


def _operation(kernel: str, variant: Mapping[str, Any], sizes: Mapping[str, int], ilp: int) -> tuple[str, int]:
    if kernel == COPY:
        return "copy", 2 * sizes["each"]
    if kernel == CHAINS:
        return str(variant["memory"]), sizes["k"] * sizes["repeats"] * ilp
    return ("barrier", sizes["k"]) if kernel == BARRIERS else ("launch", sizes["launches"])


def lines(points: Iterable[Run], operation: str, by: Callable[[Run], Any]) -> dict[Any, list[Run]]:
    """Return the runs of an operation by something, each line in the order of the runs."""
    found: dict[Any, list[Run]] = {}
    for one in points:
        if one.operation == operation:
            found.setdefault(by(one), []).append(one)
    return found


def knees(points: Sequence[Run], operation: str, share: float = 0.9) -> dict[int, float]:
    """Return by M_I the smallest M_o M_I whose rate is at least `share` of the highest one of the operation.

    A line that does not come so far is left out (figure 4.2 has two of these).
    """
    own = [one for one in points if one.operation == operation]
    most = max((one.rate for one in own), default=0.0)
    found: dict[int, float] = {}
    for one in sorted(own, key=lambda one: one.threads, reverse=True):
        if one.rate >= share * most:
            found[one.ilp] = one.threads * one.ilp
    return dict(sorted(found.items()))


def launch_steps(line: Sequence[Run]) -> list[float]:
    """Return the time that each launch more takes, between neighbours of a line over launches [s]."""
    return [(later.measured - one.measured) / (later.launches - one.launches) for one, later in pairwise(line)]
