"""Texts and logarithmic axes for plotly, in which nothing of a user's is markup."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from html import escape
from textwrap import wrap
from typing import Any

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
    """Return the colour of a name in the style sheet, which differs between light and dark.

    Examples
    --------
    >>> colour("ink")
    'var(--ink)'
    """
    return f"var(--{name})"


def log_axis(title: str, values: Iterable[float], text: Callable[[float], str], margin: float = 0.15) -> dict[str, Any]:
    """Return a logarithmic axis that holds values above zero, with ticks at powers of ten in words.

    Parameters
    ----------
    margin
        Room at both ends, in powers of ten.

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
    found: list[float] = []
    for step, multiples in (*apart, *((1, times) for times in _STEPS)):
        powers = range(math.floor(low), math.ceil(high) + 1, step)
        every = (times * 10.0**power for power in powers for times in multiples)
        found = [tick for tick in every if low <= math.log10(tick) <= high]
        if len(found) >= 3:
            return found if len(found) <= 2 * TICKS else found[:: math.ceil(len(found) / TICKS)]
    return found


def layout(xaxis: Mapping[str, Any], yaxis: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Return a layout without a title, whose legend stands above the axes and covers nothing."""
    legend = {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"}
    return {
        "xaxis": {"automargin": True, **xaxis}, "yaxis": {"automargin": True, **yaxis}, "legend": legend,
        "margin": {"l": 12, "r": 12, "t": 12, "b": 12, "pad": 2}, "hovermode": "closest", "dragmode": False, **more,
    }  # fmt: skip
