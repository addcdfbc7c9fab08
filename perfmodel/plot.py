"""Pictures of predictions and models. Each function draws on axes of matplotlib (``ax=``), and returns them."""

from collections.abc import Mapping, Sequence
from typing import Any

from perfmodel.analyses.roofline import KernelPoint, ceilings, roof_values, roofline_points
from perfmodel.compare import Comparison, Contender, Evaluation
from perfmodel.display import seconds_text, values_text
from perfmodel.errors import OptionError
from perfmodel.facts import DeviceFacts
from perfmodel.predicting.crossovers import Lead
from perfmodel.predicting.prediction import Prediction
from perfmodel.predicting.ranking import RankedVariant
from perfmodel.report import drawing, pictures, sizes as curves
from perfmodel.report.drawing import FILLS, Axes, axes_or_new, finished, ink
from perfmodel.store import Measurements

__all__ = ["families", "predicted_vs_measured", "roofline", "sizes", "terms"]


def predicted_vs_measured(rows: Sequence[Comparison] | Evaluation, ax: Axes | None = None, *, title: str = "") -> Axes:
    """Draw predicted against measured times on logarithmic axes, of an evaluation or of ``compare``'s result.

    Each kernel has its geometric-mean relative error in the legend. Dotted lines are at a factor of two. Predictions
    that are withheld or not above zero are not drawn, but the legend has their number.
    """
    if isinstance(rows, Evaluation):
        rows = rows.rows
    axes = drawing.draw(axes_or_new(ax, 8.0, 5.4), pictures.accuracy(rows))
    axes.set_title(title)
    return axes


def roofline(
    measured: Measurements | Sequence[KernelPoint], ax: Axes | None = None, *, facts: DeviceFacts | None = None,
    title: str = "",
) -> Axes:  # fmt: skip
    """Draw measured kernels below the roofs of their device.

    A filled marker is a measured rate, and an open marker is the attainable rate (Eq. 4.31 of Kim et al. 2012).
    `measured` are measurements, each variant of which is drawn at its largest size, or points
    (:func:`perfmodel.analyses.roofline.roofline_points`). `facts` have the device's roofs, by default the facts of the
    measurements (:func:`perfmodel.fitting.device_folder.measured_folder` derives roofs from measurement kernels).
    """
    if isinstance(measured, Measurements):
        facts = facts or measured.facts
        measured = roofline_points(measured.with_facts(facts))
    picture = pictures.roofline(measured, {} if facts is None else {**roof_values(facts), **ceilings(facts)})
    if picture is None:
        problem = "no roof is known, and no kernel has operations and traffic"
        raise OptionError(problem, "give facts= or other measured kernels")
    axes = drawing.draw(axes_or_new(ax, 10.0, 5.6), picture)
    axes.set_title(title)
    return axes


def families(contenders: Sequence[Contender], ax: Axes | None = None, *, protocol: str = "B", title: str = "") -> Axes:
    """Draw the errors of model families as a map, with families down and test kernels across. Best errors are bold.

    A small error is yellow, and a large error is dark violet. The families are of one device, on the same cases.
    Families without a fit are left out. All families must have results for the protocol
    (:data:`perfmodel.compare.PROTOCOLS`).
    """
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


def sizes(
    predictions: Prediction | Mapping[str, Prediction], ax: Axes | None = None, *, parameter: str = "",
    measured: Mapping[str, curves.Times] | None = None, leads: Sequence[Lead] | None = None, title: str = "",
) -> Axes:  # fmt: skip
    """Draw predicted times against a size parameter, and mark the sizes at which another variant becomes the fastest.

    `predictions` is a prediction at an array of sizes, or several predictions by the name of the variant. Up to three
    predictions have their intervals drawn as bands. `parameter` is across, by default the parameter that varies.
    `measured` has sizes and times [s] by the name of a variant, drawn as markers. `leads` has the fastest variant by
    ranges of sizes (:func:`perfmodel.predicting.crossovers.leads_of`), by default at the common sizes of all
    predictions.
    """
    named = {predictions.kernel: predictions} if isinstance(predictions, Prediction) else predictions
    panel = curves.panel_of_predictions(named, parameter, leads)
    axes, names = axes_or_new(ax, 8.0, 4.6), [name or "predicted" for name in named]
    curves.draw_panel(axes, panel, names, {name or "predicted": times for name, times in (measured or {}).items()})
    axes.set_ylabel("time" if measured else "predicted time")
    if title:
        axes.set_title(title)
    return axes


LEGIBLE = 6.0  #: Smallest share with its number inside [%]


