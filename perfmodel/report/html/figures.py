"""The plotly back end: pictures of :mod:`perfmodel.report.pictures` as figures. Texts of a user are escaped."""

import math
from collections.abc import Mapping
from html import escape
from textwrap import wrap
from typing import Any, NamedTuple

from perfmodel.report.drawing import RANGE, Axis, Grid, Picture, Series


class Plot(NamedTuple):
    """A plot: its name in the page, its description in words, its specification for plotly, its height [pixel]."""

    name: str
    alternative: str
    specification: Mapping[str, Any]
    height: int = 480


WIDTH = 38  # characters in a line of a label at the pointer; a phone shows about as many
TICKS = 5  # approximate number of ticks of a logarithmic axis
ROW = 30  # height of a row [pixel]
LINE = 17  # height of a line of a name [pixel]
NAME = 22  # characters in a line of a name at an axis
_STEPS = ((1, 3), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 7), tuple(1 + step / 10 for step in range(90)))
"""Multiples of powers of ten with ticks if the powers alone are too few: the first set with three ticks or more."""
SYMBOLS = {
    "o": "circle", "s": "square", "D": "diamond", "^": "triangle-up", "v": "triangle-down", "P": "cross", "X": "x",
    "<": "triangle-left",
}  # fmt: skip
DASHES = {"-": "solid", "--": "dash", "-.": "dashdot", ":": "dot"}
NOTE = " The table below holds the numbers."


def plot(name: str, picture: Picture | None) -> Plot | None:
    """Return a picture for the page, or None for None."""
    if picture is None:
        return None
    names = picture.y.names
    lines = max((plotly_text(label, NAME).count("<br>") + 1 for label in names), default=1)
    height = 130 + max(ROW, LINE * lines + 8) * len(names) if names else 530
    bars = {"barmode": "overlay"} if any(one.bars for one in picture.series) else {}
    spec = {
        "data": [_trace(one) for one in picture.series], "layout": layout(_axis(picture.x), _axis(picture.y), **bars),
    }  # fmt: skip
    return Plot(name, picture.alternative + NOTE, spec, height)


def grid_plot(name: str, grid: Grid | None) -> Plot | None:
    """Return a map of errors for the page, with the first row at the top, or None for None."""
    if grid is None:
        return None
    low, high = map(math.log10, RANGE)
    rows = [f"<b>{plotly_text(row)}</b>" if row == grid.highlighted else plotly_text(row) for row in grid.rows]
    known = [[error if math.isfinite(error) else None for error in row] for row in grid.values]
    trace = {
        "type": "heatmap", "colorscale": "Viridis", "reversescale": True, "showscale": False, "zmin": low, "zmax": high,
        "z": [[None if error is None else math.log10(max(error, 1e-3)) for error in row] for row in known],
        "text": [["-" if error is None else f"{100 * error:.0f}" for error in row] for row in known],
        "texttemplate": "%{text}", "hovertemplate": "%{y}<br>%{x}: %{text} %<extra></extra>", "xgap": 1, "ygap": 1,
        "x": [plotly_text(column) for column in grid.columns], "y": rows,
    }  # fmt: skip
    shown = layout({"title": {"text": "error [%]"}, "tickangle": -40}, {"autorange": "reversed"})
    return Plot(name, grid.alternative + NOTE, {"data": [trace], "layout": shown}, 180 + 26 * len(rows))


def _axis(axis: Axis) -> dict[str, Any]:
    title = {"text": plotly_text(axis.label, 60)}
    if axis.names:  # names need not differ
        return {
            "tickvals": list(range(len(axis.names))), "ticktext": [plotly_text(name, NAME) for name in axis.names],
            "range": [-0.6, len(axis.names) - 0.4], "zeroline": False, "showgrid": False,
        }  # fmt: skip
    if not axis.log or axis.limits is None:
        return {"title": title, "zeroline": False} | ({"range": list(axis.limits)} if axis.limits else {})
    low, high = map(math.log10, axis.limits)
    ticks = _ticks(low, high)
    return {
        "type": "log", "title": title, "range": [low, high], "zeroline": False,
        "tickvals": ticks, "ticktext": [axis.tick(tick) for tick in ticks],
    }  # fmt: skip


