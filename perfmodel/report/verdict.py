"""What a fitted model may be used for on a device: to time, to rank, both, or neither."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from perfmodel.report.comparison import Comparison, mean_error, withheld

MOST_ERROR = 0.25
"""To time: largest geometric-mean relative error [1]."""
LEAST_COVERAGE = 0.9
"""To time and to rank: smallest share of cases with a prediction [1]."""
LEAST_TAU = 0.6
"""To rank: smallest mean of Kendall's tau [1]; 0.6 is four pairs of five in the right order."""
MOST_REGRET = 1.1
"""To rank: largest geometric mean of the chosen alternative's time over the best one's [1]."""
LEAST_CASES = 8
"""To time: fewest cases with a prediction."""
LEAST_CHOICES = 3
"""To rank: fewest choices between alternatives."""


@dataclass(frozen=True)
class Choice:
    """Alternatives for one job: measured and predicted times of each, in one order [s]."""

    measured: tuple[float, ...]
    predicted: tuple[float, ...]

    @property
    def tau(self) -> float:
        """Kendall's tau-b between both orders, in [-1, 1]; 0 where one of them is all ties."""
        from scipy.stats import kendalltau

        found = float(kendalltau(self.measured, self.predicted).statistic)
        return 0.0 if math.isnan(found) else found

    @property
    def regret(self) -> float:
        """Measured time of the alternative predicted fastest, over the best one's [1]."""
        return self.measured[int(np.argmin(self.predicted))] / min(self.measured)


@dataclass(frozen=True)
class Figures:
    """What a verdict rests on.

    Parameters
    ----------
    cases : int
        Cases that were measured.
    coverage : float
        Share of them with a prediction [1].
    error : float
        Geometric mean of their relative errors [1]; NaN of none.
    choices : int
        Jobs with two alternatives or more.
    tau : float
        Mean of Kendall's tau over choices [1]; NaN of none, as the next two.
    top1 : float
        Share of choices whose best alternative was predicted fastest [1].
    regret : float
        Geometric mean of regret over choices [1].
    """

    cases: int
    coverage: float
    error: float
    choices: int = 0
    tau: float = math.nan
    top1: float = math.nan
    regret: float = math.nan


@dataclass(frozen=True)
class Verdict:
    """What a model may be used for, and why.

    Parameters
    ----------
    to_time, to_rank : bool
        Whether its seconds, and whether its choices are good enough.
    reasons : tuple of str
        Each figure with its threshold, one sentence each.
    """

    to_time: bool
    to_rank: bool
    reasons: tuple[str, ...]

    @property
    def text(self) -> str:
        """The verdict in words, without its reasons."""
        words = {
            (True, True): "usable to time and to rank",
            (True, False): "usable to time, not to rank",
            (False, True): "usable to rank, not to time",
            (False, False): "usable neither to time nor to rank",
        }
        return words[self.to_time, self.to_rank]


def choices(rows: Sequence[Comparison]) -> tuple[Choice, ...]:
    """Choices in predicted cases: alternatives are the variants of one kernel at the same sizes.

    A withheld alternative is left out of its choice; :attr:`Figures.coverage` counts it.
    """
    jobs: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for row in rows:
        if row.predicted is not None:
            jobs.setdefault((row.kernel, row.case), []).append((row.measured, row.predicted))
    return tuple(
        Choice(tuple(measured for measured, _ in job), tuple(predicted for _, predicted in job))
        for job in jobs.values()
        if len(job) > 1
    )


def figures(rows: Sequence[Comparison]) -> Figures:
    """Sum up predicted against measured times.

    Source: relative errors floored at 0.1 % and regret as in :mod:`perfmodel.fit`; tau-b is
    Kendall's, *Rank Correlation Methods*, chapter 3.
    """
    found = choices(rows)
    coverage = 1 - withheld(rows) / len(rows) if rows else 0.0
    if not found:
        return Figures(len(rows), coverage, mean_error(rows))
    return Figures(
        cases=len(rows),
        coverage=coverage,
        error=mean_error(rows),
        choices=len(found),
        tau=float(np.mean([choice.tau for choice in found])),
        top1=float(np.mean([choice.regret == 1 for choice in found])),
        regret=float(np.exp(np.mean([np.log(choice.regret) for choice in found]))),
    )


def judge(found: Figures) -> Verdict:
    """Hold figures against the thresholds of this module.

    Examples
    --------
    >>> judge(Figures(20, 1.0, 0.12, 5, 0.8, 0.8, 1.02)).text
    'usable to time and to rank'
    >>> judge(Figures(20, 1.0, 0.6, 5, 0.8, 0.6, 1.04)).text
    'usable to rank, not to time'
    """
    covered = found.coverage >= LEAST_COVERAGE
    predicted = round(found.cases * found.coverage)
    to_time = covered and predicted >= LEAST_CASES and found.error <= MOST_ERROR
    to_rank = (
        covered
        and found.choices >= LEAST_CHOICES
        and found.tau >= LEAST_TAU
        and found.regret <= MOST_REGRET
    )
    return Verdict(to_time, to_rank, tuple(_reasons(found, predicted)))


def _reasons(found: Figures, predicted: int) -> Iterable[str]:
    yield (
        f"{predicted} of {found.cases} cases predicted (needed: {100 * LEAST_COVERAGE:.0f} %, "
        f"and to time at least {LEAST_CASES})"
    )
    if predicted:
        yield (
            f"geometric mean of the relative errors {100 * found.error:.1f} % "
            f"(to time: at most {100 * MOST_ERROR:.0f} %)"
        )
    few = f"{found.choices} choices between variants (to rank: at least {LEAST_CHOICES})"
    if not found.choices:
        yield few
        return
    yield (
        f"{few}: Kendall's tau {found.tau:.2f} (at least {LEAST_TAU}), chosen over best time "
        f"{found.regret:.2f} (at most {MOST_REGRET}), best one chosen in {100 * found.top1:.0f} %"
    )
