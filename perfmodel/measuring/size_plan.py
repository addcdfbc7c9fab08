"""Size plans: the sizes at which a variant, or the variants of a class that are ranked, are measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean
from typing import TypeVar

from perfmodel.kernels import Parameters
from perfmodel.measuring.order import Team
from perfmodel.measuring.size_search import Least, Trial, search_sizes
from perfmodel.measuring.subject import FailedError, Subject
from perfmodel.measuring.timekeeper import Timekeeper
from perfmodel.store import Measurement, canonical

T = TypeVar("T")


@dataclass(frozen=True)
class Plan:
    """Parameter sets to measure, and what one run of each takes [s], on average over the team."""

    parameters: tuple[Parameters, ...]
    seconds: tuple[float, ...]


class PlanError(Exception):
    """A variant failed while its sizes were chosen; the store may have the record. It never leaves this package."""

    def __init__(self, subject: Subject, failure: FailedError, record: Measurement | None = None) -> None:
        self.subject = subject
        self.failure = failure
        self.record = record
        super().__init__(failure.message)


def plan_sizes(
    timekeeper: Timekeeper, team: Team, time: Callable[[Subject, Parameters], float] | None = None
) -> Plan:
    """Choose the parameter sets at which to measure all of `team`.

    Parameters
    ----------
    timekeeper : Timekeeper
        The device, the campaign's settings, and the counts of variants.
    team : tuple of Subject
        The variants, of one class.
    time : callable
        Time of a trial run [s]; :meth:`Bench.trial` by default.

    Raises
    ------
    PlanError
        A variant cannot be built, counted or run, or does not fit into the memory.
    """
    bench, kernel, seen = timekeeper.bench, team[0].kernel, {}
    campaign, time = bench.campaign, time or bench.trial

    def run_trial(parameters: Parameters) -> Trial:
        groups = [_naming(s, lambda s: timekeeper.work_groups(s, parameters)) for s in team]
        seconds = tuple(_naming(s, lambda s: time(s, parameters)) for s in team)
        seen[canonical(parameters)] = fmean(seconds)
        return Trial(seconds, min(groups))

    def fits(parameters: Parameters) -> bool:
        return all(_naming(s, lambda s: bench.fits(s, parameters)) for s in team)

    groups = campaign.groups_per_unit * bench.fact("compute_units")
    least = Least() if "overhead" in kernel.tags else Least(campaign.over_launch * timekeeper.overhead_s, groups)
    points = search_sizes(kernel.sizes, run_trial, fits, least, campaign)
    if not points:
        share = f"{campaign.memory_fraction:.0%} of its {bench.fact('global_memory_bytes') / 1e6:.0f} MB"
        message = f"no size of its ladder fits into the memory that the device offers ({share})"
        raise PlanError(team[0], FailedError("constraint", message))
    return Plan(points, tuple(seen[canonical(point)] for point in points))


def _naming(subject: Subject, ask: Callable[[Subject], T]) -> T:
    """Call `ask`; a failure names the subject."""
    try:
        return ask(subject)
    except FailedError as failure:
        raise PlanError(subject, failure) from failure
