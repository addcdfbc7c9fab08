"""Predicted time against size, for variants of a kernel, with the sizes at which another becomes the fastest.

Pictures of the command line (:mod:`perfmodel.report.sweeps`) draw the same curves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from perfmodel.display import in_words
from perfmodel.documents import require
from perfmodel.errors import PictureError
from perfmodel.predicting.crossovers import Lead
from perfmodel.predicting.model import Prediction
from perfmodel.report.drawing import (
    COLOURS,
    LINES,
    MARKERS,
    REST,
    axes_or_new,
    legend_beside,
    members,
    quiet_grid,
    show_literally,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Times: TypeAlias = tuple[Sequence[int], Sequence[float]]
"""Sizes, and a time [s] at each."""

LOGARITHMIC = 8.0
"""Largest over smallest value from which an axis is logarithmic."""
FEW = 40
"""Most sizes of which each has a marker."""
BANDS = 3
"""Most variants whose intervals are drawn: more bands would lie on top of each other."""
DRAWN = "a prediction, or a mapping of names to predictions"
ADVICE = "predict at an array of sizes, as in model.predict(counts, n=2 ** numpy.arange(8, 14))"


class Curve(NamedTuple):
    """A variant's predicted times over one parameter."""

    name: str
    place: int  # among all variants; it gives the colour
    sizes: Any  # shape (n_sizes,), rising
    seconds: Any  # [s], of the same shape
    interval: tuple[Any, Any] | None  # [s]

    @property
    def colour(self) -> str:
        """The colour of the line, of the band, and of sizes from which the variant is the fastest."""
        return COLOURS[self.place % len(COLOURS)]


def plot_sizes(
    predictions: Prediction | Mapping[str, Prediction],
    ax: Axes | None = None,
    *,
    parameter: str = "",
    measured: Mapping[str, Times] | None = None,
    leads: Sequence[Lead] | None = None,
    title: str = "",
) -> Axes:
    """Draw predicted times against a size parameter, and mark the crossovers.

    Up to :data:`BANDS` variants have their intervals drawn as bands.

    Parameters
    ----------
    predictions
        A prediction at an array of sizes, or several by the name of the variant.
    ax
        Axes to draw on; a new figure by default.
    parameter
        The size parameter that goes across; by default the one that varies.
    measured
        By a variant's name its sizes and measured times [s], drawn as markers.
    leads
        Which variant is the fastest from which size on (:func:`perfmodel.predicting.crossovers.leads_of`); by default
        at the sizes that all predictions have.
    title
        Title of the axes.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`, or the axes of the new figure.

    Raises
    ------
    PictureError
        If a prediction is of one size only, several parameters vary, there is no such parameter, or no time is above
        zero.
    """
    named = {predictions.kernel: predictions} if isinstance(predictions, Prediction) else predictions
    require(isinstance(named, Mapping), "plot_sizes: predictions", predictions, DRAWN)
    members(named.values(), Prediction, "plot_sizes: predictions", DRAWN)
    require(isinstance(parameter, str), "plot_sizes: parameter", parameter, "the name of a size, or an empty text")
    known = measured is None or isinstance(measured, Mapping)
    require(known, "plot_sizes: measured", measured, "a mapping of names to sizes and times, or None")
    leads = None if leads is None else members(leads, Lead, "plot_sizes: leads", "what leads_of returned, or None")
    if not named:
        raise PictureError("there is no prediction to draw", ADVICE)
    across = _varying(named, parameter)
    curves = [_curve(place, name, one, across) for place, (name, one) in enumerate(named.items())]
    axes = axes_or_new(ax, 8.0, 4.6)
    draw_curves(axes, curves, measured)
    for lead in (_leads(curves) if leads is None else leads)[1:]:
        draw_lead(axes, curves, lead, f"from {across}={lead.low}: {lead.name} is the fastest")
    what = "time [s]" if measured else "predicted time [s]"
    axes.set(xlabel=f"size {across}", ylabel=what, title=title or _fixed(named, across))
    legend_beside(axes)
    show_literally(axes)
    return axes


def draw_curves(axes: Axes, curves: Sequence[Curve], measured: Mapping[str, Times] | None = None) -> None:
    """Draw a line for each variant, of up to :data:`BANDS` variants their intervals as bands, and measured times."""
    for curve in curves:
        _draw_curve(axes, curve, (measured or {}).get(curve.name))
    for curve in curves if len(curves) <= BANDS else ():
        if curve.interval is not None and np.all(np.isfinite(curve.interval)):
            axes.fill_between(curve.sizes, *curve.interval, color=curve.colour, alpha=0.15, linewidth=0, zorder=0)
    if curves:
        _scale(axes, curves)
    quiet_grid(axes)


