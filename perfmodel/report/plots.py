"""Pictures for notebooks: each function draws on axes of matplotlib and returns them (:mod:`perfmodel.plot`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from perfmodel.analyses.roofline import KernelPoint, ceilings, largest, roof_values, roofline_points
from perfmodel.compare import Comparison, Contender, Evaluation
from perfmodel.display import in_words, seconds_text
from perfmodel.documents import is_number, require
from perfmodel.errors import OptionError
from perfmodel.facts import DeviceFacts
from perfmodel.predicting.crossovers import Lead
from perfmodel.predicting.prediction import Prediction
from perfmodel.predicting.ranking import RankedVariant
from perfmodel.report import drawing, pictures, sizes
from perfmodel.report.drawing import FILLS, Axes, axes_or_new, finished, ink, members
from perfmodel.store import Measurements


def plot_predicted_vs_measured(
    rows: Sequence[Comparison] | Evaluation, ax: Axes | None = None, *, title: str = ""
) -> Axes:
    """Draw predicted against measured times on logarithmic axes.

    Each kernel has a colour, a marker and its geometric-mean relative error in the legend. Dotted lines are at a factor
    of two. Predictions that are withheld or not above zero are not drawn; the legend has their number.

    Parameters
    ----------
    rows
        Cases (:func:`perfmodel.compare.compare`), or an evaluation of a model (:func:`perfmodel.compare.evaluate`).
    ax, title
        Axes to draw on, by default of a new figure, and their title.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`, or the axes of the new figure.
    """
    if isinstance(rows, Evaluation):
        rows = rows.rows
    rows = members(rows, Comparison, "plot_predicted_vs_measured: rows", "an evaluation, or what compare returned")
    axes = drawing.draw(axes_or_new(ax, 8.0, 5.4), pictures.accuracy(rows))
    axes.set_title(title)
    return axes


def plot_roofline(
    measured: Measurements | Sequence[KernelPoint],
    ax: Axes | None = None,
    *,
    facts: DeviceFacts | None = None,
    title: str = "",
) -> Axes:
    """Draw measured kernels below the roofs of their device.

    A filled marker is a measured rate, an open one the attainable rate at that intensity (Eq. 4.31 of Kim et al.
    2012).

    Parameters
    ----------
    measured
        Measurements, of which each variant is drawn at its largest size, or points
        (:func:`perfmodel.analyses.roofline.roofline_points`).
    ax, title
        Axes to draw on, by default of a new figure, and their title.
    facts
        Facts of the device with its roofs; by default the facts of the measurements
        (:func:`perfmodel.fitting.device_folder.measured_folder` derives roofs from measurement kernels).

    Returns
    -------
    matplotlib.axes.Axes
        `ax`, or the axes of the new figure.

    Raises
    ------
    OptionError
        If no roof is known and no kernel can be drawn.
    MissingFactError
        If the size of a transfer is not known.
    """
    known = facts is None or isinstance(facts, DeviceFacts)
    require(known, "plot_roofline: facts", facts, "a DeviceFacts, or None for the facts of the measurements")
    if isinstance(measured, Measurements):
        facts = facts or measured.facts
        measured = largest(roofline_points(measured.with_facts(facts)))
    measured = members(measured, KernelPoint, "plot_roofline: measured", "measurements, or points of roofline_points")
    picture = pictures.roofline(measured, {} if facts is None else {**roof_values(facts), **ceilings(facts)})
    if picture is None:
        problem = "no roof is known, and no kernel has operations and traffic"
        raise OptionError(problem, "give facts= or other measured kernels")
    axes = drawing.draw(axes_or_new(ax, 10.0, 5.6), picture)
    axes.set_title(title)
    return axes


def plot_families(
    contenders: Sequence[Contender], ax: Axes | None = None, *, protocol: str = "B", title: str = ""
) -> Axes:
    """Draw the errors of model families as a map: families down, test kernels across, the best of each column bold.

    Yellow is a small error, dark violet a large one.

    Parameters
    ----------
    contenders
        Families on one device and on the same cases (:func:`perfmodel.compare.contenders.contenders`,
        :func:`perfmodel.compare.on_common_cases`). Families without a fit are left out.
    ax
        Axes to draw on; by default of a new figure.
    protocol
        ``"A"`` or ``"B"``; without test kernels ``"groups"``, ``"kernels"`` or ``"variants"``
        (:data:`perfmodel.compare.PROTOCOLS`).
    title
        Title of the axes; by default the device and the protocol.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`, or the axes of the new figure.

    Raises
    ------
    OptionError
        If no family was fitted, there are several devices, or there is no such protocol.
    """
    contenders = members(contenders, Contender, "plot_families: contenders", "what compare.contenders returned")
    judged = [family for family in contenders if family.evaluations]
    devices = sorted({family.device for family in judged})
    if len(devices) != 1:
        what = f"families of {len(devices)} devices ({', '.join(devices)})" if devices else "no family that was fitted"
        raise OptionError(f"there are {what} to draw", "give the fitted families of one device")
    known = judged[0].protocols
    if protocol not in known:
        raise OptionError(f"no family was judged by protocol '{protocol}'", f"choose one of {', '.join(known)}")
    grid = pictures.families(judged, protocol)
    axes = drawing.draw_grid(axes_or_new(ax, 3.0 + 0.62 * len(grid.columns), 1.6 + 0.3 * len(grid.rows)), grid)
    axes.set_title(title or f"error, {devices[0]}, protocol {protocol}", fontsize="small")
    return axes


def plot_sizes(
    predictions: Prediction | Mapping[str, Prediction],
    ax: Axes | None = None,
    *,
    parameter: str = "",
    measured: Mapping[str, sizes.Times] | None = None,
    leads: Sequence[Lead] | None = None,
    title: str = "",
) -> Axes:
    """Draw predicted times against a size parameter, and mark the sizes at which another variant becomes the fastest.

    Up to three variants have their intervals drawn as bands.

    Parameters
    ----------
    predictions
        A prediction at an array of sizes, or several by the name of the variant.
    ax
        Axes to draw on; by default of a new figure.
    parameter
        The size parameter across; by default the one that varies.
    measured
        Sizes and measured times [s] by the name of a variant, drawn as markers.
    leads
        The fastest variant by ranges of sizes (:func:`perfmodel.predicting.crossovers.leads_of`); by default it is
        found at the sizes that all predictions have.
    title
        Title of the axes.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`, or the axes of the new figure.

    Raises
    ------
    OptionError
        If a prediction has one size only, several parameters vary, there is no such parameter, or no time is above
        zero.
    """
    named = {predictions.kernel: predictions} if isinstance(predictions, Prediction) else predictions
    require(isinstance(named, Mapping), "plot_sizes: predictions", predictions, sizes.DRAWN)
    members(named.values(), Prediction, "plot_sizes: predictions", sizes.DRAWN)
    require(isinstance(parameter, str), "plot_sizes: parameter", parameter, "the name of a size, or an empty text")
    known = measured is None or isinstance(measured, Mapping)
    require(known, "plot_sizes: measured", measured, "a mapping of names to sizes and times, or None")
    if leads is not None:
        leads = members(leads, Lead, "plot_sizes: leads", "what leads_of returned, or None")
    picture, found, fixed = sizes.of_predictions(named, parameter, measured, leads)
    axes = drawing.draw(axes_or_new(ax, 8.0, 4.6), picture)
    for lead in found[1:]:
        across = picture.x.label.split()[-1]
        sizes.draw_lead(axes, picture, lead, f"from {across}={lead.low}: {lead.name} is the fastest")
    axes.set_title(title or fixed)
    return finished(axes) if found[1:] else axes


LEGIBLE = 6.0
"""Smallest share with its number inside [%]."""
DRAWN = "a prediction, a mapping of names to predictions, or ranked variants"


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

    Terms that add up to the time are stacked, negative ones to the left of zero. Terms that overlap are separate bars.
    The time is written behind each bar.

    Parameters
    ----------
    predictions
        A prediction, several by name, or ranked variants (:func:`perfmodel.rank`). One at an array of sizes has a bar
        for each size.
    ax
        Axes to draw on; by default of a new figure.
    most
        Number of terms that are drawn, the largest first; the others are summed, or left out if they overlap.
    title
        Title of the axes.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`, or the axes of the new figure.

    Raises
    ------
    OptionError
        If no prediction is given, or one is not above zero.
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
    axes.set(ylim=(len(bars) - 0.4, -0.6), xlabel="share of the predicted time [%]", title=title)
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    return finished(axes, "term" if stacked else "term (terms overlap)", "x")