def terms(
    predictions: Prediction | Mapping[str, Prediction] | Sequence[Prediction | RankedVariant], ax: Axes | None = None,
    *, most: int = len(FILLS), title: str = "",
) -> Axes:  # fmt: skip
    """Draw the share of each term in predicted times. Each time has a bar, and is written behind the bar.

    Terms that add up to the time are stacked, with negative terms to the left of zero. Terms that overlap are separate
    bars. A prediction at an array of sizes has a bar for each size. If there are more than `most` terms, the smaller
    terms are summed, or left out if terms overlap.
    """
    bars = bars_of(predictions)
    stacked = all(at.adds_up for _, at in bars)
    shares: dict[str, float] = {}
    for _, at in bars:
        for name, seconds in at.terms.items():
            shares[name] = max(shares.get(name, 0.0), abs(seconds) / at.seconds)
    ordered = sorted((name for name, share in shares.items() if share > 0), key=lambda name: -shares[name])
    shown, rest = ordered[:most], ordered[most:]
    height = 1.3 + (0.42 * len(bars) if stacked else len(bars) * (0.2 + 0.13 * len(shown)))
    axes = axes_or_new(ax, 8.0, max(height, 2.4))
    parts = [{name: 100 * seconds / at.seconds for name, seconds in at.terms.items()} for _, at in bars]
    low, high, ends = (_stack if stacked else _draw_apart)(axes, parts, shown, rest)
    for row, (end, (_, at)) in enumerate(zip(ends, bars, strict=True)):
        axes.text(end, row, seconds_text(at.seconds), va="center", fontsize="small")
    axes.set_xlim(1.05 * low, high + 0.14 * (high - low))  # with room for the times
    axes.set_xticks([tick for tick in axes.get_xticks() if 1.05 * low <= tick <= high])
    axes.set_yticks(range(len(bars)), [label for label, _ in bars])
    axes.set(ylim=(len(bars) - 0.4, -0.6), xlabel="share of the predicted time [%]", title=title)
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    return finished(axes, "term" if stacked else "term (terms overlap)", "x")


def bars_of(given: Any) -> list[tuple[str, Prediction]]:
    """Return each predicted time with its label. Raise OptionError without a time, or if one is not above zero."""
    if isinstance(given, Prediction):
        given = [given]
    named = given.items() if isinstance(given, Mapping) else ((getattr(each, "name", ""), each) for each in given)
    bars = []
    for name, predicted in named:
        if isinstance(predicted, RankedVariant):
            predicted = Prediction(predicted.seconds, predicted.terms)
        every, title = list(predicted.at_each_size()), name or predicted.kernel
        for at in every:
            sized = values_text(at.sizes) if len(every) > 1 or not title else ""
            bars.append((" ".join(filter(None, (title, sized))), at))
    if not bars:
        raise OptionError("no prediction was given", "give one, or a mapping of names to predictions")
    for label, at in bars:
        if not 0 < at.seconds < float("inf"):
            problem = f"the time of {label} is {seconds_text(at.seconds)}, so its terms have no shares"
            raise OptionError(problem, "leave this prediction out")
    return bars


def _stack(
    axes: Axes, bars: Sequence[Mapping[str, float]], shown: Sequence[str], rest: Sequence[str]
) -> tuple[float, float, list[float]]:
    from matplotlib.colors import to_rgb

    parts = [([name], name, FILLS[index % len(FILLS)]) for index, name in enumerate(shown)]
    parts += [([*rest], f"{len(rest)} others", drawing.REST)] if rest else []
    ends = [[0.0, 0.0] for _ in bars]  # left and right ends of the stacks
    for names, label, colour in parts:
        widths = [sum(bar.get(name, 0.0) for name in names) for bar in bars]
        lefts = [end[0] + width if width < 0 else end[1] for end, width in zip(ends, widths, strict=True)]
        axes.barh(range(len(bars)), [abs(w) for w in widths], 0.66, lefts, color=colour, edgecolor="white", label=label)
        for row, (left, width) in enumerate(zip(lefts, widths, strict=True)):
            ends[row][width >= 0] = left if width < 0 else left + width
            if abs(width) >= LEGIBLE:
                axes.text(left + abs(width) / 2, row, f"{width:.0f}", ha="center", va="center", fontsize="small",
                          color=ink(*to_rgb(colour)))  # fmt: skip
    high = [max(end, 100.0) for _, end in ends]
    return min(end for end, _ in ends), max(high), [end + 1.5 for end in high]


def _draw_apart(
    axes: Axes, bars: Sequence[Mapping[str, float]], shown: Sequence[str], rest: Sequence[str]
) -> tuple[float, float, list[float]]:
    height = 0.8 / max(len(shown), 1)
    ends = [0.0, 100.0]
    for index, name in enumerate(shown):
        shares = [bar.get(name, 0.0) for bar in bars]
        rows = [row - 0.4 + height * (index + 0.5) for row in range(len(bars))]
        axes.barh(rows, shares, 0.92 * height, color=FILLS[index % len(FILLS)], label=name)
        ends += shares
    axes.axvline(100, color="0.3", linewidth=1, linestyle="--", label="predicted time")
    if rest:
        axes.plot((), (), linestyle="none", label=f"{len(rest)} smaller terms: not drawn")
    return min(ends), max(ends), [max(ends) * 1.02] * len(bars)
