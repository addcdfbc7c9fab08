"""Errors of fits to a share of the measurements: chosen rows against rows drawn at random, by protocol A."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from perfmodel.display import percent
from perfmodel.fitting.design import Design
from perfmodel.fitting.family_fits import FamilyFits, Refits
from perfmodel.fitting.types import Floats, Rows
from perfmodel.fitting.weights_file import geometric_mean_error, relative_errors
from perfmodel.models import Family, find_family
from perfmodel.report.drawing import empty_figure, write_figure
from perfmodel.store import Key
from scripts.lab.choice import Candidates, candidates, choose, measuring_s
from scripts.lab.markdown import below_marker, markdown_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from perfmodel.counts import KernelCounts
    from perfmodel.store import Measurements

SHARES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.35, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class Point:
    """One share of the measurements."""

    # share, rows: share of the configurations [1], and number of chosen ones: at least the number of features.
    share: float
    rows: int
    time: float  # time of measuring the chosen rows over the time of measuring all [1]
    # chosen, blind: errors of the fit to the chosen rows: with times from trials, and with predicted times.
    chosen: float
    blind: float
    random: tuple[float, ...]  # errors of fits to as many random rows, sorted; infinite where a fit predicts nothing
    withheld: float  # mean share of test cases that fits to random rows do not predict [1]

    def quantile(self, level: float) -> float:
        """Quantile of the errors of random shares."""
        return float(np.quantile(self.random, level, method="higher"))


@dataclass(frozen=True)
class Shares:
    """A device's points, and the errors of the model on its measurement kernels."""

    device: str
    # rows, tests: numbers of measurements and of test cases.
    rows: int
    tests: int
    points: tuple[Point, ...]  # one for each share; the last one is of all measurements
    # Square roots of mean products of the relative residuals of the fit to all rows [1]: of single rows less their
    # variant's mean, and of pairs of rows of one variant, of one class but two variants, and of two classes, where the
    # times of a pair differ by less than a factor of two.
    deviations: Mapping[str, float]

    @property
    def full(self) -> float:
        """Error of the fit to everything."""
        return self.points[-1].chosen


def shares(
    measured: Measurements,
    tests: Measurements,
    trials: Mapping[Key, float],
    family: str | Family = "stevens_kloeckner_2016",
    *,
    wanted: Sequence[float] = SHARES,
    draws: int = 100,
    seed: int = 0,
) -> Shares:
    """Choose shares of existing measurements, and draw as many rows at random.

    `trials` are the times of trial runs by the key of a record [s], by default the measured times. The `wanted` shares
    lie in (0, 1); all measurements are added. `draws` is the number of random shares of each size.
    """
    chosen, rows = find_family(family), tuple(measured)
    table = FamilyFits(measured, chosen, tests=tests).refits.table
    planned = [
        PlannedRow(r.kernel, r.variant, r.parameters, measured.counts[r.counts_hash], trials.get(r.key, r.seconds))
        for r in rows
    ]
    choice, random = candidates(planned, chosen), np.random.default_rng(seed)
    judge = _Judge(table, len(rows), chosen)
    points = [_point(judge, choice, share, random, draws) for share in (*(s for s in wanted if s < 1), 1.0)]
    variants = [f"{kernel} {variant}" for kernel, variant in zip(choice.kernels, choice.variants, strict=True)]
    own = _deviations(judge, np.array(choice.kernels), np.array(variants))
    return Shares(measured.device, len(rows), len(table.times) - len(rows), tuple(points), own)


@dataclass(frozen=True)
class PlannedRow:
    """A measured row as it is before it is measured, with the time that a trial of it took [s]."""

    kernel: str
    variant: Mapping[str, object]
    parameters: Mapping[str, int]
    counts: KernelCounts
    seconds: float


@dataclass(frozen=True)
class _Judge:
    table: Design
    rows: int
    family: Family

    @property
    def times(self) -> Floats:
        return self.table.times[: self.rows]

    def error(self, seen: Rows) -> tuple[float, float]:
        """Error by protocol A of a fit to some rows, and the share of test cases withheld."""
        unseen = np.arange(self.rows, len(self.table.times))
        found = Refits(self.table, self.family).predict(seen, unseen)
        if not found.known.any():
            return np.inf, 1.0
        errors = relative_errors(found.seconds, self.table.times[unseen])[found.known]
        return geometric_mean_error(errors), float(1 - found.known.mean())


def _point(judge: _Judge, choice: Candidates, share: float, random: np.random.Generator, draws: int) -> Point:
    count, times = int(share * judge.rows), judge.times
    if share == 1:
        error = judge.error(np.arange(judge.rows))[0]
        return Point(1.0, judge.rows, 1.0, error, error, (error,), 0.0)
    chosen = np.array(choose(choice, lambda row: float(times[row]), count))
    blind = np.array(choose(replace(choice, expected=None), lambda row: float(times[row]), count))
    drawn = [judge.error(random.choice(judge.rows, count, replace=False)) for _ in range(draws)]
    cost = measuring_s(times)
    return Point(
        share, len(chosen), float(cost[chosen].sum() / cost.sum()), judge.error(chosen)[0], judge.error(blind)[0],
        tuple(sorted(error for error, _ in drawn)), float(np.mean([withheld for _, withheld in drawn])),
    )  # fmt: skip


