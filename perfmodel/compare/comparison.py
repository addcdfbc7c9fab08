r"""Predicted and measured times of cases, and the figures that a model is judged by: errors, and costs of its choices.

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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from perfmodel import predicting
from perfmodel.display import Column, DataFrame, Table, columns_text, data_frame, percent, seconds_text, values_text
from perfmodel.documents import one_line
from perfmodel.errors import PredictionError, UnmeasuredFeatureError
from perfmodel.fitting import geometric_mean_error, relative_errors
from perfmodel.store import Measurement, Measurements
from perfmodel.store.measurement import UNRANKED, Clock
from perfmodel.values import grouped

COLUMNS = (
    "kernel", "group", "variant", "sizes", "measured_s", "predicted_s", "low_s", "high_s", "relative_error", "needs",
)  # fmt: skip
"""Keys of :meth:`Comparison.record`."""
TIMES = (
    Column("measured", "measured_s", seconds_text),
    Column("predicted", write=lambda case: "withheld" if (time := case["predicted_s"]) is None else seconds_text(time)),
    Column("error", "relative_error", percent),
)
SHOWN = (Column("kernel", "kernel"), Column("variant", "variant"), Column("sizes", "sizes"), *TIMES)
"""Columns of a table of cases."""


@dataclass(frozen=True, repr=False)
class Comparison:
    """One case of a kernel class with its measured and its predicted time."""

    kernel: str
    parameters: Mapping[str, int] = field(hash=False)
    measured: float  # [s]
    predicted: float | None  # [s]; None if the prediction was withheld
    needs: tuple[str, ...] = ()  # the unmeasured features of a withheld prediction
    group: str = ""
    variant: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    interval: tuple[float, float] | None = None  # of the prediction [s]
    ranked: bool = True  # whether the case counts in choices between variants

    @classmethod
    def of(
        cls, row: Measurement, predicted: float | None, needs: tuple[str, ...], interval: tuple[float, float] | None,
        clock: Clock = "host",
    ) -> "Comparison":
        """Return a measured row with its prediction. Both use the same clock."""
        measured, ranked = row.seconds_by(clock), UNRANKED not in row.flags
        return cls(row.kernel, row.parameters, measured, predicted, needs, row.group, row.variant, interval, ranked)

    @property
    def sizes(self) -> str:
        """The sizes in words, as in ``n=1024``."""
        return values_text(self.parameters)

    @property
    def form(self) -> str:
        """The variant in words, as in ``work_group=16x16``. A single variant of a kernel has no words."""
        return values_text(self.variant)

    @property
    def case(self) -> tuple[str, str, str]:
        """The kernel, its variant and its sizes."""
        return self.kernel, self.form, self.sizes

    @property
    def relative_error(self) -> float | None:
        """:math:`|p - t| / t`, or None for a withheld prediction."""
        return None if self.predicted is None else float(relative_errors(self.predicted, self.measured))

    @property
    def inside(self) -> bool | None:
        """Whether the measured time is in the interval, or None without an interval."""
        return None if self.interval is None else self.interval[0] <= self.measured <= self.interval[1]

    def __repr__(self) -> str:
        name = " ".join(filter(None, (self.kernel, self.form, self.sizes)))
        predicted = "withheld" if self.predicted is None else f"predicted {seconds_text(self.predicted)}"
        return one_line(f"<Comparison {name}: {predicted} against measured {seconds_text(self.measured)}>")

    def record(self) -> dict[str, Any]:
        """Return the case as a record of :data:`COLUMNS`."""
        of_case = (self.kernel, self.group, self.form, self.sizes, self.measured, self.predicted)
        values = (*of_case, *(self.interval or (None, None)), self.relative_error, " ".join(self.needs))
        return dict(zip(COLUMNS, values, strict=True))


class Comparisons(tuple[Comparison, ...]):
    """Cases with their measured and predicted times. A notebook shows them as a table."""

    __slots__ = ()

    @property
    def error(self) -> float:
        """Geometric mean of the relative errors, each at least 0.1 % [1], or NaN without predictions."""
        return geometric_mean_error([row.relative_error for row in self if row.relative_error is not None])

    def __repr__(self) -> str:
        return f"<Comparisons of {self}>"

    def __str__(self) -> str:
        withheld = sum(row.predicted is None for row in self)
        error = f"geometric mean of the relative error {percent(self.error)}"
        without = f", {withheld} withheld" if withheld else ""
        return f"{len(self)} cases of {len(kernels(self))} kernels: {error}{without}"

    def _repr_html_(self) -> str:
        return self.table.html(str(self))

    @property
    def table(self) -> Table:
        """A record for each case."""
        return Table(SHOWN, [row.record() for row in self], 3)

    def to_frame(self) -> DataFrame:
        """Return a pandas table with a row for each case: :data:`COLUMNS`, and sizes as ``parameters.<name>``."""
        names = sorted({name for row in self for name in row.parameters})
        rows = ({**row.record(), **{f"parameters.{name}": row.parameters.get(name) for name in names}} for row in self)
        return data_frame(rows, [*COLUMNS, *(f"parameters.{name}" for name in names)])


def compare(model: predicting.FittedModel, measured: Measurements, level: float = 0.9) -> Comparisons:
    """Predict every measured case with a fitted model. Cases are in the order of kernels, variants and sizes."""
    from perfmodel.fitting.design import counts_of

    rows = []
    for row in measured:
        try:
            made = model.predict(counts_of(measured, row).least_local, row.parameters, level=level, strict=True)
            rows.append(Comparison.of(row, made.seconds, (), made.interval, model.clock))
        except UnmeasuredFeatureError as error:
            rows.append(Comparison.of(row, None, error.features, None, model.clock))
        except PredictionError as error:
            rows.append(Comparison.of(row, error.seconds, (), (0.0, math.inf), model.clock))
    return in_order(rows)


def in_order(rows: Iterable[Comparison]) -> Comparisons:
    """Return cases in the order of kernels, variants and sizes."""
    return Comparisons(sorted(rows, key=lambda row: (row.kernel, row.form, *volume(row.parameters))))


def volume(parameters: Mapping[str, int]) -> tuple[int, str]:
    """Return a key to sort sizes by the product of all parameters. Equal products are sorted by text."""
    return math.prod(parameters.values()), values_text(parameters)


def time_cells(row: Comparison) -> tuple[str, ...]:
    """Return the measured and the predicted time and the relative error as text."""
    return tuple(column.cell(row.record()) for column in TIMES)


def kernels(rows: Iterable[Comparison]) -> tuple[str, ...]:
    """Return the names of the kernels in the order in which they first occur."""
    return tuple(dict.fromkeys(row.kernel for row in rows))


MOST_CASES = 1000  # most cases that error_table lists


def error_table(rows: Sequence[Comparison], width: int | None = None) -> str:
    """Return a table of times and geometric means of the error. Above :data:`MOST_CASES` cases, return only means."""
    table: list[tuple[str, ...]] = [("kernel", "sizes", "measured", "predicted", "error")]
    for kernel in kernels(rows):
        cases = Comparisons(row for row in rows if row.kernel == kernel)
        several = len({row.form for row in cases}) > 1
        if len(rows) <= MOST_CASES:
            table += [(kernel, f"{row.form} {row.sizes}" if several else row.sizes, *time_cells(row)) for row in cases]
        table.append((kernel, "geometric mean", "", "", percent(cases.error)))
    table.append(("all", "geometric mean", "", "", percent(Comparisons(rows).error)))
    return "\n".join([columns_text(table, 2, width), *withheld_note(rows)])


def withheld_note(rows: Sequence[Comparison]) -> tuple[str, ...]:
    """Return a line that lists the withheld predictions, if there are any."""
    withheld = sum(row.predicted is None for row in rows)
    if not withheld:
        return ()
    needs = ", ".join(sorted({name for row in rows for name in row.needs}))
    return (f"{withheld} of {len(rows)} predictions withheld; never measured: {needs}",)


def unranked_note(rows: Sequence[Comparison]) -> tuple[str, ...]:
    """Return a line that lists the cases left out of choices, if there are any."""
    left = dict.fromkeys(f"{row.kernel} {row.sizes}" for row in rows if not row.ranked)
    if not left:
        return ()
    return (f"not ranked, since launches fill too few work-groups for each compute unit: {', '.join(left)}",)


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
    """Figures over a set of cases (:mod:`perfmodel.compare.comparison`), all [1]. A figure without cases is NaN."""

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
    jobs = grouped(
        ((row.kernel, tuple(sorted(row.parameters.items()))), (row.measured, row.predicted))
        for row in rows if row.predicted is not None and row.ranked
    )  # fmt: skip
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
