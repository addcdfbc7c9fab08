"""Predicted and measured times of cases."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from perfmodel import predicting
from perfmodel.display import Column, DataFrame, Table, columns_text, data_frame, percent, seconds_text, values_text
from perfmodel.documents import one_line
from perfmodel.errors import PredictionError, UnmeasuredFeatureError
from perfmodel.fitting import geometric_mean_error, relative_errors
from perfmodel.store import Measurement, Measurements
from perfmodel.store.measurement import UNRANKED, Clock

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
    ) -> Comparison:
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
