"""Size plans: the sizes at which a variant, or the variants of a class that are ranked, are measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from perfmodel.kernels import Parameters
from perfmodel.measuring.bench import Bench
from perfmodel.measuring.size_search import Least, Trial, search_sizes
from perfmodel.measuring.subject import FailedError, Subject, stage
from perfmodel.store import canonical

if TYPE_CHECKING:
    from perfmodel.counts import KernelCounts

T = TypeVar("T")

#: Variants that are measured at the same sizes; mostly only one.
Team: TypeAlias = tuple[Subject, ...]


@dataclass(frozen=True)
class Plan:
    """Parameter sets to measure, and what one run of each takes [s], on average over the team."""

    parameters: tuple[Parameters, ...]
    seconds: tuple[float, ...]


class PlanError(Exception):
    """A variant failed while its sizes were chosen; it never leaves this package."""

    def __init__(self, subject: Subject, failure: FailedError) -> None:
        self.subject = subject
        self.failure = failure
        super().__init__(failure.message)


def plan_sizes(
    bench: Bench,
    team: Team,
    count: Callable[[Subject], KernelCounts],
    overhead_s: float,
    time: Callable[[Subject, Parameters], float] | None = None,
) -> Plan:
    """Choose the parameter sets at which to measure all of `team`.

    Parameters
    ----------
    bench : Bench
        The device, and the campaign's settings.
    team : tuple of Subject
        The variants, of one class.
    count : callable
        Counts of a variant.
    overhead_s : float
        The launch overhead [s].
    time : callable
        Time of a trial run [s]; :meth:`Bench.trial` by default.

    Raises
    ------
    PlanError
        A variant cannot be built, counted or run, or does not fit into the memory.
    """
    campaign, kernel, seen = bench.campaign, team[0].kernel, {}
    time = time or bench.trial

    def run_trial(parameters: Parameters) -> Trial:
        groups = [_naming(s, lambda s: count_work_groups(count(s), parameters)) for s in team]
        seconds = tuple(_naming(s, lambda s: time(s, parameters)) for s in team)
        seen[canonical(parameters)] = fmean(seconds)
        return Trial(seconds, min(groups))

    def fits(parameters: Parameters) -> bool:
        return all(_naming(s, lambda s: bench.fits(s, parameters)) for s in team)

    groups = campaign.groups_per_unit * bench.fact("compute_units")
    least = Least() if "overhead" in kernel.tags else Least(campaign.over_launch * overhead_s, groups)
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


def count_work_groups(counts: KernelCounts, parameters: Parameters) -> int:
    """Count the work-groups of a launch; fail where the kernel's assumptions do not hold.

    Code that is generated under an assumption has no guard against what the assumption rules out, so such
    parameters must not reach the device.
    """
    with stage("constraint"):
        return int(counts.work_groups()(**parameters))
