"""Counts and predictions held against hardware counters of an RTX 2080 Ti that others recorded.

``docs/data/counters.csv.gz`` has the recorded values of two kernels' configurations (KTT's runs in benchmark_hub of the
AutoTuning Association, MIT licence) and what perfmodel counts and predicts: by facts, with weights of the TITAN V. The
convolution's configurations are a random sample. :func:`predict` is slow, since it counts the kernels.
"""

from __future__ import annotations

import csv
import gzip
import io
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import loopy as lp
import numpy as np

from perfmodel.compare import Comparison, summarise
from perfmodel.counts import KernelCounts, count
from perfmodel.io import write_whole
from perfmodel.predicting.model import FittedModel
from perfmodel.quantities.accesses import SizedAccess
from perfmodel.report.drawing import BLUE, ORANGE, VERMILION, empty_figure, quiet_grid, write_figure
from scripts.lab.markdown import drawn_between, markdown_table
from scripts.lab.transfers import models_for
from test_kernels import recorded

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CARD, COMMAND = "rtx-2080-ti", "scripts/redraw counters"
CONVOLUTION, COULOMB = "convolution15-wide", "coulomb"
KEPT = 24  # outputs of a work-item from which NVIDIA's compiler keeps the loop over the filter's rows
GRID, ATOMS = 256, 64
COLUMNS = ("kernel", "configuration", "seconds", "executed", "wavefronts", "registers", "spilled", "counted", "passes",
           "predicted")  # fmt: skip


@dataclass(frozen=True)
class CountedRow:
    """A configuration: its recorded values, and what is counted and predicted.

    ``executed`` and ``counted`` are instructions of sub-groups, ``wavefronts`` and ``passes`` those of local memory,
    and ``spilled`` accesses to private data in memory.
    """

    kernel: str
    configuration: str
    seconds: float
    executed: float
    wavefronts: float
    registers: float
    spilled: float
    counted: float = math.nan
    passes: float = math.nan
    predicted: float = math.nan

    @property
    def values(self) -> dict[str, int]:
        """Return the tuning parameters."""
        return {name: int(value) for name, value in (part.split("=") for part in self.configuration.split())}

    @property
    def outputs(self) -> int:
        """Return the outputs of a work-item."""
        values = self.values
        return values["z"] if self.kernel == COULOMB else values["tile_size_x"] * values["tile_size_y"]


def coulomb(bx: int, by: int, z: int, soa: int, **_: int) -> lp.TranslationUnit:
    """Return the potential of atoms on a grid: a work-item adds ``z`` cells of a column over all atoms.

    If ``soa``, each coordinate and the charge have an array of their own; otherwise an atom has four adjacent cells.
    """
    source = [f"{name}[a]" if soa else f"atoms[a, {k}]" for k, name in enumerate("pqrw")]
    names = "p, q, r, w" if soa else "atoms"
    unit = lp.make_kernel(
        [
            f"{{[gx, gy, gz, lx, ly]: 0 <= gx < {GRID // bx} and 0 <= gy < {GRID // by} and 0 <= gz < {GRID // z}"
            f" and 0 <= lx < {bx} and 0 <= ly < {by}}}",
            f"{{[s, k, e]: 0 <= s, k, e < {z}}}", f"{{[a]: 0 <= a < {ATOMS}}}",
        ],
        f"""
        for gx, gy, gz, lx, ly
            own[s] = 0 {{id=start}}
            for a
                <> across = ({bx}*gx + lx)*step - {source[0]} {{id=across}}
                <> down = ({by}*gy + ly)*step - {source[1]} {{id=down}}
                <> height = {source[2]} {{id=height}}
                <> charge = {source[3]} {{id=charge}}
                <> flat = across*across + down*down {{id=flat, dep=across:down}}
                <> up = ({z}*gz + k)*step - height {{id=up, dep=height}}
                own[k] = own[k] + charge*rsqrt(flat + up*up) {{id=add, dep=start:flat:up:charge}}
            end
            out[{z}*gz + e, {by}*gy + ly, {bx}*gx + lx] = (
                out[{z}*gz + e, {by}*gy + ly, {bx}*gx + lx] + own[e]) {{dep=add}}
        end
        """,
        [
            lp.GlobalArg(names, np.float32, shape=(ATOMS,) if soa else (ATOMS, 4)),
            lp.GlobalArg("out", np.float32, shape=(GRID, GRID, GRID)), lp.ValueArg("step", np.float32),
            lp.TemporaryVariable("own", np.float32, shape=z, address_space=lp.AddressSpace.PRIVATE),
        ],
        lang_version=(2018, 2), name="coulomb",
    )  # fmt: skip
    tags = {"gx": "g.0", "gy": "g.1", "gz": "g.2", "lx": "l.0", "ly": "l.1", "s": "unr", "k": "unr", "e": "unr"}
    return lp.prioritize_loops(lp.tag_inames(unit, tags), "a,k")


