"""Proofs of isolation: a table in CSV, a picture, and a line for each device on the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from perfmodel.display import csv_text
from perfmodel.io import write_whole
from perfmodel.report.drawing import empty_figure, write_figure
from perfmodel.store import canonical
from scripts.lab.isolation import ISOLATION_FILE, Isolation, isolation_summary, read_isolations
from scripts.lab.markdown import below_marker

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BEGIN = "<!-- what follows is drawn by scripts/redraw isolation -->"
COLUMNS = ("folder", "kernel", "variant", "feature", "doubles", "parameters", "single_s", "double_s", "rise", "raises",
           "proved", "message")  # fmt: skip


def draw_isolation(devices: Path, page: Path, table: Path, picture: Path) -> None:
    """Write the table and the picture of all proofs in a folder of devices, and a line for each device on the page."""
    found = {path.parent.name: read_isolations(path.parent) for path in sorted(devices.glob(f"*/{ISOLATION_FILE}"))}
    rows = (_record(name, proof) for name, proofs in found.items() for proof in proofs)
    write_whole(table, csv_text(COLUMNS, rows).encode())
    write_figure(isolation_figure(list(found.values())), picture)
    lines = [f"- {own[0].device}, {own[0].platform}: {isolation_summary(own)}" for own in found.values()]
    text = below_marker(page.read_text(encoding="utf-8"), BEGIN, ["\n".join(lines) + "\n"])
    write_whole(page, text.encode())


def isolation_figure(devices: Sequence[Sequence[Isolation]]) -> Figure:
    """Return the rise of the time of each variant by class, with a panel for each device."""
    from matplotlib.ticker import NullFormatter

    figure = empty_figure(4.5 * max(len(devices), 1), 6.5)
    panels = figure.subplots(1, max(len(devices), 1), squeeze=False, sharey=True)[0]
    for axes, proofs in zip(panels, devices, strict=False):
        classes = [name for name, _ in groupby(sorted(proof.kernel for proof in proofs))]
        for word, marker, colour in (("proved", "o", "#0072B2"), ("not proved", "D", "#D55E00")):
            own = [one for one in proofs if one.proved == (word == "proved") and not math.isnan(one.rise)]
            heights = [classes.index(one.kernel) for one in own]
            rises = [100 * one.rise for one in own]
            axes.plot(rises, heights, marker, color=colour, label=word, alpha=0.7, markersize=5)
        axes.axvline(100, color="0.8", linewidth=1, zorder=0)
        axes.set_yticks(range(len(classes)), classes, fontsize="x-small")
        axes.set(xlabel="rise of the time [%]", xscale="log", xlim=(20, 1000))
        axes.set_xticks([20, 50, 100, 200, 500, 1000], ["20", "50", "100", "200", "500", "1000"])
        axes.xaxis.set_minor_formatter(NullFormatter())  # its formulas would be shown as text
        axes.set_title(f"{proofs[0].device}\n{proofs[0].platform}", fontsize="small")
        axes.grid(True, color="0.93")
        axes.legend(fontsize="small")
    return figure


def _record(folder: str, proof: Isolation) -> dict[str, object]:
    single, double = ("" if math.isnan(value) else f"{value:.4g}" for value in proof.seconds)
    return {
        "folder": folder, "kernel": proof.kernel, "variant": canonical(proof.variant), "feature": proof.feature,
        "doubles": proof.doubles or "", "parameters": canonical(proof.parameters), "single_s": single,
        "double_s": double, "rise": "" if math.isnan(proof.rise) else f"{proof.rise:.3g}", "raises": proof.raises,
        "proved": int(proof.proved), "message": proof.message,
    }  # fmt: skip
