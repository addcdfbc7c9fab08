"""The search for the sizes of a ladder that are worth measuring, by the times that trial runs take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from perfmodel.kernels import Ladder, Parameters
from perfmodel.measuring.campaign import Campaign


@dataclass(frozen=True)
class Trial:
    """What trial runs at one parameter set show: the time of each variant [s], the fewest work-groups of any."""

    seconds: tuple[float, ...]
    groups: int


@dataclass(frozen=True)
class Least:
    """What the lowest rung must reach: time of its quickest run [s], and number of work-groups."""

    seconds: float = 0.0
    groups: int = 0


@dataclass(frozen=True)
class Rung:
    """The parameter sets of one rung, and what trial runs at each show."""

    points: tuple[Parameters, ...]
    trials: tuple[Trial, ...]

    @property
    def slowest_s(self) -> float:
        """Time of its slowest run [s]."""
        return max(max(trial.seconds) for trial in self.trials)

    def reaches(self, least: Least) -> bool:
        """Whether all of its runs are long enough and have enough work-groups."""
        return all(min(trial.seconds) >= least.seconds and trial.groups >= least.groups for trial in self.trials)


def search_sizes(
    sizes: Ladder,
    run_trial: Callable[[Parameters], Trial],
    fits: Callable[[Parameters], bool],
    least: Least,
    campaign: Campaign,
) -> tuple[Parameters, ...]:
    """Choose parameter sets from small to large (paper, section 4.2).

    The search tries one exponent after another until a rung reaches `least`, which is the lowest rung taken.  From
    there it goes up in the ladder's own steps and takes each rung.  It ends when it has as many rungs as wanted,
    when the next one does not fit into memory, and when a run takes longer than the campaign allows or, since a
    step up at least doubles the time, would do so.  The first `campaign.least_rungs` rungs are taken even if they
    take longer.  If no rung reaches `least`, the largest that fits and is short enough is taken alone.

    Parameters
    ----------
    sizes : Ladder
        The class's ladder.
    run_trial : callable
        Trial runs at parameters.
    fits : callable
        Whether parameters fit into the device's memory.
    least : Least
        What the lowest rung must reach.
    campaign : Campaign
        Number of rungs and longest run.
    """
    wanted = min(sizes.rungs, campaign.rungs or sizes.rungs)
    taken: list[Rung] = []
    largest: Rung | None = None
    exponent = sizes.start
    while len(taken) < wanted and (rung := _try_rung(sizes, exponent, run_trial, fits, campaign)):
        owed = taken and len(taken) < campaign.least_rungs
        if rung.slowest_s > campaign.longest_s and largest and not owed:
            break
        largest, step = rung, 1
        if rung.reaches(least):
            taken.append(rung)
            step = sizes.step
        if rung.slowest_s * 2**step > campaign.longest_s and len(taken) >= campaign.least_rungs:
            break
        exponent += step
    chosen = taken or ([largest] if largest else [])
    return tuple(point for rung in chosen for point in rung.points)


def _try_rung(
    sizes: Ladder,
    exponent: int,
    run_trial: Callable[[Parameters], Trial],
    fits: Callable[[Parameters], bool],
    campaign: Campaign,
) -> Rung | None:
    """Run trials at the parameter sets of one rung; None if one of them does not fit into memory.

    Where the ladder orders a rung by time, only its `longest` sets that are short enough are kept.
    """
    points: list[Parameters] = []
    trials: list[Trial] = []
    for point in sizes.at(exponent)[: campaign.points]:
        if not fits(point):
            return None
        trial = run_trial(point)
        if sizes.longest and points and max(trial.seconds) > campaign.longest_s:
            break
        points.append(point)
        trials.append(trial)
    kept = slice(-(sizes.longest or 0), None)
    return Rung(tuple(points[kept]), tuple(trials[kept])) if points else None
