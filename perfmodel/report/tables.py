"""Tables as plain text, readable on a terminal and in a log."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any

from perfmodel.report.fitted import columns_text as columns_text
from perfmodel.report.fitted import fitted_text

if TYPE_CHECKING:
    from perfmodel.compare import Comparison

_SCALES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"), (1e-12, "ps"), (1e-15, "fs"))


def seconds_text(seconds: float) -> str:
    """Return a time with three digits and a fitting unit.

    Examples
    --------
    >>> seconds_text(0.00123456), seconds_text(-2e-11), seconds_text(0.0), seconds_text(75.0)
    ('1.23 ms', '-20 ps', '0 s', '75 s')
    """
    if seconds == 0 or not math.isfinite(seconds):
        return f"{seconds:g} s"
    scale, unit = next((pair for pair in _SCALES if abs(seconds) >= pair[0] * 0.9995), _SCALES[-1])
    return f"{seconds / scale:.3g} {unit}"


def markdown_table(rows: Iterable[Sequence[str]]) -> str:
    """Return rows of cells as a table in Markdown, whose second row aligns the columns."""
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def csv_text(names: Sequence[str], records: Iterable[Mapping[str, Any]]) -> str:
    """Return records as CSV with a header of names."""
    text = StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()


def finite(value: Any) -> Any:
    """Return a value for JSON, which knows no NaN and no infinity: None in their place."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def below_marker(page: str, marker: str, sections: Iterable[str]) -> str:
    r"""Return a page with sections instead of the text after its marker; a page without marker gets one at its end.

    Examples
    --------
    >>> below_marker("# Title\n\n<!-- -->\n\nold", "<!-- -->", ["new", "newer"])
    '# Title\n\n<!-- -->\n\nnew\n\nnewer'
    """
    return "\n\n".join([page.partition(marker)[0] + marker, *sections])


def weights_table(
    weights: Mapping[str, float], units: Mapping[str, str], errors: Mapping[str, float | None] | None = None,
    width: int | None = None,
) -> str:
    """Return the weights, each with its unit, as plain text; with their standard errors if given.

    On a narrow terminal the standard errors are left out first, then the units.
    """
    rows = [("feature", "weight", *(("std. error",) if errors is not None else ()), "unit")]
    for name, value in weights.items():
        error = errors.get(name) if errors is not None else None
        cells = () if errors is None else ("-" if error is None else f"{error:.1e}",)
        rows.append((name, f"{value:.3e}", *cells, units[name]))
    return fitted_text(rows, 1, ("std. error", "unit"), width)


def kernels(rows: Sequence[Comparison]) -> tuple[str, ...]:
    """Return the names of the kernels in the order in which they first occur."""
    return tuple(dict.fromkeys(row.kernel for row in rows))


def error_table(rows: Sequence[Comparison]) -> str:
    """Return predicted against measured times with the geometric means of the relative error.

    Variants are named where a kernel has several. The mean is given for each kernel and over all;
    relative errors below 0.1 % count as 0.1 %.
    A withheld prediction has its row, and their number is given at the end.
    """
    from perfmodel.compare import summarise

    table = [("kernel", "sizes", "measured", "predicted", "error")]
    for kernel in kernels(rows):
        own = [row for row in rows if row.kernel == kernel]
        several = len({row.form for row in own}) > 1
        table += [(kernel, f"{row.form} {row.sizes}" if several else row.sizes, *time_cells(row)) for row in own]
        table.append((kernel, "geometric mean", "", "", percent(summarise(own).error)))
    table.append(("all", "geometric mean", "", "", percent(summarise(rows).error)))
    return "\n".join([columns_text(table, left=2), *withheld_note(rows)])


def withheld_note(rows: Sequence[Comparison]) -> tuple[str, ...]:
    """Return a line on the predictions that were withheld, if there are any."""
    withheld = sum(row.predicted is None for row in rows)
    if not withheld:
        return ()
    needs = ", ".join(sorted({name for row in rows for name in row.needs}))
    return (f"{withheld} of {len(rows)} predictions withheld; never measured: {needs}",)


def unranked_note(rows: Sequence[Comparison]) -> tuple[str, ...]:
    """Name the cases that are left out of choices, if there are any."""
    left = dict.fromkeys(f"{row.kernel} {row.sizes}" for row in rows if not row.ranked)
    if not left:
        return ()
    return (f"not ranked, since launches fill too few work-groups for each compute unit: {', '.join(left)}",)


def time_cells(row: Comparison) -> tuple[str, str, str]:
    """Return the measured and the predicted time and the relative error as text."""
    predicted = "withheld" if row.predicted is None else seconds_text(row.predicted)
    return seconds_text(row.measured), predicted, percent(row.relative_error)


def percent(error: float | None) -> str:
    """Return a share in per cent; a dash where there is none.

    Examples
    --------
    >>> percent(0.1234), percent(None), percent(float("inf"))
    ('12.3 %', '-', 'inf')
    """
    if error is None or math.isnan(error):
        return "-"
    return f"{100 * error:.1f} %" if math.isfinite(error) else "inf"
