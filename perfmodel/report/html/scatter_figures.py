"""Predicted against measured times, and kernels below their roofs, for plotly."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from perfmodel.display import interval_text, percent, rate_text, seconds_text
from perfmodel.report.html.axes import colour, layout, log_axis, plotly_lines, plotly_text
from perfmodel.report.html.values import Plot

if TYPE_CHECKING:
    from perfmodel.analyses.report_values import ReportData
    from perfmodel.analyses.roofline import KernelPoint
    from perfmodel.compare import Comparison

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
LOWEST = {
    "compute": ("arithmetic", "blue", "circle"), "memory": ("memory bandwidth", "orange", "square"),
    "local": ("local memory", "green", "diamond"),
}  # fmt: skip
"""What the lowest roof is, in words, with a colour and a marker."""


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
        own = [row for row in rows if _grade(row) == place]
        if own:
            texts = [[_accuracy_text(row, data.level), row.kernel] for row in own]
            points = {"x": [row.measured for row in own], "y": [row.predicted for row in own], "customdata": texts}
            traces.append(_markers(f"{words} ({len(own)})", shade, marker, points))
    shown = layout(axis, {**axis, "title": {"text": "predicted time"}})
    alternative = (
        f"Predicted against measured times of {len(rows)} of {len(known)} cases on logarithmic axes; the geometric "
        f"mean of the errors is {percent(data.figures.error)}. The table below holds the numbers."
    )
    return Plot("accuracy", alternative, {"data": traces, "layout": shown}, 520)


def roofline_plot(name: str, points: Sequence[KernelPoint], roofs: Mapping[str, float], own: bool) -> Plot | None:
    """Return kernels below the roofs of their device, and the ridges where roofs meet.

    None where there is no roof, or no kernel has a place.

    Parameters
    ----------
    own
        Whether these are a user's kernels, at their predicted times.
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
    for bound, (words, shade, marker) in LOWEST.items():
        found = [point for point in drawn if point.bound == bound]
        if found:
            spots = {
                "x": [point.intensity for point in found], "y": [point.rate for point in found],
                "customdata": [[_roofline_text(point, own), point.kernel] for point in found],
            }  # fmt: skip
            traces.append(_markers(f"kernel, lowest roof: {words}", shade, marker, spots))
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


def _roofline_text(point: KernelPoint, own: bool) -> str:
    how = "at its predicted time" if own else "measured"
    reached = f"{percent(point.share)} of what the roofs allow" if math.isfinite(point.share) else ""
    return plotly_lines((
        point.kernel, point.form, point.sizes, f"{rate_text(point.rate, 'op/s')} {how}",
        f"{point.intensity:.3g} operations for each byte", reached,
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
