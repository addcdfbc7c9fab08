"""Tables as plain text, readable on a terminal and in a log."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from perfmodel.report.comparison import Comparison, kernels, mean_error, withheld

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


def columns_text(rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Return rows of cells in aligned columns; the first ``left`` ones are aligned left.

    Examples
    --------
    >>> print(columns_text([("a", "1"), ("bcd", "20")]))
    a     1
    bcd  20
    """
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = (
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def weights_table(weights: Mapping[str, float], units: Mapping[str, str]) -> str:
    """Return the weights, each with its unit, as plain text."""
    rows = [("feature", "weight", "unit")]
    rows += [(name, f"{value:.3e}", units[name]) for name, value in weights.items()]
    return columns_text(rows)


def error_table(rows: Sequence[Comparison]) -> str:
    """Return predicted against measured times with the geometric means of the relative error.

    The mean is given for each kernel and over all; relative errors below 0.1 % count as 0.1 %.
    A withheld prediction has its row, and their number is given at the end.
    """
    table = [("kernel", "sizes", "measured", "predicted", "error")]
    for kernel in kernels(rows):
        own = [row for row in rows if row.kernel == kernel]
        table += [_cells(row) for row in own]
        table.append((kernel, "geometric mean", "", "", _percent(mean_error(own))))
    table.append(("all", "geometric mean", "", "", _percent(mean_error(rows))))
    text = columns_text(table, left=2)
    if withheld(rows):
        needs = sorted({name for row in rows for name in row.needs})
        text += f"\n{withheld(rows)} of {len(rows)} predictions withheld; never measured: "
        text += ", ".join(needs)
    return text


def _cells(row: Comparison) -> tuple[str, str, str, str, str]:
    predicted = "withheld" if row.predicted is None else seconds_text(row.predicted)
    return row.kernel, row.case, seconds_text(row.measured), predicted, _percent(row.relative_error)


def _percent(error: float | None) -> str:
    return "-" if error is None or math.isnan(error) else f"{100 * error:.1f} %"