def counted(counts: KernelCounts, banks: int = 32) -> tuple[float, float]:
    """Return the instructions of sub-groups, without those of addresses, and the passes of local memory."""
    instructions, passes = 0.0, 0.0
    for issue in counts.issues:
        numbers = {(row.dtype, row.kind): float(row.count()) for row in issue.operations}
        instructions += sum(numbers.values()) - sum(
            min(number, numbers.get((dtype, "mul"), 0.0)) for (dtype, kind), number in numbers.items() if kind == "add"
        )
        for access in (SizedAccess.of(each, lambda number: number(), {}) for each in issue.accesses):
            constant = access.access.space == "constant" and not any(access.lanes or (1,))
            instructions += 0.0 if constant else access.count
            if access.access.space == "local":
                passes += access.count * access.passes(counts.subgroup_size, banks)
    return instructions, passes


def predict(rows: Iterable[CountedRow], folders: Path) -> Iterator[CountedRow]:
    """Yield rows with counts and predictions."""
    model = models_for(CARD, folders, ["multithreaded"])["multithreaded"]
    yield from (predicted(row, model) for row in rows)


def predicted(row: CountedRow, model: FittedModel) -> CountedRow:
    """Return a row with counts and predictions."""
    build: Callable[..., Any] = coulomb if row.kernel == COULOMB else recorded.space(CONVOLUTION, fixed=True).build
    counts = count(build(**row.values), model.fitted.subgroup_size)
    instructions, passes = counted(counts)
    return replace(row, counted=instructions, passes=passes, predicted=float(model.predict(counts).seconds))


def read_rows(path: Path) -> list[CountedRow]:
    lines = csv.DictReader(io.StringIO(gzip.decompress(path.read_bytes()).decode()))
    return [CountedRow(line["kernel"], line["configuration"], *(float(line[name]) for name in COLUMNS[2:]))
            for line in lines]  # fmt: skip


def write_rows(rows: Iterable[CountedRow], path: Path) -> None:
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(COLUMNS)
    for row in rows:
        table.writerow((row.kernel, row.configuration, *(f"{getattr(row, name):.6g}" for name in COLUMNS[2:])))
    path.write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))


def parts_of(rows: Sequence[CountedRow]) -> dict[str, list[CountedRow]]:
    """Return rows by what their compiler did, the ordinary ones first."""
    convolution = [row for row in rows if row.kernel == CONVOLUTION]
    coulombs = [row for row in rows if row.kernel == COULOMB]
    return {
        "convolution, fewer than 24 outputs, no spills":
            [row for row in convolution if row.outputs < KEPT and not row.spilled],
        "convolution, 24 outputs or more": [row for row in convolution if row.outputs >= KEPT],
        "convolution, fewer outputs, spills": [row for row in convolution if row.outputs < KEPT and row.spilled],
        "convolution, all": convolution,
        "Coulomb sum, unrolled": [row for row in coulombs if not row.values["inner"]],
        "Coulomb sum, rolled or partly unrolled": [row for row in coulombs if row.values["inner"]],
    }  # fmt: skip


