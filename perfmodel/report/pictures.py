"""Pictures described as data and labels, drawn by :mod:`perfmodel.report.drawing` or :mod:`perfmodel.report.html`."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from perfmodel.analyses.roofline import BANDWIDTHS, LOCAL, PEAKS, WITHOUT_FMA, WITHOUT_VECTORS, KernelPoint
from perfmodel.compare import Comparison, Contender, summarise
from perfmodel.compare.comparison import kernels
from perfmodel.compare.contenders import COMPARED
from perfmodel.display import interval_text, percent, rate_text, seconds_text
from perfmodel.predicting.ranking import RankedVariant, Ranking
from perfmodel.report import drawing
from perfmodel.report.drawing import Axis, Figure, Grid, Picture, Series

GRADES = (
    (1.1, "within 10 %", "green", "o"), (1.25, "within 25 %", "blue", "s"),
    (2.0, "within a factor of 2", "orange", "D"), (math.inf, "larger", "vermilion", "X"),
)  # fmt: skip
"""Largest factor between predicted and measured time, its label, colour and marker."""


def accuracy(rows: Sequence[Comparison], by_kernel: bool = True, level: float = 0.9) -> Picture:
    """Describe predicted against measured times, with a series for each kernel or for each grade of the error."""
    known = [row for row in rows if row.predicted is not None and row.predicted > 0]
    times = [time for row in known for time in (row.measured, row.predicted or 0.0)] or [1.0]
    limits = min(times) / 2, max(times) * 2
    series = [
        _line("predicted = measured", limits, 1.0, "-"), _line("factor of 2", limits, 2.0, ":"),
        _line("", limits, 0.5, ":"),
    ]  # fmt: skip
    for index, name in enumerate(kernels(rows) if by_kernel else ()):
        every = [row for row in rows if row.kernel == name]
        drawn = [row for row in every if row in known]
        label = f"{name} ({100 * summarise(every).error:.0f} %)" if drawn else name
        label += f", {len(every) - len(drawn)} not drawn" * (len(drawn) < len(every))
        series.append(_cases(label, drawn, *drawing.style(index), level))
    for index, (_, label, colour, marker) in enumerate(() if by_kernel else GRADES):
        if graded := [row for row in known if _grade(row) == index]:
            series.append(_cases(f"{label} ({len(graded)})", graded, colour, marker, level))
    caption = f"Predicted against measured times of {len(known)} of {len(rows)} cases on logarithmic axes"
    across, up = (Axis(f"{what} time", tick=seconds_text, limits=limits) for what in ("measured", "predicted"))
    return Picture(
        across, up, tuple(series), f"{caption}; the geometric mean of the errors is {percent(summarise(rows).error)}.",
        "kernel (geometric-mean error)" if by_kernel else "error", square=True,
    )  # fmt: skip


def _line(label: str, ends: tuple[float, float], factor: float, line: str) -> Series:
    return Series(label, ends, [factor * end for end in ends], "muted", line=line)


def _grade(row: Comparison) -> int:
    predicted = row.predicted or math.nan
    factor = max(predicted / row.measured, row.measured / predicted)
    return next(index for index, (most, *_) in enumerate(GRADES) if factor <= most)


def _cases(label: str, rows: Sequence[Comparison], colour: str, marker: str, level: float) -> Series:
    texts = [
        _lines(row.kernel, row.form, row.sizes, f"measured: {seconds_text(row.measured)}",
               f"predicted: {seconds_text(row.predicted or 0.0)}", f"error: {percent(row.relative_error)}",
               row.interval and f"{100 * level:g} % interval: {interval_text(row.interval)}")
        for row in rows
    ]  # fmt: skip
    return Series(
        label, [row.measured for row in rows], [row.predicted or 0.0 for row in rows], colour, marker, texts=texts,
        groups=[row.kernel for row in rows],
    )  # fmt: skip


def _lines(*lines: str | None) -> str:
    return "\n".join(line for line in lines if line)


ROOFS = {
    PEAKS[0]: ("float32 peak", "--", "op/s"), PEAKS[1]: ("float64 peak", "-.", "op/s"),
    BANDWIDTHS[0]: ("memory bandwidth", "-", "B/s"), BANDWIDTHS[1]: ("cache bandwidth", ":", "B/s"),
    LOCAL: ("bandwidth of local memory", "", "B/s"), WITHOUT_FMA: ("float32 without multiply-adds", ":", "op/s"),
    WITHOUT_VECTORS: ("float32 without vectors", ":", "op/s"),
}  # fmt: skip
"""The name, the line and the unit of each roof."""
LOWEST = {"compute": "arithmetic", "memory": "memory bandwidth", "local": "local memory"}  #: Names of lowest roofs
BOUNDS = {"compute": ("blue", "o"), "memory": ("orange", "s"), "local": ("green", "D")}  #: Colour and marker by roof


def roofline(
    points: Sequence[KernelPoint], roofs: Mapping[str, float], by_kernel: bool = True, predicted: bool = False
) -> Picture | None:
    """Describe kernels below the roofs of their device, by kernel or by lowest roof. Without a kernel return None.

    An open marker is the attainable rate at the kernel's intensity (Eq. 4.31 of Kim et al. 2012).
    """
    drawn = [point for point in points if point.drawable]
    if not drawn and not roofs:
        return None
    peak = max((roofs[key] for key in PEAKS if key in roofs), default=math.inf)
    ridges = [peak / roofs[key] for key in BANDWIDTHS if key in roofs and math.isfinite(peak)]
    reach = [*(point.intensity for point in drawn), *ridges] or [1.0]
    low, high = min(reach) / 4, max(reach) * 4
    series = [_roof(key, roofs[key], (low, high), peak, roofs) for key in ROOFS if key in roofs]
    for index, name in enumerate(dict.fromkeys(point.kernel for point in points) if by_kernel else BOUNDS):
        shown = [point for point in points if name == (point.kernel if by_kernel else point.bound)]
        colour, marker = drawing.style(index) if by_kernel else BOUNDS[name]
        drawable = [point for point in shown if point.drawable]
        label = name if by_kernel else f"kernel, lowest roof: {LOWEST[name]}"
        if shown:
            series.append(_kernels(label + " (no operations)" * (not drawable), drawable, colour, marker, predicted))
    attainable = [point for point in drawn if math.isfinite(point.attainable)]
    if attainable:
        rates = [point.attainable for point in attainable]
        intensities = [point.intensity for point in attainable]
        series.append(Series("attainable rate", intensities, rates, "muted", "o", filled=False))
    rates = [rate for one in series for rate in one.y if rate > 0]
    return Picture(
        Axis("operational intensity [floating-point operations / byte of global memory]", limits=(low, high)),
        Axis("performance", tick=lambda rate: rate_text(rate, "op/s"), limits=(min(rates) / 1.6, max(rates) * 1.6)),
        tuple(series), f"{len(drawn)} kernels below the roofs of the device, on logarithmic axes.",
    )  # fmt: skip


def _roof(key: str, value: float, limits: tuple[float, float], peak: float, roofs: Mapping[str, float]) -> Series:
    name, line, unit = ROOFS[key]
    low, high = limits
    label = f"{name}: {rate_text(value, unit)}"
    if key == LOCAL:
        return Series(f"{label} (no line)", (), (), "muted", line="-")
    if key in BANDWIDTHS:
        end = min(high, peak / value)
        return Series(label, (low, end), (value * low, value * end), "muted", line=line)
    widest = max((roofs[band] for band in BANDWIDTHS if band in roofs), default=math.inf)
    return Series(label, (max(low, value / widest), high), (value, value), "muted", line=line)


def _kernels(label: str, points: Sequence[KernelPoint], colour: str, marker: str, predicted: bool) -> Series:
    how = "at its predicted time" if predicted else "measured"
    texts = [
        _lines(point.kernel, point.form, point.sizes, f"{rate_text(point.rate, 'op/s')} {how}",
               f"{point.intensity:.4g} operations for each byte",
               f"{percent(point.share)} of what the roofs allow" if math.isfinite(point.share) else "")
        for point in points
    ]  # fmt: skip
    x, y = [point.intensity for point in points], [point.rate for point in points]
    return Series(label, x, y, colour, marker, texts=texts, groups=[point.kernel for point in points])


def families(contenders: Sequence[Contender], protocol: str) -> Grid:
    """Describe the errors of families by a protocol, for each kernel and over all."""
    names = (*kernels(contenders[0].evaluations[0].rows), None)
    values = tuple(tuple(one.figures(protocol, name).error for name in names) for one in contenders)
    return error_grid([one.family for one in contenders], [name or "all" for name in names], values)


def error_grid(
    rows: Sequence[str], columns: Sequence[str], values: Sequence[Sequence[float]], highlighted: str = ""
) -> Grid:
    """Describe errors of families (rows) for kernels (columns)."""
    caption = f"The errors of {len(rows)} model families for {len(columns) - 1} kernels and over all."
    return Grid(tuple(rows), tuple(columns), tuple(map(tuple, values)), caption, highlighted)


MOST_VARIANTS = 40  #: Variants in the picture of a ranking


def ranking(ranked: Ranking, level: float) -> Picture | None:
    """Describe predicted times with their intervals, the fastest at the top. If no time is above zero, return None."""
    known = [variant for variant in ranked if variant.seconds > 0 and math.isfinite(variant.seconds)]
    shown = known[:MOST_VARIANTS][::-1]
    if not shown:
        return None
    bounds = [_bounds(variant) for variant in shown]
    series = []
    for tied, label, colour, marker in ((True, "cannot be distinguished", "orange", "D"),
                                        (False, "predicted time", "blue", "o")):  # fmt: skip
        indices = [index for index, variant in enumerate(shown) if bool(variant.tied) == tied]
        if indices:
            series.append(Series(
                label, [shown[index].seconds for index in indices], indices, colour, marker,
                texts=[_variant_text(shown[index], level) for index in indices],
                band=([bounds[index][0] for index in indices], [bounds[index][1] for index in indices]), across=True,
            ))  # fmt: skip
    caption = f"Predicted times and {100 * level:g} % intervals of the {len(shown)} fastest variants, fastest on top."
    names = Axis("", log=False, names=tuple(variant.name for variant in shown))
    ends = [end for pair in bounds for end in pair]
    across = Axis("predicted time", tick=seconds_text, limits=(min(ends) / 1.4, max(ends) * 1.4))
    return Picture(across, names, tuple(series), caption)


def _bounds(variant: RankedVariant) -> tuple[float, float]:
    low, high = variant.interval or (0.0, 0.0)
    return (low, high) if low > 0 and math.isfinite(high) else (variant.seconds, variant.seconds)


def _variant_text(variant: RankedVariant, level: float) -> str:
    return _lines(
        variant.name, f"predicted: {seconds_text(variant.seconds)}",
        variant.interval and f"{100 * level:g} % interval: {interval_text(variant.interval)}",
        f"the fastest with {percent(variant.fastest)}" if variant.fastest is not None else "",
    )  # fmt: skip


def families_figure(devices: Sequence[Sequence[Contender]]) -> Figure:
    """Return maps of errors as a matplotlib figure, with a column for each device and a row for each protocol."""
    judged = [[family for family in contenders if family.evaluations] for contenders in devices]
    common = all(set(COMPARED) <= set(contenders[0].protocols) for contenders in judged)
    protocols = COMPARED if common else judged[0][0].protocols[:1]
    figure = drawing.empty_figure(1.8 + 5.6 * len(judged), len(protocols) * (1.4 + 0.3 * max(map(len, judged))))
    grid: Any = figure.subplots(len(protocols), len(judged), squeeze=False, sharey="col")
    for row, protocol in zip(grid, protocols, strict=True):
        for axes, contenders in zip(row, judged, strict=True):
            drawing.draw_grid(axes, families(contenders, protocol), columns=protocol == protocols[-1])
            axes.set_title(f"{contenders[0].device}, protocol {protocol}", fontsize="small")
    return figure
