r"""The figures that a model is judged by: errors of times, and the cost of its choices between variants.

With measured times :math:`t` and predicted ones :math:`p`:

- ``error``: geometric mean of :math:`|p - t|/t`.
- ``factor``: geometric mean of :math:`\max(p/t, t/p) - 1`, infinite if a prediction is not positive. ``mean_factor``:
  geometric mean of :math:`\max(p/t, t/p)`. One accurate prediction hardly improves this mean.
- ``median`` and ``p90``: quantiles of :math:`|p - t|/t`.

Errors below 0.1 % count as 0.1 %. Withheld predictions are counted and have no error. A *choice* is between the
measured variants of one kernel at the same sizes. ``regret`` is the measured time of the variant predicted fastest over
the shortest measured time (geometric mean over choices). ``top1`` is the share of choices in which the variant
predicted fastest is the fastest. ``tau`` is the mean of Kendall's tau-b between measured and predicted order. Among
variants with equal predictions, one is chosen at random. On average, a random choice among :math:`n` variants has a tau
of 0. The regret of this choice is ``random_regret``, the geometric mean of all measured times over the best time. Its
top1 is ``random_top1``, the mean of :math:`1/n`. A model must be better than a random choice. :func:`judge` decides
from these figures whether a model is usable to predict times, to rank variants, or both.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from perfmodel.compare.comparison import Comparison
from perfmodel.fitting import geometric_mean_error


@dataclass(frozen=True)
class Choice:
    """Measured and predicted times [s] of the variants of one kernel at the same sizes, in the same order."""

    measured: tuple[float, ...]
    predicted: tuple[float, ...]

    @property
    def tau(self) -> float:
        """Kendall's tau-b between the two orders, in [-1, 1]. If all values of one order are equal, it is 0."""
        from scipy.stats import kendalltau

        tau = float(kendalltau(self.measured, self.predicted).statistic)
        return 0.0 if math.isnan(tau) else tau

    @property
    def chosen(self) -> tuple[int, ...]:
        """Indices of the alternatives predicted fastest. Times that agree to nine digits count as equal."""
        least = min(self.predicted)
        return tuple(index for index, seconds in enumerate(self.predicted) if math.isclose(seconds, least))

    @property
    def regret(self) -> float:
        """Geometric mean of the measured times of :attr:`chosen`, over the shortest measured time [1]."""
        return self._regret(self.chosen)

    @property
    def top1(self) -> float:
        """Share of :attr:`chosen` whose measured time equals the shortest one [1]."""
        return _mean([float(self.measured[index] == min(self.measured)) for index in self.chosen])

    @property
    def random_regret(self) -> float:
        """Average regret of a random choice: geometric mean of all measured times, over the shortest time [1]."""
        return self._regret(range(len(self.measured)))

    def _regret(self, indices: Iterable[int]) -> float:
        return math.exp(_mean([math.log(self.measured[index] / min(self.measured)) for index in indices]))


@dataclass(frozen=True)
class Figures:
    """Figures over a set of cases (:mod:`perfmodel.compare.figures`), all [1]. A figure without cases is NaN."""

    cases: int  # that were measured
    withheld: int  # without a prediction
    error: float
    factor: float = math.nan
    median: float = math.nan
    p90: float = math.nan
    choices: int = 0  # jobs with two predicted alternatives or more
    regret: float = math.nan
    top1: float = math.nan
    tau: float = math.nan
    inside: float = math.nan  # share of the intervals that hold the measured time
    width: float = math.nan  # median of an interval's upper over its lower bound
    random_regret: float = math.nan  # of random choices among the same alternatives
    random_top1: float = math.nan
    mean_factor: float = math.nan  # geometric mean of max(p/t, t/p)

    @property
    def coverage(self) -> float:
        """Share of cases with a prediction [1]."""
        return 1 - self.withheld / self.cases if self.cases else 0.0


def choices(rows: Iterable[Comparison]) -> tuple[Choice, ...]:
    """Return the choices among cases that have a prediction and may be ranked, in order of first occurrence."""
    jobs: dict[tuple[str, tuple[tuple[str, int], ...]], list[tuple[float, float]]] = {}
    for row in rows:
        if row.predicted is not None and row.ranked:
            job = row.kernel, tuple(sorted(row.parameters.items()))
            jobs.setdefault(job, []).append((row.measured, row.predicted))
    return tuple(Choice(*zip(*job, strict=True)) for job in jobs.values() if len(job) > 1)


