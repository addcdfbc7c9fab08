"""The share of each term in predicted times, as bars: what a kernel's time is made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from perfmodel.display import in_words, seconds_text
from perfmodel.documents import is_number, require
from perfmodel.errors import PictureError
from perfmodel.predicting.model import Prediction
from perfmodel.predicting.ranking import RankedVariant
from perfmodel.report.drawing import FILLS, REST, axes_or_new, ink, legend_beside, members, quiet_grid, show_literally

if TYPE_CHECKING:
    from matplotlib.axes import Axes


LEGIBLE = 6.0
"""Least share that has its number written into it [%]."""
DRAWN = "a prediction, a mapping of names to predictions, or ranked variants"
UNIT = "share of the predicted time [%]"


class TermsBar(NamedTuple):
    """A predicted time with its terms [s]."""

    label: str
    seconds: float
    terms: Mapping[str, float]
    adds_up: bool


def plot_terms(
    predictions: Prediction | Mapping[str, Prediction] | Sequence[Prediction | RankedVariant],
    ax: Axes | None = None,
    *,
    most: int = len(FILLS),
    title: str = "",
) -> Axes:
    """Draw the share of each term in predicted times, one bar for each time.

    Terms that add up to the time are stacked, negative ones to the left of zero. Terms that overlap are bars beside
    each other, because they are no parts of a whole. The time stands behind each bar.

    Parameters
    ----------
    predictions
        A prediction, several by name, or ranked variants (:func:`perfmodel.rank`). One at an array of sizes has a bar
        for each size.
    ax
        Axes to draw on; a new figure by default.
    most
        Number of terms that are drawn, the largest ones; the others are put together, or left out where they overlap.
    title
        Title of the axes.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`, or the axes of the new figure.

    Raises
    ------
    PictureError
        If there is no prediction, or one of them is not above zero.
    """
    require(is_number(most) and most >= 0 and most % 1 == 0, "plot_terms: most", most, "a number of terms")
    bars = bars_of(predictions)
    stacked = all(bar.adds_up for bar in bars)
    largest = _largest(bars)
    shown, rest = largest[: int(most)], largest[int(most) :]
    height = 1.3 + (0.42 * len(bars) if stacked else len(bars) * (0.2 + 0.13 * len(shown)))
    axes = axes_or_new(ax, 8.0, max(height, 2.4))
    (_draw_stacked if stacked else _draw_beside)(axes, bars, shown, rest)
    axes.set_yticks(range(len(bars)), [bar.label for bar in bars])
    axes.set(ylim=(len(bars) - 0.4, -0.6), xlabel=UNIT, title=title)
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    quiet_grid(axes, "x")
    legend_beside(axes, "term" if stacked else "term (terms overlap)")
    show_literally(axes)
    return axes


def bars_of(given: Any) -> list[TermsBar]:
    """Return a bar for each predicted time.

    Raises
    ------
    PictureError
        If there is none, or one of them is not above zero.
    """
    bars = [bar for name, one in _named(given) for bar in _bars(name, one)]
    if not bars:
        raise PictureError("there is no prediction to draw", "give one, or a mapping of names to predictions")
    wrong = next((bar for bar in bars if not 0 < bar.seconds < float("inf")), None)
    if wrong is not None:
        problem = f"the time of {wrong.label} is {seconds_text(wrong.seconds)}, of which there are no shares"
        raise PictureError(problem, "leave this prediction out")
    return bars


def _named(given: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(given, Prediction):
        return [("", given)]
    if isinstance(given, Mapping):
        members(given.values(), Prediction, "plot_terms: predictions", DRAWN)
        return given.items()
    given = members(given, (Prediction, RankedVariant), "plot_terms: predictions", DRAWN)
    return [(getattr(one, "name", ""), one) for one in given]


def _bars(name: str, one: Prediction | RankedVariant) -> Iterable[TermsBar]:
    if not isinstance(one, Prediction):
        one = Prediction(one.seconds, one.terms)
    every = list(one.at_each_size())
    for each in every:
        words = [name or one.kernel, in_words(each.sizes) if len(every) > 1 or not (name or one.kernel) else ""]
        yield TermsBar(" ".join(filter(None, words)), each.seconds, each.terms, each.adds_up)


def _largest(bars: Sequence[TermsBar]) -> list[str]:
    """Return the names of the terms, that with the largest share of some bar first."""
    shares: dict[str, float] = {}
    for bar in bars:
        for name, seconds in bar.terms.items():
            shares[name] = max(shares.get(name, 0.0), abs(seconds) / bar.seconds)
    return sorted((name for name, share in shares.items() if share > 0), key=lambda name: -shares[name])


def _draw_stacked(axes: Axes, bars: Sequence[TermsBar], shown: Sequence[str], rest: Sequence[str]) -> None:
    parts = [((name,), name) for name in shown] + [(tuple(rest), f"{len(rest)} others")] * bool(rest)
    ends = [[0.0, 0.0] for _ in bars]  # of what is stacked to the left and to the right
    for place, (names, label) in enumerate(parts):
        colour = REST if names == tuple(rest) else FILLS[place % len(FILLS)]
        widths = [sum(100 * bar.terms.get(name, 0.0) / bar.seconds for name in names) for bar in bars]
        lefts = [end[0] + width if width < 0 else end[1] for end, width in zip(ends, widths, strict=True)]
        axes.barh(range(len(bars)), [abs(w) for w in widths], 0.66, lefts, color=colour, edgecolor="white", label=label)
        for row, (left, width) in enumerate(zip(lefts, widths, strict=True)):
            ends[row][width >= 0] = left if width < 0 else left + width
            _write(axes, left + abs(width) / 2, row, width, colour)
    for row, bar in enumerate(bars):
        axes.text(max(ends[row][1], 100.0) + 1.5, row, seconds_text(bar.seconds), va="center", fontsize="small")
    _limit(axes, min(end[0] for end in ends), max(100.0, *(end[1] for end in ends)))


def _limit(axes: Axes, low: float, high: float) -> None:
    """Leave room for the times behind the bars, and put ticks at shares only."""
    axes.set_xlim(1.05 * low, high + 0.14 * (high - low))
    axes.set_xticks([tick for tick in axes.get_xticks() if 1.05 * low <= tick <= high])


def _write(axes: Axes, x: float, row: int, share: float, colour: str) -> None:
    from matplotlib.colors import to_rgb

    if abs(share) >= LEGIBLE:
        axes.text(x, row, f"{share:.0f}", ha="center", va="center", fontsize="small", color=ink(*to_rgb(colour)))


def _draw_beside(axes: Axes, bars: Sequence[TermsBar], shown: Sequence[str], rest: Sequence[str]) -> None:
    height = 0.8 / max(len(shown), 1)
    lowest, highest = 0.0, 100.0
    for place, name in enumerate(shown):
        shares = [100 * bar.terms.get(name, 0.0) / bar.seconds for bar in bars]
        rows = [row - 0.4 + height * (place + 0.5) for row in range(len(bars))]
        axes.barh(rows, shares, 0.92 * height, color=FILLS[place % len(FILLS)], label=name)
        lowest, highest = min(lowest, *shares), max(highest, *shares)
    label = f"{len(rest)} smaller terms: not drawn" if rest else "predicted time"
    axes.axvline(100, color="0.3", linewidth=1, linestyle="--", label="predicted time")
    if rest:
        axes.plot((), (), linestyle="none", label=label)
    for row, bar in enumerate(bars):
        axes.text(highest * 1.02, row, seconds_text(bar.seconds), va="center", fontsize="small")
    _limit(axes, lowest, highest)
