"""Families side by side, and ranked variants with their intervals, for plotly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from perfmodel.display import interval_text, percent, seconds_text
from perfmodel.report.html.axes import colour, layout, log_axis, plotly_lines, plotly_text
from perfmodel.report.html.values import Plot

if TYPE_CHECKING:
    from perfmodel.analyses.report_families import FamilyLine
    from perfmodel.predicting.ranking import Ranking

ROW = 30
"""Height of a row [pixel]."""
MOST_VARIANTS = 40
"""Most variants that are drawn."""
NAME = 22
"""Characters of a line of a name beside the axis."""


def families_plot(families: Sequence[FamilyLine], chosen: str) -> Plot | None:
    """Return the error of each family; None where there are not two.

    Parameters
    ----------
    chosen
        The family of the report, which has a colour of its own.
    """
    judged = [(one, one.figures) for one in families if one.figures is not None and math.isfinite(one.figures.error)]
    if len(judged) < 2:
        return None
    judged.reverse()  # plotly begins at the bottom
    bars = {
        "type": "bar", "orientation": "h", "x": [100 * figures.error for _, figures in judged],
        "y": list(range(len(judged))), "text": [percent(figures.error) for _, figures in judged],
        "textposition": "outside", "cliponaxis": False,
        "customdata": [[plotly_lines((one.name, f"error: {percent(figures.error)}", f"factor - 1: "
                        f"{percent(figures.factor)}", f"regret: {figures.regret:.2f}"))] for one, figures in judged],
        "hovertemplate": "%{customdata[0]}<extra></extra>",
        "marker": {"color": [colour("orange" if one.name == chosen else "blue") for one, _ in judged]},
    }  # fmt: skip
    most = max(100 * figures.error for _, figures in judged)
    across = {"title": {"text": "error [%]"}, "range": [0, 1.3 * most], "zeroline": False}
    names = [plotly_text(one.name.replace("_", " "), NAME) for one, _ in judged]
    shown = layout(across, _named(names), showlegend=False)
    alternative = f"The error of {len(judged)} families, the best at the top. The table below holds the numbers."
    return Plot("families", alternative, {"data": [bars], "layout": shown}, 110 + ROW * len(judged))


def ranking_plot(ranking: Ranking, level: float) -> Plot | None:
    """Return predicted times with their intervals, the fastest at the top; None where no time is above zero.

    Of more than :data:`MOST_VARIANTS` the fastest are drawn.
    """
    known = [one for one in ranking if one.seconds > 0 and math.isfinite(one.seconds)]
    shown = known[:MOST_VARIANTS][::-1]
    if not shown:
        return None
    bounds = [one.interval if one.interval and one.interval[0] > 0 and math.isfinite(one.interval[1])
              else (one.seconds, one.seconds) for one in shown]  # fmt: skip
    points: list[dict[str, Any]] = []
    for tied, words, shade, marker in ((True, "cannot be told apart", "orange", "diamond"),
                                       (False, "predicted time", "blue", "circle")):  # fmt: skip
        own = [place for place, one in enumerate(shown) if bool(one.tied) == tied]
        if not own:
            continue
        points.append({
            "type": "scatter", "mode": "markers", "name": words, "x": [shown[place].seconds for place in own],
            "y": own, "customdata": [[_text(shown[place], level)] for place in own],
            "hovertemplate": "%{customdata[0]}<extra></extra>",
            "marker": {"color": colour(shade), "symbol": marker, "size": 11,
                       "line": {"color": colour("ink"), "width": 0.7}},
            "error_x": {
                "type": "data", "symmetric": False, "color": colour("muted"), "thickness": 1.5, "width": 5,
                "array": [bounds[place][1] - shown[place].seconds for place in own],
                "arrayminus": [shown[place].seconds - bounds[place][0] for place in own],
            },
        })  # fmt: skip
    across = log_axis("predicted time", [end for pair in bounds for end in pair], seconds_text)
    names = [plotly_text(one.name, NAME) for one in shown]
    alternative = (
        f"Predicted times of the {len(shown)} fastest variants with {100 * level:g} % intervals, the fastest at the "
        "top, on a logarithmic axis. The table below holds the numbers."
    )
    spec = {"data": points, "layout": layout(across, _named(names))}
    return Plot("ranking", alternative, spec, 130 + ROW * len(shown))


def _named(names: Sequence[str]) -> dict[str, Any]:
    """Return an axis with a name at each whole number; names need not differ."""
    return {
        "tickvals": list(range(len(names))), "ticktext": list(names), "range": [-0.6, len(names) - 0.4],
        "zeroline": False, "showgrid": False,
    }  # fmt: skip


def _text(one: Any, level: float) -> str:
    interval = f"{100 * level:g} % interval: {interval_text(one.interval)}" if one.interval else ""
    fastest = f"the fastest with {percent(one.fastest)}" if one.fastest is not None else ""
    return plotly_lines((one.name, f"predicted: {seconds_text(one.seconds)}", interval, fastest))