def summarise(rows: Sequence[Comparison]) -> Figures:
    """Return the figures of predicted against measured times."""
    pairs = [(row.predicted, row.measured) for row in rows if row.predicted is not None]
    errors = [abs(p - t) / t for p, t in pairs]
    factors = [max(p / t, t / p) - 1 if p > 0 else math.inf for p, t in pairs]
    bounds = [row.interval for row in rows if row.interval is not None]
    made = choices(rows)
    return Figures(
        cases=len(rows), withheld=len(rows) - len(pairs), error=geometric_mean_error(errors),
        factor=geometric_mean_error(factors), median=_quantile(errors, 0.5), p90=_quantile(errors, 0.9),
        choices=len(made), regret=math.exp(_mean([math.log(choice.regret) for choice in made])),
        top1=_mean([choice.top1 for choice in made]), tau=_mean([choice.tau for choice in made]),
        inside=_mean([float(bool(row.inside)) for row in rows if row.interval is not None]),
        width=_quantile([high / low if low > 0 else math.inf for low, high in bounds], 0.5),
        random_regret=math.exp(_mean([math.log(choice.random_regret) for choice in made])),
        random_top1=_mean([1 / len(choice.measured) for choice in made]),
        mean_factor=math.exp(_mean([math.log1p(factor) for factor in factors])),
    )  # fmt: skip


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else math.nan


def _quantile(values: Sequence[float], q: float) -> float:
    if not values:
        return math.nan
    method: Literal["linear", "higher"] = "linear" if all(map(math.isfinite, values)) else "higher"
    return float(np.quantile(np.array(values), q, method=method))


MOST_ERROR = 0.25  # to time: geometric mean of the relative errors
LEAST_COVERAGE = 0.9  # to time and to rank: share of cases with a prediction
LEAST_TAU = 0.6  # to rank: mean of Kendall's tau; 0.6 is four pairs of five in the right order
MOST_REGRET = 1.1  # to rank: geometric mean of the chosen alternative's time over the best one's
LEAST_CASES = 8  # to time: with a prediction
LEAST_CHOICES = 3  # to rank


@dataclass(frozen=True)
class Verdict:
    """Whether a model is usable to time (errors are small enough) and to rank (choices are good enough)."""

    to_time: bool
    to_rank: bool
    reasons: tuple[str, ...]  # each figure with its threshold, one sentence each

    @property
    def text(self) -> str:
        """The verdict in words, without its reasons."""
        if self.to_time:
            return "usable to time and to rank" if self.to_rank else "usable to time, not to rank"
        return "usable to rank, not to time" if self.to_rank else "usable neither to time nor to rank"


def judge(figures: Figures, samples: Figures | None = None) -> Verdict:
    """Compare figures with the thresholds of this module. The verdict to time also uses the error of random samples.

    >>> judge(Figures(20, 0, error=0.12, choices=5, regret=1.02, tau=0.8)).text
    'usable to time and to rank'
    >>> judge(Figures(20, 0, error=0.6, choices=5, regret=1.04, tau=0.8)).text
    'usable to rank, not to time'
    """
    covered = figures.coverage >= LEAST_COVERAGE
    predicted = figures.cases - figures.withheld
    to_time = covered and predicted >= LEAST_CASES and figures.error <= MOST_ERROR
    to_time = to_time and (samples is None or samples.error <= MOST_ERROR)
    chosen_well = figures.tau >= LEAST_TAU and figures.regret <= MOST_REGRET
    to_rank = covered and figures.choices >= LEAST_CHOICES and chosen_well
    return Verdict(to_time, to_rank, tuple(_reasons(figures, predicted, samples)))


def _reasons(figures: Figures, predicted: int, samples: Figures | None) -> Iterable[str]:
    if not figures.cases:
        yield "no test kernel is measured, so no error can be judged; run the calibration again to measure them"
        return
    yield (
        f"{predicted} of {figures.cases} cases predicted (needed: {100 * LEAST_COVERAGE:.0f} %, "
        f"and to time at least {LEAST_CASES})"
    )
    if predicted:
        yield (
            f"geometric mean of the relative errors {100 * figures.error:.1f} % "
            f"(to time: at most {100 * MOST_ERROR:.0f} %)"
        )
    if samples is not None:
        yield (
            f"{samples.cases - samples.withheld} of {samples.cases} random samples predicted, with errors of "
            f"{100 * samples.error:.1f} % (to time: at most {100 * MOST_ERROR:.0f} %)"
        )
    choices = f"{figures.choices} choices between variants (to rank: at least {LEAST_CHOICES})"
    if figures.choices:
        choices += (
            f": Kendall's tau {figures.tau:.2f} (at least {LEAST_TAU}), chosen over best time "
            f"{figures.regret:.2f} (at most {MOST_REGRET}), best one chosen in {100 * figures.top1:.0f} %"
        )
    yield choices
