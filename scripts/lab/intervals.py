"""How often intervals contain the times of groups that were left out, from the committed weights of all devices.

A weights file keeps for each measured row its error by a fit without the row's group, and the scale of its interval
from the other groups (:mod:`perfmodel.fitting.conformal`). So no fit is needed here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from perfmodel.display import csv_text
from perfmodel.fitting.conformal import Conformal
from perfmodel.fitting.family_fits import SAMPLES
from perfmodel.fitting.weights_file import read_weights
from perfmodel.io import write_whole
from perfmodel.models import families
from scripts.lab.markdown import drawn_between, markdown_table

COMMAND = "scripts/redraw intervals"
SHOWN = ("bottleneck", "multithreaded", "stevens_kloeckner_2016")
HEADER = ("device", "model", "groups", "inside 90 %, groups", "inside, rows", "width", "inside 80 %, groups", "width")
COLUMNS = ("device", "model", "groups", "inside_90_groups", "inside_90_rows", "width_90", "inside_80_groups",
           "width_80")  # fmt: skip


@dataclass(frozen=True)
class Coverage:
    """Shares of measured times in their intervals [%], and the median of upper over lower bound."""

    groups: float  # mean over groups
    rows: float
    width: float

    @property
    def width_text(self) -> str:
        """The width with two digits or more."""
        return f"{self.width:.1f}" if self.width < 10 else f"{self.width:.0f}"


@dataclass(frozen=True)
class Judged:
    """The intervals of a model on the groups of a device's kernels, without random samples."""

    device: str  # name of its folder
    model: str
    groups: int
    at_90: Coverage
    at_80: Coverage

    @property
    def cells(self) -> tuple[str, ...]:
        """The figures in the order of :data:`COLUMNS`."""
        wide, narrow = self.at_90, self.at_80
        shares = (f"{wide.groups:.0f}", f"{wide.rows:.0f}", wide.width_text, f"{narrow.groups:.0f}")
        return (self.device, self.model, str(self.groups), *shares, narrow.width_text)


def coverage(conformal: Conformal, level: float) -> Coverage:
    """Judge intervals of each group of kernels by the scores of all other groups, samples included."""
    groups, errors = np.array(conformal.groups), np.array(conformal.scores)
    scales = np.ones(len(errors)) if conformal.scale is None else np.array(conformal.scales)
    of_group = {group: groups == group for group in kernel_groups(conformal)}
    halves = {group: conformal.without(group).quantile(level) * scales[rows] for group, rows in of_group.items()}
    inside = {group: errors[rows] <= halves[group] for group, rows in of_group.items()}
    every = np.concatenate([*inside.values()])
    width = float(np.median(np.exp(2 * np.concatenate([*halves.values()]))))
    return Coverage(100 * float(np.mean([np.mean(rows) for rows in inside.values()])), 100 * float(every.mean()), width)


def kernel_groups(conformal: Conformal) -> list[str]:
    """Return the groups of measured kernels and test kernels."""
    return sorted({group for group in conformal.groups if not group.startswith(f"{SAMPLES} ")})


def judged(devices: Path) -> Iterator[Judged]:
    """Yield the models of all devices' folders that have scores."""
    for path in sorted(devices.glob("*/*.json")):
        if path.stem in families() and (scores := read_weights(path).conformal) is not None:
            at = (coverage(scores, level) for level in (0.9, 0.8))
            yield Judged(path.parent.name, path.stem, len(kernel_groups(scores)), *at)


def intervals_text(models: Iterable[Judged]) -> str:
    """Return the table of the page."""
    rows = [[*one.cells] for one in models if one.model in SHOWN]
    for row in rows:
        row[1] = f"`{row[1]}`"
        row[3:5], row[6] = [f"{cell} %" for cell in row[3:5]], f"{row[6]} %"
    return markdown_table([HEADER, ("---", "---", *["---:"] * 6), *rows])


def draw_intervals(devices: Path, table: Path, page: Path) -> None:
    """Write the figures of all models, and draw the page's table."""
    models = [*judged(devices)]
    rows = [dict(zip(COLUMNS, one.cells, strict=True)) for one in models]
    write_whole(table, csv_text(COLUMNS, rows).encode())
    text = drawn_between(page.read_text(encoding="utf-8"), "intervals", intervals_text(models), COMMAND)
    write_whole(page, text.encode())
