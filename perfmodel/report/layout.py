"""Layout of the picture of a work flow graph: frames of loops, lanes of arcs.

Tables as plain text, readable on a terminal and in a log.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from perfmodel.analyses.timeline import Timeline
from perfmodel.analyses.work_flow import WorkFlow
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


LONGEST = 22  # characters of an arc's label


class Frame(NamedTuple):
    """A loop around the nodes from ``first`` to ``last``, inside ``depth`` others."""

    loop: str
    first: int
    last: int
    depth: int


class MergedArc(NamedTuple):
    """All data dependences from one node to another, drawn as one arc."""

    ends: tuple[int, int]
    label: str
    carried: bool


def frames(graph: WorkFlow) -> list[Frame]:
    """Return the loops, outer ones first."""
    found: list[Frame] = []
    for depth in range(max((len(node.loops) for node in graph.nodes), default=0)):
        nests = [node.loops[:depth + 1] for node in graph.nodes]
        for k, nest in enumerate(nests):
            if len(nest) <= depth:
                continue
            if k and nests[k - 1] == nest:
                found[-1] = found[-1]._replace(last=k)
            else:
                found.append(Frame(nest[-1], k, k, depth))
    return found


def merged(graph: WorkFlow, time: Timeline | None = None) -> list[MergedArc]:
    """Return one arc for each pair of nodes, labelled with its variables and how long the target waits."""
    waits = {} if time is None else dict(time.waits)
    pairs = dict.fromkeys((arc.source, arc.target) for arc in graph.dependences)
    found = []
    for ends in pairs:
        mine = [arc for arc in graph.dependences if (arc.source, arc.target) == ends]
        label = ", ".join(dict.fromkeys(arc.variable for arc in mine))
        label = label if len(label) <= LONGEST else f"{label[:LONGEST - 1]}\u2026"
        wait = sum(waits.get(arc, 0.0) for arc in mine)
        label += f"\nwaits {seconds_text(wait)}" if wait > 0 else ""
        found.append(MergedArc(ends, label, all(arc.carried for arc in mine)))
    return found


def lanes(ends: Sequence[tuple[int, int]]) -> list[int]:
    """Return for each arc a lane in which no other overlaps it; short arcs get the first ones.

    Examples
    --------
    >>> lanes([(0, 3), (1, 2), (3, 4)])
    [1, 0, 0]
    """
    spans = [(min(pair) - 0.2, max(pair) + 0.2) for pair in ends]
    taken: list[list[tuple[float, float]]] = []
    lane = [0] * len(ends)
    for k in sorted(range(len(ends)), key=lambda k: spans[k][1] - spans[k][0]):
        low, high = spans[k]
        lane[k] = next(
            (n for n, others in enumerate(taken) if all(high <= a or b <= low for a, b in others)), len(taken)
        )
        if lane[k] == len(taken):
            taken.append([])
        taken[lane[k]].append((low, high))
    return lane
