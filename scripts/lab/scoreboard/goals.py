"""What a model is to reach, and whether it does: stricter than the verdict, and for those who work on models."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scripts.lab.scoreboard.scoring import Scoring


@dataclass(frozen=True)
class Goals:
    """Limits of figures by one protocol, over all test kernels of a device."""

    # Largest geometric-mean relative error [1]; where that is more, `oracle_times` what oracle factors leave.
    error: float = 0.12
    oracle_times: float = 1.5  # see there [1]
    factor: float = 0.15  # largest geometric mean of max(p/t, t/p), minus 1 [1]
    regret: float = 1.05  # largest time of the chosen variant over the best one's [1]
    # Least share of choices where the chosen variant is a best one, ties within the noise included [1].
    top1: float = 0.7
    tau: float = 0.8  # least mean of Kendall's tau [1]
    inside: tuple[float, float] = (0.85, 0.95)  # least and largest share of measured times in their 90 % interval [1]
    width: float = 2.0  # the median of upper over lower bound stays below it [1]
    # fit_s, predict_s: a fit, and the prediction of a counted kernel, stay below these [s].
    fit_s: float = 30.0
    predict_s: float = 1e-4


MEASURED = Goals()
"""For devices."""
SIMULATED = Goals(regret=1.1, tau=0.7)
"""For the simulated GPU, whose launches are small and where many variants take about as long."""


@dataclass(frozen=True)
class Held:
    """A figure held against its goal."""

    name: str  # what was judged
    found: float  # the figure; NaN if there is none, and then no goal is reached
    goal: str  # the limit in words
    met: bool  # whether the figure keeps it


def hold(
    scored: Scoring, groups: Scoring | None = None, floor: float = math.nan, goals: Goals = MEASURED
) -> tuple[Held, ...]:
    """Compare a scoring's figures on test kernels with goals, and the intervals of `groups`, the measured ones.

    `floor` is the error that oracle factors leave on this device [1]; NaN if it is unknown. Without choices there are
    no figures of them.
    """
    intervals = [] if groups is None else [*_hold_intervals(groups, goals, ", groups")]
    return (*_hold_errors(scored, goals, _most_error(goals, floor)), *_hold_intervals(scored, goals), *intervals,
            *_hold_rest(scored, goals))  # fmt: skip


def _hold_errors(one: Scoring, goals: Goals, most: float) -> Iterator[Held]:
    yield Held("error", one.error, f"at most {100 * most:.1f} %", one.error <= most)
    yield Held("factor - 1", one.factor, f"at most {100 * goals.factor:.0f} %", one.factor <= goals.factor)
    if one.choices:
        yield Held("regret", one.regret, f"at most {goals.regret}", one.regret <= goals.regret)
        yield Held("top-1", one.top1_tied, f"at least {100 * goals.top1:.0f} %", one.top1_tied >= goals.top1)
        yield Held("tau", one.tau, f"at least {goals.tau}", one.tau >= goals.tau)


def _hold_intervals(one: Scoring, goals: Goals, of: str = "") -> Iterator[Held]:
    low, high = goals.inside
    yield Held(f"coverage{of}", one.inside, f"{100 * low:.0f} to {100 * high:.0f} %", low <= one.inside <= high)
    yield Held(f"width{of}", one.width, f"below {goals.width:g}", one.width < goals.width)


def _hold_rest(one: Scoring, goals: Goals) -> Iterator[Held]:
    yield Held("withheld", float(one.withheld), "none", one.withheld == 0)
    yield Held("fit", one.fit_s, f"below {goals.fit_s:g} s", one.fit_s < goals.fit_s)
    yield Held("predict", one.predict_s, f"below {1e6 * goals.predict_s:g} us", one.predict_s < goals.predict_s)


def _most_error(goals: Goals, floor: float) -> float:
    return goals.error if math.isnan(floor) else max(goals.error, goals.oracle_times * floor)
