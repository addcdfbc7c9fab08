"""Sizes to measure: each ladder starts where runs stand out from the launch overhead.

Variants that are to be ranked are measured at the same sizes: they share one ladder.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from perfmodel.kernels import Ladder, Parameters
from perfmodel.measuring.bench import Bench, FailedError, Subject, stage
from perfmodel.measuring.campaign import Campaign
from perfmodel.store import canonical

if TYPE_CHECKING:
    from perfmodel.counts import KernelCounts

T = TypeVar("T")

#: Variants that are measured at the same sizes; mostly one alone.
Team: TypeAlias = tuple[Subject, ...]


@dataclass(frozen=True)
class Trial:
    """What a first look at sizes shows: times of the team's runs [s], its fewest work-groups."""

    seconds: tuple[float, ...]
    groups: int


@dataclass(frozen=True)
class Plan:
    """Parameter sets to measure, and what one run of each takes [s], on average over the team."""

    parameters: tuple[Parameters, ...]
    seconds: tuple[float, ...]


class PlanError(Exception):
    """A variant failed while its sizes were chosen; never leaves the room."""

    def __init__(self, subject: Subject, failure: FailedError) -> None:
        self.subject = subject
        self.failure = failure
        super().__init__(failure.message)


@dataclass(frozen=True)
class Least:
    """What the lowest rung must reach: time of its quickest run [s], and work-groups."""

    seconds: float = 0.0
    groups: int = 0


def ladder(
    sizes: Ladder,
    trial: Callable[[Parameters], Trial],
    fits: Callable[[Parameters], bool],
    least: Least,
    campaign: Campaign,
) -> tuple[Parameters, ...]:
    """Parameter sets from small to large (paper, section 4.2).

    The lowest rung is the first that reaches `least`; rungs follow while they fit into
    memory and no run takes longer than the campaign allows.  If none qualifies, the
    largest that fits and is short enough is all there is.

    Parameters
    ----------
    sizes : Ladder
        The class's ladder.
    trial : callable
        First look at parameters.
    fits : callable
        Whether parameters fit into the device's memory.
    least : Least
        What the lowest rung must reach.
    campaign : Campaign
        Number of rungs and longest run.
    """
    wanted = min(sizes.rungs, campaign.rungs or sizes.rungs)
    chosen: list[tuple[Parameters, ...]] = []
    fallback: tuple[Parameters, ...] = ()
    exponent = sizes.start
    while len(chosen) < wanted:
        rung = _rung(sizes, exponent, trial, fits, campaign)
        if not rung:
            break
        slowest = max(max(seen.seconds) for _, seen in rung)
        owed = len(chosen) < campaign.least_rungs
        if slowest > campaign.longest_s and fallback and not (owed and chosen):
            break
        fallback = tuple(point for point, _ in rung)
        tall = all(min(seen.seconds) >= least.seconds and seen.groups >= least.groups for _, seen in rung)
        if tall:
            chosen.append(fallback)
        step = sizes.step if tall else 1
        if slowest * 2**step > campaign.longest_s and len(chosen) >= campaign.least_rungs:
            break
        exponent += step
    return tuple(point for points in chosen or [fallback] for point in points)


def _rung(
    sizes: Ladder,
    exponent: int,
    trial: Callable[[Parameters], Trial],
    fits: Callable[[Parameters], bool],
    campaign: Campaign,
) -> list[tuple[Parameters, Trial]]:
    """Parameter sets of one rung with what a trial of each showed; none if one is too big."""
    seen: list[tuple[Parameters, Trial]] = []
    for point in sizes.at(exponent)[: campaign.points]:
        if not fits(point):
            return []
        shown = trial(point)
        if sizes.longest and seen and max(shown.seconds) > campaign.longest_s:
            break
        seen.append((point, shown))
    return seen[-sizes.longest :] if sizes.longest else seen


def plan(
    bench: Bench,
    team: Team,
    count: Callable[[Subject], KernelCounts],
    overhead_s: float,
    look: Callable[[Subject, Parameters], float] | None = None,
) -> Plan:
    """Choose parameter sets at which to measure all of `team`, by `look` (``bench.trial``) at the time of a run.

    Raises
    ------
    PlanError
        A variant cannot be built, counted or run, or does not fit into the memory.
    """
    campaign, seen = bench.campaign, {}
    look = look or bench.trial

    def trial(parameters: Parameters) -> Trial:
        groups = [_blaming(s, lambda s: work_groups(count(s), parameters)) for s in team]
        seconds = tuple(_blaming(s, lambda s: look(s, parameters)) for s in team)
        seen[canonical(parameters)] = fmean(seconds)
        return Trial(seconds, min(groups))

    def fits(parameters: Parameters) -> bool:
        return all(_blaming(s, lambda s: bench.fits(s, parameters)) for s in team)

    groups = campaign.groups_per_unit * bench.fact("compute_units")
    kernel = team[0].kernel
    stands_out = Least(campaign.over_launch * overhead_s, groups)
    least = Least() if "overhead" in kernel.tags else stands_out
    points = ladder(kernel.sizes, trial, fits, least, campaign)
    if not points:
        share = f"{campaign.memory_fraction:.0%} of its {bench.fact('global_memory_bytes') / 1e6:.0f} MB"
        message = f"no size of its ladder fits into the memory that the device offers ({share})"
        raise PlanError(team[0], FailedError("constraint", message))
    return Plan(points, tuple(seen[canonical(point)] for point in points))


def _blaming(subject: Subject, ask: Callable[[Subject], T]) -> T:
    try:
        return ask(subject)
    except FailedError as failure:
        raise PlanError(subject, failure) from failure


def work_groups(counts: KernelCounts, parameters: Parameters) -> int:
    """Work-groups of a launch; fails where the kernel's assumptions do not hold.

    Code generated under an assumption has no guard against what it rules out, so such
    parameters must not reach the device.
    """
    with stage("constraint"):
        return int(counts.work_groups()(**parameters))