def counters_text(rows: Sequence[CountedRow]) -> str:
    """Return the table of the page."""
    head = ("configurations", "rows", "counted / executed instructions", "counted / executed wavefronts", "factor - 1",
            "tau", "regret")  # fmt: skip
    body = [(name, str(len(part)), *_cells(part)) for name, part in parts_of(rows).items() if part]
    return markdown_table([head, ("---", *["---:"] * 6), *body])


def _cells(rows: Sequence[CountedRow]) -> tuple[str, ...]:
    figures = summarise([Comparison(row.kernel, {}, row.seconds, row.predicted) for row in rows])
    instructions = _range([row.counted / row.executed for row in rows])
    wavefronts = _range([row.passes / row.wavefronts for row in rows if row.passes])
    return instructions, wavefronts, f"{figures.factor:.2f}", f"{figures.tau:.2f}", f"{figures.regret:.2f}"


def _range(ratios: Sequence[float]) -> str:
    if not ratios:
        return "-"
    low, middle, high = np.quantile(ratios, (0.05, 0.5, 0.95))
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


def counters_figure(rows: Sequence[CountedRow]) -> Figure:
    """Return counted over executed numbers by outputs of a work-item, and predicted against recorded times."""
    figure = empty_figure(11.0, 4.2)
    left, right = figure.subplots(1, 2)
    convolution = [row for row in rows if row.kernel == CONVOLUTION]
    outputs = [row.outputs for row in convolution]
    left.plot(outputs, [row.counted / row.executed for row in convolution], ".", color=BLUE, label="instructions")
    left.plot(outputs, [row.passes / row.wavefronts for row in convolution], "x", color=ORANGE, markersize=4,
              label="wavefronts of local memory")  # fmt: skip
    left.axhline(1.0, color="0.6", linewidth=0.8)
    left.set(xlabel="outputs of a work-item", ylabel="counted / executed", ylim=(0, 2), title="convolution")
    _draw_times(right, rows)
    for axes in (left, right):
        axes.title.set_fontsize("small")
        axes.legend(fontsize="small", frameon=False)
        quiet_grid(axes, "y")
    return figure


def _draw_times(axes: Axes, rows: Sequence[CountedRow]) -> None:
    shown: Mapping[str, tuple[str, str]] = {
        "convolution, fewer than 24 outputs, no spills": (BLUE, "."), "convolution, 24 outputs or more": (ORANGE, "s"),
        "convolution, fewer outputs, spills": (VERMILION, "x"), "Coulomb sum, unrolled": ("0.2", "^"),
        "Coulomb sum, rolled or partly unrolled": ("0.65", "v"),
    }  # fmt: skip
    parts = parts_of(rows)
    for name, (colour, marker) in shown.items():
        times, predictions = [row.seconds * 1e3 for row in parts[name]], [row.predicted * 1e3 for row in parts[name]]
        axes.plot(times, predictions, marker, color=colour, markersize=4, label=name)
    ends = [0.5, 30]
    axes.plot(ends, ends, "--", color="0.7", linewidth=0.8)
    axes.set(xscale="log", yscale="log", xlabel="recorded [ms]", ylabel="predicted [ms]", title="RTX 2080 Ti, by facts")


def draw_counters(folders: Path, docs: Path) -> None:
    """Predict all rows again, and draw the page's table and picture."""
    data, page = docs / "data" / "counters.csv.gz", docs / "lab" / "real-gpus.md"
    rows = [*predict(read_rows(data), folders)]
    write_rows(rows, data)
    draw_counted(rows, page)


def draw_counted(rows: Sequence[CountedRow], page: Path) -> None:
    """Draw the page's table and picture from rows."""
    write_figure(counters_figure(rows), page.with_name("real-gpus-counters.png"))
    text = drawn_between(page.read_text(encoding="utf-8"), "counters", counters_text(rows), COMMAND)
    write_whole(page, text.encode())
