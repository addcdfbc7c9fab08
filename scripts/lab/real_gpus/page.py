"""The page on models and real GPUs: what is drawn of it, from a study of recorded rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from perfmodel.compare.comparison import Figures
from perfmodel.display import percent
from perfmodel.io import write_whole
from perfmodel.report.drawing import write_figure
from scripts.lab.markdown import drawn_between, markdown_table
from scripts.lab.pages import short_csv
from scripts.lab.real_gpus.pictures import PICTURES
from scripts.lab.real_gpus.study import STRICT, Recorded, missed, study

COMMAND = "scripts/redraw real-gpus"


class Claim(NamedTuple):
    """What a paper says of its own model's error, and of which kernels on which device."""

    family: str
    error: str
    kernels: str
    device: str
    source: str


CLAIMS = (
    Claim("stevens_kloeckner_2016", "16 %, 14 %, 6 % (geometric mean)",
          "finite differences, skinny product, convolution, N-body; four sizes each",
          "GTX Titan X, Tesla C2070, K40c", "Stevens, Klöckner 2016, section 5"),
    Claim("stevens_kloeckner_2016", "43 % (mean)", "N-body", "the same, and Radeon R9 Fury", "the same"),
    Claim("mwp_cwp_l2", "within 8 %", "SAXPY at some strides and sizes", "GTX Titan X", "Wang, Lou 2017, abstract"),
    Claim("synchronous_parallel_throughput", "3.8 %, 5.7 % (mean)", "MAGMA's matrix product",
          "ALGOPARC, GIBSON (two GPUs)", "Karsin 2018, section 5.3.1"),
    Claim("synchronous_parallel_throughput", "7.48 % (mean)", "merge sort of MGPU", "ALGOPARC",
          "Karsin 2018, section 7.1.4"),
    Claim("synchronous_parallel_throughput", "3 to 36 % (means)", "searches, by layout", "three GPUs",
          "Karsin 2018, section 6.1.4"),
    Claim("threaded_manycore", "no figure: the effect of tiles, threads and local memory", "all-pairs shortest paths",
          "GTX 480", "Ma, Chamberlain, Agrawal 2014, abstract"),
    Claim("gpuperf", "no figure in the book", "-", "-", "Kim et al. 2012, section 4.1"),
    Claim("roofline", "none: a bound", "-", "-", "Kim et al. 2012, section 4.2.4"),
    Claim("work_depth", "none: a bound", "-", "-", "Kim et al. 2012, chapter 2"),
)  # fmt: skip
"""The papers' own figures; of `overlap` and of perfmodel's own families there are none."""


def real_gpus(folder: Path, docs: Path, names: Sequence[str] = (), jobs: int = 2) -> Iterator[str]:
    """Draw the page of a folder's recorded rows below a folder of docs; yield each family's name."""
    for one in study(folder, names, jobs):
        if isinstance(one, str):
            yield one
        else:
            draw_real_gpus(one, docs)


def draw_real_gpus(recorded: Recorded, docs: Path) -> None:
    """Write the figures as CSV below a folder of docs, the pictures, and the page's drawn parts."""
    page = docs / "lab" / "real-gpus.md"
    write_whole(docs / "data" / "real-gpus.csv", short_csv(recorded.contenders).encode())
    for name, figure in PICTURES.items():
        write_figure(figure(recorded), page.with_name(f"real-gpus-{name}.png"))
    write_whole(page, real_gpus_page(page.read_text(encoding="utf-8"), recorded).encode())


def real_gpus_page(page: str, recorded: Recorded) -> str:
    """Return the page with every part of :data:`PARTS` drawn anew between its marks."""
    for name, draw in PARTS.items():
        page = drawn_between(page, name, draw(recorded), COMMAND)
    return page


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], text_columns: int = 1) -> str:
    aligned = ["---"] * text_columns + ["---:"] * (len(header) - text_columns)
    return markdown_table([header, aligned, *rows])


def figures_text(recorded: Recorded) -> str:
    """Return a table of all families with groups left out, with random choice below; the CSV file has all protocols."""
    header = ("family", "error", "factor - 1", "p90", "regret", "top-1", "tau", "inside", "width", "weights")
    rows = [(f"`{one.family}`", *_cells(one.figures(STRICT)), str(one.weights)) for one in recorded.judged]
    random = recorded.judged[0].figures(STRICT)
    chance = (f"{random.random_regret:.2f}", percent(random.random_top1), "0.00")
    rows.append(("random choice", *["-"] * 3, *chance, *["-"] * 3))
    heading = f"**{STRICT.capitalize()} left out**, {random.cases} rows and {random.choices} choices:"
    return "\n\n".join([f"{heading}\n\n{_table(header, rows)}", *_withheld(recorded)])


def _cells(figures: Figures) -> tuple[str, ...]:
    return (
        percent(figures.error), percent(figures.factor), percent(figures.p90), f"{figures.regret:.2f}",
        percent(figures.top1), f"{figures.tau:.2f}", percent(figures.inside), f"{figures.width:.3g}",
    )  # fmt: skip


def _withheld(recorded: Recorded) -> list[str]:
    withheld = [f"`{one.family}` {one.withheld}" for one in recorded.judged if one.withheld]
    problems = [f"`{one.family}`: {one.problem}" for one in recorded.contenders if one.problem]
    return [
        *([f"Withheld with groups left out, and so in no figure of it: {', '.join(withheld)}."] if withheld else []),
        *([f"Not fitted: {'; '.join(problems)}."] if problems else []),
    ]


def misses_text(recorded: Recorded) -> str:
    """Return for each family the three traits that correlate most with its errors."""
    rows = []
    for one in recorded.judged:
        found = missed(one.by(STRICT).rows, recorded.traits)
        known = {name: value for name, value in found.items() if math.isfinite(value)}
        strongest = sorted(known, key=lambda name: -abs(known[name]))[:3]
        rows.append((f"`{one.family}`", *(f"{name} ({found[name]:+.2f})" for name in strongest)))
    return _table(("family", "correlates most with its errors", "second", "third"), rows, text_columns=4)


def claims_text(recorded: Recorded) -> str:
    """Return the papers' own figures next to the findings here."""
    found = {one.family: percent(one.figures(STRICT).error) for one in recorded.judged}
    rows = [
        (f"`{claim.family}`", claim.error, claim.kernels, claim.device, claim.source, found[claim.family])
        for claim in CLAIMS
        if claim.family in found
    ]
    return _table(("family", "error in the paper", "of", "on", "source", "error here"), rows, text_columns=5)


PARTS: Mapping[str, Callable[[Recorded], str]] = {
    "figures": figures_text, "misses": misses_text, "claims": claims_text,
}  # fmt: skip
"""The drawn parts of the page, by the name between their marks."""
