"""Tables as plain text, readable on a terminal and in a log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from perfmodel.compare import Comparison, summarise
from perfmodel.compare.comparison import kernels as kernels
from perfmodel.compare.comparison import time_cells as time_cells
from perfmodel.display import csv_text as csv_text
from perfmodel.display import finite as finite
from perfmodel.display import percent as percent
from perfmodel.display import seconds_text as seconds_text
from perfmodel.report.fitted import columns_text as columns_text
from perfmodel.report.fitted import fitted_text


def markdown_table(rows: Iterable[Sequence[str]]) -> str:
    """Return rows of cells as a table in Markdown, whose second row aligns the columns."""
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


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


def error_table(rows: Sequence[Comparison]) -> str:
    """Return predicted against measured times with the geometric means of the relative error.

    Variants are named where a kernel has several. The mean is given for each kernel and over all;
    relative errors below 0.1 % count as 0.1 %.
    A withheld prediction has its row, and their number is given at the end.
    """
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