def _deviations(judge: _Judge, kernels: npt.NDArray[np.str_], variants: npt.NDArray[np.str_]) -> dict[str, float]:
    own = judge.table.select(np.arange(judge.rows))
    everything = np.arange(judge.rows)
    found = Refits(own, judge.family).predict(everything, everything)
    residuals = 1 - found.seconds / own.times
    within = np.concatenate([residuals[variants == v] - residuals[variants == v].mean() for v in set(variants)])
    near = np.abs(np.subtract.outer(np.log10(own.times), np.log10(own.times))) < np.log10(2)
    near[np.diag_indices(judge.rows)] = False
    alike, same = np.equal.outer(kernels, kernels), np.equal.outer(variants, variants)
    products = np.multiply.outer(residuals, residuals)
    pairs = {"one variant": same, "one class": alike & ~same, "two classes": ~alike}
    means = {name: products[near & kind].mean() if (near & kind).any() else 0.0 for name, kind in pairs.items()}
    deviations = {name: float(np.sqrt(max(mean, 0.0))) for name, mean in means.items()}
    return {"within a variant": float(within.std()), **deviations}


BEGIN = "<!-- what follows is drawn by scripts/redraw choice -->"
QUARTER = 0.25


def picture_shares(devices: Sequence[Shares], path: str | Path) -> None:
    """Draw for each device the error of chosen and of random shares of its measurements."""
    write_figure(shares_figure(devices), path)


def shares_figure(devices: Sequence[Shares]) -> Figure:
    """Return the errors over the share of measurements, a panel for each device."""
    figure = empty_figure(4.8 * len(devices), 4.2)
    for axes, device in zip(figure.subplots(1, len(devices), squeeze=False)[0], devices, strict=True):
        _draw(axes, device)
    return figure


def _draw(axes: Axes, device: Shares) -> None:
    part = [point for point in device.points if point.share < 1]
    at, measured = [100 * p.share for p in part], [100 * p.rows / device.rows for p in device.points]
    low, middle, high = ([p.quantile(level) for p in part] for level in (0.25, 0.5, 0.75))
    axes.axhline(device.full, color="0.4", linewidth=1, label=f"all {device.rows}: {percent(device.full)}")
    axes.axhline(1.2 * device.full, color="0.4", linewidth=1, linestyle=":", label="1.2 times that")
    axes.fill_between(at, low, high, color="#56B4E9", alpha=0.35, linewidth=0, label="random, middle half")
    axes.plot([*at, 100], [*middle, device.full], "s-", color="#0072B2", markersize=4, label="random, median")
    axes.plot(measured, [p.chosen for p in device.points], "o-", color="#D55E00", markersize=5, label="chosen")
    axes.axvline(100 * QUARTER, color="0.85", linewidth=1, zorder=0)
    seen = [p.chosen for p in part if isfinite(p.chosen)]
    top = 1.5 * max([*seen, device.full])
    axes.set(title=device.device, xlabel="share of the configurations measured [%]", xlim=(0, 102))
    axes.set(ylabel="error by protocol A [1]", ylim=(0, top))
    axes.grid(True, color="0.93")
    axes.set_axisbelow(True)
    axes.legend(fontsize="small", loc="lower right")


def shares_page(page: str, devices: Sequence[Shares]) -> str:
    """Return the page with the tables of the devices after its marker."""
    return below_marker(page, BEGIN, map(shares_text, devices)) + "\n"


def shares_text(device: Shares) -> str:
    """Return the section of the page for one device."""
    header = ("share", "rows", "time", "chosen", "random: quarter", "median", "three quarters", "withheld",
              "chosen, times predicted")  # fmt: skip
    lines = [header, tuple("---:" for _ in header)]
    for p in device.points:
        quartiles = ["inf" if q == float("inf") else percent(q) for q in map(p.quantile, (0.25, 0.5, 0.75))]
        lines.append(
            (f"{p.share:.0%}", str(p.rows), f"{p.time:.0%}", percent(p.chosen), *quartiles, percent(p.withheld),
             percent(p.blind))
        )  # fmt: skip
    deviations = ", ".join(f"{name} {value:.2f}" for name, value in device.deviations.items())
    return (
        f"### {device.device}\n\n{device.rows} measurements, {device.tests} test cases. {_verdict(device)}\n\n"
        f"{markdown_table(lines)}\n\nRelative residuals of the fit to all measurements: {deviations}."
    )


def _verdict(device: Shares) -> str:
    (point,) = (p for p in device.points if p.share == QUARTER)
    below, median = sum(point.chosen < error for error in point.random), point.quantile(0.5)
    over = point.chosen / device.full
    return (
        f"A chosen quarter: error {percent(point.chosen)}, {over:.2f} times that of all "
        f"({'goal met' if over <= 1.2 else 'GOAL MISSED'}: at most 1.2), "
        f"{'below' if point.chosen < median else 'NOT BELOW'} the median of random quarters ({percent(median)}; "
        f"better than {below} of {len(point.random)})."
    )