def _trace(one: Series) -> dict[str, Any]:
    trace: dict[str, Any] = {
        "type": "scatter", "name": plotly_text(one.label), "showlegend": bool(one.label), "x": list(one.x),
        "y": list(one.y),
    }  # fmt: skip
    shade = f"var(--{one.colour})"  # of the style sheet, which differs between light and dark
    if one.bars:
        lengths = [end - start for end, start in zip(one.x, one.starts, strict=True)] if one.starts else list(one.x)
        trace |= {"type": "bar", "orientation": "h", "x": lengths, "marker": {"color": shade}, "hoverinfo": "skip"}
        return trace | _texts(one) | ({"base": list(one.starts)} if one.starts else {})
    if one.line:
        trace |= {"mode": "lines", "hoverinfo": "skip",
                  "line": {"color": shade, "width": 1.5, "dash": DASHES[one.line]}}  # fmt: skip
        return trace
    symbol = SYMBOLS[one.marker] + "-open" * (not one.filled)
    edge = {"color": "var(--ink)" if one.filled else shade, "width": 0.7}
    trace |= {
        "mode": "markers", "hoverinfo": "skip", "unselected": {"marker": {"opacity": 0.1}},
        "marker": {"color": shade, "symbol": symbol, "size": list(one.sizes) or 9, "line": edge}, **_texts(one),
    }  # fmt: skip
    if one.band is not None and one.across:
        trace["error_x"] = {
            "type": "data", "symmetric": False, "color": "var(--muted)", "thickness": 1.5, "width": 5,
            "array": [high - x for x, high in zip(one.x, one.band[1], strict=True)],
            "arrayminus": [x - low for x, low in zip(one.x, one.band[0], strict=True)],
        }  # fmt: skip
    return trace


def _texts(one: Series) -> dict[str, Any]:
    """Return the part of a trace that shows the texts of points at the pointer."""
    if not one.texts:
        return {}
    texts = ["<br>".join(plotly_text(line) for line in text.split("\n")) for text in one.texts]
    data = [[text, group] for text, group in zip(texts, one.groups or [""] * len(texts), strict=True)]
    return {"customdata": data, "hovertemplate": "%{customdata[0]}<extra></extra>", "hoverinfo": "all"}


def plotly_text(text: str, width: int = WIDTH) -> str:
    """Return a text for plotly: escaped, and broken into lines."""
    return "<br>".join(escape(line, quote=False) for line in wrap(text, width))


def _ticks(low: float, high: float) -> list[float]:
    widest = max(1, math.ceil((high - low) / TICKS))
    powers_of_ten = [(step, (1,)) for step in range(widest, 0, -1)]
    ticks: list[float] = []
    for step, multiples in (*powers_of_ten, *((1, times) for times in _STEPS)):
        powers = range(math.floor(low), math.ceil(high) + 1, step)
        every = (times * 10.0**power for power in powers for times in multiples)
        ticks = [tick for tick in every if low <= math.log10(tick) <= high]
        if len(ticks) >= 3:
            return ticks if len(ticks) <= 2 * TICKS else ticks[:: math.ceil(len(ticks) / TICKS)]
    return ticks


def layout(xaxis: Mapping[str, Any], yaxis: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Return a layout without a title, with the legend above the axes."""
    legend = {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"}
    return {
        "xaxis": {"automargin": True, **xaxis}, "yaxis": {"automargin": True, **yaxis}, "legend": legend,
        "margin": {"l": 12, "r": 12, "t": 12, "b": 12, "pad": 2}, "hovermode": "closest", "dragmode": False, **more,
    }  # fmt: skip
