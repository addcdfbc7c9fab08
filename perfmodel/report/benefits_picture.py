"""Potential benefits drawn as in figure 4.3 of Kim et al. (2012)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from perfmodel.display import seconds_text
from perfmodel.report.drawing import BLUE, GREEN, PURPLE, VERMILION, empty_figure, write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from perfmodel.analyses.benefits import Benefits

_COLOURS = {"itilp": BLUE, "serial": VERMILION, "fp": GREEN, "memlp": PURPLE}
_PAPER = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}


def benefits_text(found: Benefits) -> str:
    """Return what could be saved at most, as a sentence."""
    saved = "; ".join(
        f"{seconds_text(max(seconds, 0.0))} by {means}"
        for seconds, means in (
            (found.itilp_s, "more independent instructions or sub-groups"),
            (found.fp_s, "fewer instructions other than floating-point arithmetic"),
            (found.serial_s, "less serialised work (barriers, divergence, bank conflicts)"),
            (found.memlp_s, "more memory requests at once"),
        )
    )
    return f"of {seconds_text(found.seconds)}, at most these times could be saved: {saved}."


def picture_benefits(found: Benefits, path: str | Path, title: str) -> None:
    """Draw a kernel's potential benefits, as figure 4.3 of the paper does."""
    write_figure(benefits_figure(found, title), path, dpi=150, formulas=True)


def benefits_figure(found: Benefits, title: str) -> Figure:
    r"""Return the picture as a matplotlib figure: the cost of memory across, that of computing up.

    A is :math:`(T_{mem}, T_{comp})`, A' is shifted by :math:`T_{overlap}`. From A' arrows lead down by
    :math:`B_{serial}`, :math:`B_{itilp}` and :math:`B_{fp}` to :math:`T_{fp}`, and to the left by :math:`B_{memlp}` to
    :math:`T_{mem\_min}`.
    """
    figure = empty_figure(7.6, 5.6)
    axes = figure.add_subplot()
    largest = max(found.memory_s, found.compute_s, found.ideal_compute_s, found.ideal_memory_s)
    unit, name = next(((u, n) for u, n in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")) if largest >= u), (1e-9, "ns"))
    side = 1.18 * (largest / unit or 1.0)
    axes.set(xlim=(0, side), ylim=(0, side), aspect="equal")
    axes.set_xlabel(f"cost of memory [{name}]")
    axes.set_ylabel(f"cost of computing [{name}]")
    title = f"{title}\npotential benefits, estimated from static counts"
    axes.set_title(title, fontsize="medium", loc="left", parse_math=False)
    axes.plot((0, side), (0, side), color="0.6", linewidth=1)
    axes.text(0.02 * side, 0.96 * side, "compute bound", color="0.5", va="top", bbox=_PAPER)
    axes.text(0.98 * side, 0.03 * side, "memory bound", color="0.5", ha="right", bbox=_PAPER)
    axes.axhline(found.ideal_compute_s / unit, color="0.3", linestyle="--",
                 label=f"$T_{{fp}}$ {seconds_text(found.ideal_compute_s)}")  # fmt: skip
    axes.axvline(found.ideal_memory_s / unit, color="0.3", linestyle=":",
                 label=f"$T_{{mem\\_min}}$ {seconds_text(found.ideal_memory_s)}")  # fmt: skip
    _draw_steps(axes, found, unit)
    axes.legend(loc="center left", bbox_to_anchor=(1.02, 0.5), fontsize="small", frameon=False)
    return figure


def _draw_steps(axes: Axes, found: Benefits, unit: float) -> None:
    """Draw A, A' and the arrows from it."""
    before, across, up = found.memory_s / unit, (found.memory_s - found.overlap_s) / unit, found.compute_s / unit
    whole = seconds_text(found.memory_s + found.compute_s)
    axes.plot(before, up, "o", color="black", markerfacecolor="white", label=f"A: {whole}")
    axes.plot(across, up, "o", color="black", label=f"A': {seconds_text(found.seconds)}")
    _arrow(axes, (before, up), (across, up), "0.5", f"$T_{{overlap}}$ {seconds_text(found.overlap_s)}")
    at = up
    for name in ("serial", "itilp", "fp"):
        step = getattr(found, f"{name}_s")
        _arrow(axes, (across, at), (across, at - step / unit), _COLOURS[name], f"$B_{{{name}}}$ {seconds_text(step)}")
        at -= step / unit
    saved = found.memlp_s
    _arrow(axes, (across, up), (across - saved / unit, up), _COLOURS["memlp"], f"$B_{{memlp}}$ {seconds_text(saved)}")


def _arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], colour: str, label: str) -> None:
    axes.plot((), (), color=colour, linewidth=2, label=label)
    if start != end:
        arrow = {"arrowstyle": "-|>", "color": colour, "linewidth": 2, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", end, start, arrowprops=arrow, annotation_clip=False)
