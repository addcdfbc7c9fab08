"""The verdict on a fitted model: usable to time, to rank, both, or neither."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from perfmodel.compare.figures import Figures

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
class Verdict:
    """Whether a model is usable to time and to rank, with reasons.

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


def judge(found: Figures) -> Verdict:
    """Hold figures against the thresholds of this module.

    Examples
    --------
    >>> judge(Figures(20, 0, error=0.12, choices=5, regret=1.02, tau=0.8)).text
    'usable to time and to rank'
    >>> judge(Figures(20, 0, error=0.6, choices=5, regret=1.04, tau=0.8)).text
    'usable to rank, not to time'
    """
    covered = found.coverage >= LEAST_COVERAGE
    predicted = found.cases - found.withheld
    to_time = covered and predicted >= LEAST_CASES and found.error <= MOST_ERROR
    chosen_well = found.tau >= LEAST_TAU and found.regret <= MOST_REGRET
    to_rank = covered and found.choices >= LEAST_CHOICES and chosen_well
    return Verdict(to_time, to_rank, tuple(_reasons(found, predicted)))


def _reasons(found: Figures, predicted: int) -> Iterable[str]:
    if not found.cases:
        yield "no test kernel is measured, so nothing judges it; a calibration that runs again goes on with them"
        return
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