def bars_of(given: Any) -> list[TermsBar]:
    """Return a bar for each predicted time; raise OptionError if there is none, or one is not above zero."""
    bars = [bar for name, predicted in _named(given) for bar in _bars(name, predicted)]
    if not bars:
        raise OptionError("no prediction was given", "give one, or a mapping of names to predictions")
    wrong = next((bar for bar in bars if not 0 < bar.seconds < float("inf")), None)
    if wrong is not None:
        problem = f"the time of {wrong.label} is {seconds_text(wrong.seconds)}, so its terms have no shares"
        raise OptionError(problem, "leave this prediction out")
    return bars


def _named(given: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(given, Prediction):
        return [("", given)]
    if isinstance(given, Mapping):
        members(given.values(), Prediction, "plot_terms: predictions", DRAWN)
        return given.items()
    given = members(given, (Prediction, RankedVariant), "plot_terms: predictions", DRAWN)
    return [(getattr(predicted, "name", ""), predicted) for predicted in given]


def _bars(name: str, predicted: Prediction | RankedVariant) -> Iterable[TermsBar]:
    if not isinstance(predicted, Prediction):
        predicted = Prediction(predicted.seconds, predicted.terms)
    name = name or predicted.kernel
    every = list(predicted.at_each_size())
    for at in every:
        words = (name, in_words(at.sizes) if len(every) > 1 or not name else "")
        yield TermsBar(" ".join(filter(None, words)), at.seconds, at.terms, at.adds_up)


def _largest(bars: Sequence[TermsBar]) -> list[str]:
    """Return the names of the terms, that with the largest share of some bar first."""
    shares: dict[str, float] = {}
    for bar in bars:
        for name, seconds in bar.terms.items():
            shares[name] = max(shares.get(name, 0.0), abs(seconds) / bar.seconds)
    return sorted((name for name, share in shares.items() if share > 0), key=lambda name: -shares[name])


def _draw_stacked(axes: Axes, bars: Sequence[TermsBar], shown: Sequence[str], rest: Sequence[str]) -> None:
    from matplotlib.colors import to_rgb

    parts = [((name,), name) for name in shown] + ([(tuple(rest), f"{len(rest)} others")] if rest else [])
    ends = [[0.0, 0.0] for _ in bars]  # left and right ends of the stacks
    for place, (names, label) in enumerate(parts):
        colour = drawing.REST if names == tuple(rest) else FILLS[place % len(FILLS)]
        widths = [sum(100 * bar.terms.get(name, 0.0) / bar.seconds for name in names) for bar in bars]
        lefts = [end[0] + width if width < 0 else end[1] for end, width in zip(ends, widths, strict=True)]
        axes.barh(range(len(bars)), [abs(w) for w in widths], 0.66, lefts, color=colour, edgecolor="white", label=label)
        for row, (left, width) in enumerate(zip(lefts, widths, strict=True)):
            ends[row][width >= 0] = left if width < 0 else left + width
            if abs(width) >= LEGIBLE:
                axes.text(left + abs(width) / 2, row, f"{width:.0f}", ha="center", va="center", fontsize="small",
                          color=ink(*to_rgb(colour)))  # fmt: skip
    for row, bar in enumerate(bars):
        axes.text(max(ends[row][1], 100.0) + 1.5, row, seconds_text(bar.seconds), va="center", fontsize="small")
    _limit(axes, min(end[0] for end in ends), max(100.0, *(end[1] for end in ends)))


def _limit(axes: Axes, low: float, high: float) -> None:
    """Make room for the times behind the bars."""
    axes.set_xlim(1.05 * low, high + 0.14 * (high - low))
    axes.set_xticks([tick for tick in axes.get_xticks() if 1.05 * low <= tick <= high])


def _draw_beside(axes: Axes, bars: Sequence[TermsBar], shown: Sequence[str], rest: Sequence[str]) -> None:
    height = 0.8 / max(len(shown), 1)
    lowest, highest = 0.0, 100.0
    for place, name in enumerate(shown):
        shares = [100 * bar.terms.get(name, 0.0) / bar.seconds for bar in bars]
        rows = [row - 0.4 + height * (place + 0.5) for row in range(len(bars))]
        axes.barh(rows, shares, 0.92 * height, color=FILLS[place % len(FILLS)], label=name)
        lowest, highest = min(lowest, *shares), max(highest, *shares)
    axes.axvline(100, color="0.3", linewidth=1, linestyle="--", label="predicted time")
    if rest:
        axes.plot((), (), linestyle="none", label=f"{len(rest)} smaller terms: not drawn")
    for row, bar in enumerate(bars):
        axes.text(highest * 1.02, row, seconds_text(bar.seconds), va="center", fontsize="small")
    _limit(axes, lowest, highest)