def draw_lead(axes: Axes, curves: Sequence[Curve], lead: Lead, label: str = "") -> None:
    """Draw a line where a variant becomes the fastest, in its colour."""
    colour = next((curve.colour for curve in curves if curve.name == lead.name), REST)
    axes.axvline(lead.low, color=colour, linewidth=1, linestyle=":", zorder=1, label=label)


def _leads(curves: Sequence[Curve]) -> list[Lead]:
    """Return from which of the common sizes on which variant is the fastest; of equal ones the earlier given."""
    common = sorted(set.intersection(*(set(curve.sizes.tolist()) for curve in curves)))
    found: list[Lead] = []
    for size in common:
        times = [float(curve.seconds[np.searchsorted(curve.sizes, size)]) for curve in curves]
        name = curves[int(np.argmin(times))].name
        begins = not found or found[-1].name != name
        low = size if begins else found.pop().low
        found.append(Lead(name, low, size))
    return found


def _varying(named: Mapping[str, Prediction], wanted: str) -> str:
    """Return the parameter that varies in every prediction."""
    known = {name for one in named.values() for name in one.sizes}
    if wanted and wanted not in known:
        allowed = ", ".join(sorted(known)) or "none"
        raise PictureError(f"no prediction has a size '{wanted}' (there are: {allowed})", "name one of these sizes")
    vary = sorted({name for one in named.values() for name, value in one.sizes.items() if np.unique(value).size > 1})
    still = next((name for name, one in named.items() if np.size(one.seconds) < 2), None)
    if still is not None or not vary:
        raise PictureError(f"the prediction of '{still or next(iter(named))}' is of one size only", ADVICE)
    if len(vary) > 1 or wanted not in ("", *vary):
        raise PictureError(f"the sizes that vary are: {', '.join(vary)}", "let only one vary, the one to go across")
    return vary[0]


def _curve(place: int, name: str, one: Prediction, across: str) -> Curve:
    sizes = np.broadcast_to(one.sizes.get(across, np.nan), np.shape(one.seconds)).ravel()
    order = np.argsort(sizes, kind="stable")
    seconds = np.ravel(one.seconds)[order]
    if not np.any(seconds > 0):
        raise PictureError(f"no predicted time of '{name}' is above zero", "leave this prediction out")
    interval = one.interval and (np.ravel(one.interval[0])[order], np.ravel(one.interval[1])[order])
    return Curve(name, place, sizes[order], seconds, interval)


def _draw_curve(axes: Axes, curve: Curve, measured: Times | None) -> None:
    marker, line = MARKERS[curve.place % len(MARKERS)], LINES[curve.place // len(COLOURS) % len(LINES)]
    shown = np.where(curve.seconds > 0, curve.seconds, np.nan)
    axes.plot(curve.sizes, shown, line, color=curve.colour, marker=marker if len(shown) <= FEW else "", markersize=4,
              label=curve.name or "predicted", zorder=3)  # fmt: skip
    if measured is not None:
        axes.plot(*measured, linestyle="none", marker=marker, markersize=7, color=curve.colour,
                  markerfacecolor="white", label=f"{curve.name}, measured".lstrip(", "), zorder=4)  # fmt: skip


def _scale(axes: Axes, curves: Sequence[Curve]) -> None:
    from matplotlib.ticker import FuncFormatter, NullFormatter

    sizes = np.concatenate([curve.sizes for curve in curves])
    seconds = np.concatenate([curve.seconds for curve in curves])
    if sizes.min() > 0 and sizes.max() >= LOGARITHMIC * sizes.min():
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: size_text(size)))
        axes.xaxis.set_minor_formatter(NullFormatter())
    if np.max(seconds) >= LOGARITHMIC * np.min(seconds[seconds > 0]):
        axes.set_yscale("log")


def size_text(size: float) -> str:
    """Return a size as the command line takes it.

    Examples
    --------
    >>> size_text(512.0), size_text(2048), size_text(3 * 2**20), size_text(1500)
    ('512', '2Ki', '3Mi', '1500')
    """
    for unit, name in ((2**30, "Gi"), (2**20, "Mi"), (2**10, "Ki")):
        if size >= unit and size % unit == 0:
            return f"{size / unit:g}{name}"
    return f"{size:g}"


def _fixed(named: Mapping[str, Prediction], across: str) -> str:
    """Return the sizes that do not vary, in words."""
    fixed = {name: np.unique(value).tolist()[0] for one in named.values() for name, value in one.sizes.items()}
    return in_words({name: value for name, value in fixed.items() if name != across})
