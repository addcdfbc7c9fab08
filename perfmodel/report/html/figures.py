"""The figures of the report for plotly: errors of families, ranked variants, predicted times, and kernels below roofs.

In their texts nothing of a user's is markup.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap
from typing import Any

from perfmodel.analyses.report_data import ReportData
from perfmodel.analyses.report_models import FamilyLine
from perfmodel.analyses.roofline import KernelPoint
from perfmodel.compare import Comparison
from perfmodel.display import interval_text, percent, rate_text, seconds_text
from perfmodel.predicting.ranking import RankedVariant, Ranking
from perfmodel.report.bounds import LOWEST


@dataclass(frozen=True)
class Plot:
    """A plot: its name in the page, what it shows in words, its specification for plotly, its height [pixel]."""

    name: str
    alternative: str
    specification: Mapping[str, Any]
    height: int = 480


LINE = 38
"""Characters of a line of a label that follows the pointer; a phone shows about as many."""
TICKS = 5
"""Most ticks of a logarithmic axis, about."""
_STEPS = ((1, 3), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 7), tuple(1 + step / 10 for step in range(90)))
"""Multiples of powers of ten that have ticks where powers alone are too few: the first with three ticks or more."""


def plotly_text(text: str, width: int = LINE) -> str:
    """Return a text for plotly, which reads tags: escaped, and broken into lines.

    Examples
    --------
    >>> plotly_text("<script>1 & 2</script>")
    '&lt;script&gt;1 &amp; 2&lt;/script&gt;'
    >>> plotly_text("one two three", 8)
    'one two<br>three'
    """
    return "<br>".join(escape(line, quote=False) for line in wrap(text, width))


def plotly_lines(lines: Iterable[str]) -> str:
    """Return lines of text for plotly; empty ones are left out."""
    return "<br>".join(plotly_text(line) for line in lines if line)


def colour(name: str) -> str:
    """Return the colour of a name in the style sheet, which differs between light and dark."""
    return f"var(--{name})"


def log_axis(title: str, values: Iterable[float], text: Callable[[float], str], margin: float = 0.15) -> dict[str, Any]:
    """Return a logarithmic axis that holds values above zero, with ticks at powers of ten in words.

    `margin` is the room at both ends, in powers of ten.

    Examples
    --------
    >>> axis = log_axis("time", (2e-6, 3e-3), lambda x: f"{x:g}")
    >>> axis["tickvals"], axis["ticktext"], [round(end, 2) for end in axis["range"]]
    ([1e-05, 0.0001, 0.001], ['1e-05', '0.0001', '0.001'], [-5.85, -2.37])
    """
    known = [math.log10(value) for value in values if value > 0 and math.isfinite(value)] or [0.0]
    low, high = min(known) - margin, max(known) + margin
    ticks = _ticks(low, high)
    return {
        "type": "log", "title": {"text": plotly_text(title, 60)}, "range": [low, high], "zeroline": False,
        "tickvals": ticks, "ticktext": [text(tick) for tick in ticks],
    }  # fmt: skip


def _ticks(low: float, high: float) -> list[float]:
    """Return where ticks stand between two powers of ten."""
    widest = max(1, math.ceil((high - low) / TICKS))
    apart = [(step, (1,)) for step in range(widest, 0, -1)]
    ticks: list[float] = []
    for step, multiples in (*apart, *((1, times) for times in _STEPS)):
        powers = range(math.floor(low), math.ceil(high) + 1, step)
        every = (times * 10.0**power for power in powers for times in multiples)
        ticks = [tick for tick in every if low <= math.log10(tick) <= high]
        if len(ticks) >= 3:
            return ticks if len(ticks) <= 2 * TICKS else ticks[:: math.ceil(len(ticks) / TICKS)]
    return ticks


def layout(xaxis: Mapping[str, Any], yaxis: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Return a layout without a title, whose legend stands above the axes and covers nothing."""
    legend = {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"}
    return {
        "xaxis": {"automargin": True, **xaxis}, "yaxis": {"automargin": True, **yaxis}, "legend": legend,
        "margin": {"l": 12, "r": 12, "t": 12, "b": 12, "pad": 2}, "hovermode": "closest", "dragmode": False, **more,
    }  # fmt: skip


ROW = 30
"""Height of a row [pixel]."""
LINE = 17
"""Height of a line of a name [pixel]."""
MOST_VARIANTS = 40
"""Most variants that are drawn."""
NAME = 22
"""Characters of a line of a name beside the axis."""


def families_plot(families: Sequence[FamilyLine], chosen: str) -> Plot | None:
    """Return the error of each family; None where there are not two. The one of the report has another colour."""
    judged = [(line, line.figures) for line in families if line.figures and math.isfinite(line.figures.error)]
    if len(judged) < 2:
        return None
    judged.reverse()  # plotly begins at the bottom
    bars = {
        "type": "bar", "orientation": "h", "x": [100 * figures.error for _, figures in judged],
        "y": list(range(len(judged))), "text": [percent(figures.error) for _, figures in judged],
        "textposition": "outside", "cliponaxis": False,
        "customdata": [[plotly_lines((line.name, f"error: {percent(figures.error)}", f"factor - 1: "
                        f"{percent(figures.factor)}", f"regret: {figures.regret:.2f}"))] for line, figures in judged],
        "hovertemplate": "%{customdata[0]}<extra></extra>",
        "marker": {"color": [colour("orange" if line.name == chosen else "blue") for line, _ in judged]},
    }  # fmt: skip
    most = max(100 * figures.error for _, figures in judged)
    across = {"title": {"text": "error [%]"}, "range": [0, 1.3 * most], "zeroline": False}
    names = [plotly_text(line.name.replace("_", " "), NAME) for line, _ in judged]
    shown = layout(across, _named(names), showlegend=False)
    alternative = f"The error of {len(judged)} families, the best at the top. The table below holds the numbers."
    return Plot("families", alternative, {"data": [bars], "layout": shown}, 110 + ROW * len(judged))


def ranking_plot(ranking: Ranking, level: float) -> Plot | None:
    """Return predicted times with their intervals, the fastest at the top; None where no time is above zero.

    Of more than :data:`MOST_VARIANTS` the fastest are drawn.
    """
    known = [variant for variant in ranking if variant.seconds > 0 and math.isfinite(variant.seconds)]
    shown = known[:MOST_VARIANTS][::-1]
    if not shown:
        return None
    bounds = [variant.interval if variant.interval and variant.interval[0] > 0 and math.isfinite(variant.interval[1])
              else (variant.seconds, variant.seconds) for variant in shown]  # fmt: skip
    points: list[dict[str, Any]] = []
    for tied, words, shade, marker in ((True, "cannot be told apart", "orange", "diamond"),
                                       (False, "predicted time", "blue", "circle")):  # fmt: skip
        places = [place for place, variant in enumerate(shown) if bool(variant.tied) == tied]
        if not places:
            continue
        points.append({
            "type": "scatter", "mode": "markers", "name": words, "x": [shown[place].seconds for place in places],
            "y": places, "customdata": [[_variant_text(shown[place], level)] for place in places],
            "hovertemplate": "%{customdata[0]}<extra></extra>",
            "marker": {"color": colour(shade), "symbol": marker, "size": 11,
                       "line": {"color": colour("ink"), "width": 0.7}},
            "error_x": {
                "type": "data", "symmetric": False, "color": colour("muted"), "thickness": 1.5, "width": 5,
                "array": [bounds[place][1] - shown[place].seconds for place in places],
                "arrayminus": [shown[place].seconds - bounds[place][0] for place in places],
            },
        })  # fmt: skip
    across = log_axis("predicted time", [end for pair in bounds for end in pair], seconds_text)
    names = [plotly_text(variant.name, NAME) for variant in shown]
    alternative = (
        f"Predicted times of the {len(shown)} fastest variants with {100 * level:g} % intervals, the fastest at the "
        "top, on a logarithmic axis. The table below holds the numbers."
    )
    spec = {"data": points, "layout": layout(across, _named(names))}
    lines = max(name.count("<br>") + 1 for name in names)
    return Plot("ranking", alternative, spec, 130 + max(ROW, LINE * lines + 8) * len(shown))


def _named(names: Sequence[str]) -> dict[str, Any]:
    """Return an axis with a name at each whole number; names need not differ."""
    return {
        "tickvals": list(range(len(names))), "ticktext": list(names), "range": [-0.6, len(names) - 0.4],
        "zeroline": False, "showgrid": False,
    }  # fmt: skip


def _variant_text(variant: RankedVariant, level: float) -> str:
    interval = f"{100 * level:g} % interval: {interval_text(variant.interval)}" if variant.interval else ""
    fastest = f"the fastest with {percent(variant.fastest)}" if variant.fastest is not None else ""
    return plotly_lines((variant.name, f"predicted: {seconds_text(variant.seconds)}", interval, fastest))


GRADES = (
    (1.1, "within 10 %", "green", "circle"), (1.25, "within 25 %", "blue", "square"),
    (2.0, "within a factor of 2", "orange", "diamond"), (math.inf, "further off", "vermilion", "x"),
)  # fmt: skip
"""Largest factor between predicted and measured time, its words, colour and marker."""
MOST_POINTS = 2000
"""Most points of a plot; of more, each second or third one and so on is drawn."""
ROOFS = {
    "memory_bandwidth_bytes_per_s": ("memory bandwidth", "B/s", "solid"),
    "cache_bandwidth_bytes_per_s": ("cache bandwidth", "B/s", "dot"),
    "peak_flops_float32": ("float32 peak", "op/s", "dash"),
    "peak_flops_float64": ("float64 peak", "op/s", "dashdot"),
}
MARKS = {"compute": ("blue", "circle"), "memory": ("orange", "square"), "local": ("green", "diamond")}
"""The colour and the marker of kernels by the name of their bound."""


def accuracy_plot(data: ReportData) -> Plot | None:
    """Return predicted against measured times; None where nothing was predicted above zero."""
    known = [row for row in data.comparisons if row.predicted is not None and row.predicted > 0]
    if not known:
        return None
    rows = known[:: math.ceil(len(known) / MOST_POINTS)]
    times = [time for row in rows for time in (row.measured, row.predicted or 0.0)]
    axis = log_axis("measured time", times, seconds_text)
    ends = [10**end for end in axis["range"]]
    traces = [_line(ends, 1.0, "equal", "solid"), _line(ends, 2.0, "factor of 2", "dot"), _line(ends, 0.5, "", "dot")]
    for place, (_, words, shade, marker) in enumerate(GRADES):
        graded = [row for row in rows if _grade(row) == place]
        if graded:
            texts = [[_accuracy_text(row, data.level), row.kernel] for row in graded]
            spots = {"x": [row.measured for row in graded], "y": [row.predicted for row in graded], "customdata": texts}
            traces.append(_markers(f"{words} ({len(graded)})", shade, marker, spots))
    shown = layout(axis, {**axis, "title": {"text": "predicted time"}})
    alternative = (
        f"Predicted against measured times of {len(rows)} of {len(known)} cases on logarithmic axes; the geometric "
        f"mean of the errors is {percent(data.figures.error)}. The table below holds the numbers."
    )
    return Plot("accuracy", alternative, {"data": traces, "layout": shown}, 520)


def roofline_plot(name: str, points: Sequence[KernelPoint], roofs: Mapping[str, float], predicted: bool) -> Plot | None:
    """Return kernels below the roofs of their device, and the ridges where roofs meet.

    None where there is no roof, or no kernel has a place. `own` are a user's kernels, at their predicted times.
    """
    drawn = [point for point in points if point.drawable]
    known = [key for key in ROOFS if key in roofs]
    if not drawn or not known:
        return None
    peak = max((roofs[key] for key in known if "flops" in key), default=math.inf)
    ridges = [peak / roofs[key] for key in known if "bandwidth" in key and math.isfinite(peak)]
    reach = [*(point.intensity for point in drawn), *ridges]
    low, high = min(reach) / 4, max(reach) * 4
    across = sorted([*ridges, *(10 ** (math.log10(low) + step / 60 * math.log10(high / low)) for step in range(61))])
    traces = [_roof(key, roofs[key], across, peak) for key in known]
    for bound, (shade, marker) in MARKS.items():
        bounded = [point for point in drawn if point.bound == bound]
        if bounded:
            spots = {
                "x": [point.intensity for point in bounded], "y": [point.rate for point in bounded],
                "customdata": [[_roofline_text(point, predicted), point.kernel] for point in bounded],
            }  # fmt: skip
            traces.append(_markers(f"kernel, lowest roof: {LOWEST[bound]}", shade, marker, spots))
    rates = [rate for trace in traces for rate in trace["y"] if rate]
    shown = layout(
        log_axis("operations for each byte", across, lambda value: f"{value:g}", 0.0),
        log_axis("operations in a second", rates, lambda value: rate_text(value, "op/s")),
    )
    alternative = (
        f"{len(drawn)} kernels below the roofs of the device, rates against operations for each byte, on logarithmic "
        "axes. The table below holds the numbers."
    )
    return Plot(name, alternative, {"data": traces, "layout": shown}, 540)


def _grade(row: Comparison) -> int:
    predicted = row.predicted or math.nan
    factor = max(predicted / row.measured, row.measured / predicted)
    return next(place for place, (most, *_) in enumerate(GRADES) if factor <= most)


def _accuracy_text(row: Comparison, level: float) -> str:
    interval = f"{100 * level:g} % interval: {interval_text(row.interval)}" if row.interval else ""
    return plotly_lines((
        row.kernel, row.form, row.sizes, f"measured: {seconds_text(row.measured)}",
        f"predicted: {seconds_text(row.predicted or 0.0)}", f"error: {percent(row.relative_error)}", interval,
    ))  # fmt: skip


def _roofline_text(point: KernelPoint, predicted: bool) -> str:
    how = "at its predicted time" if predicted else "measured"
    reached = f"{percent(point.share)} of what the roofs allow" if math.isfinite(point.share) else ""
    return plotly_lines((
        point.kernel, point.form, point.sizes, f"{rate_text(point.rate, 'op/s')} {how}",
        f"{point.intensity:.4g} operations for each byte", reached,
    ))  # fmt: skip


def _line(ends: Sequence[float], factor: float, name: str, dash: str) -> dict[str, Any]:
    return {
        "type": "scatter", "mode": "lines", "x": list(ends), "y": [factor * end for end in ends], "name": name,
        "showlegend": bool(name), "hoverinfo": "skip", "line": {"color": colour("muted"), "width": 1.2, "dash": dash},
    }  # fmt: skip


def _roof(key: str, value: float, across: Sequence[float], peak: float) -> dict[str, Any]:
    name, unit, dash = ROOFS[key]
    flat = "flops" in key
    rates = [value if flat else value * x if value * x <= peak * (1 + 1e-9) else None for x in across]
    return {
        "type": "scatter", "mode": "lines", "x": list(across), "y": rates, "hoverinfo": "skip",
        "name": f"{name}: {rate_text(value, unit)}", "line": {"color": colour("muted"), "width": 1.8, "dash": dash},
    }  # fmt: skip


def _markers(name: str, shade: str, marker: str, points: Mapping[str, Any]) -> dict[str, Any]:
    style = {"color": colour(shade), "symbol": marker, "size": 9, "line": {"color": colour("ink"), "width": 0.7}}
    return {
        "type": "scatter", "mode": "markers", "name": plotly_text(name), "marker": style, **points,
        "hovertemplate": "%{customdata[0]}<extra></extra>", "unselected": {"marker": {"opacity": 0.1}},
    }  # fmt: skip
