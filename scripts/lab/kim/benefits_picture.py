"""The potential benefits of a kernel as a picture, like figure 4.3 of Kim et al. (2012)."""

from __future__ import annotations

from perfmodel.analyses.benefits import Benefits
from perfmodel.display import seconds_text
from perfmodel.report.drawing import BLUE, GREEN, PURPLE, VERMILION, Axes, Figure, empty_figure

_COLOURS = {"itilp": BLUE, "serial": VERMILION, "fp": GREEN, "memlp": PURPLE}
_PAPER = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}


def benefits_figure(benefits: Benefits, title: str) -> Figure:
    r"""Return the picture as a matplotlib figure: the cost of memory across, that of computing up.

    A is :math:`(T_{mem}, T_{comp})`, A' is shifted by :math:`T_{overlap}`. From A' arrows lead down by
    :math:`B_{serial}`, :math:`B_{itilp}` and :math:`B_{fp}` to :math:`T_{fp}`, and to the left by :math:`B_{memlp}` to
    :math:`T_{mem\_min}`.
    """
    figure = empty_figure(7.6, 5.6)
    axes = figure.add_subplot()
    largest = max(benefits.memory_s, benefits.compute_s, benefits.ideal_compute_s, benefits.ideal_memory_s)
    unit, name = next(((u, n) for u, n in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")) if largest >= u), (1e-9, "ns"))
    side = 1.18 * (largest / unit or 1.0)
    axes.set(xlim=(0, side), ylim=(0, side), aspect="equal")
    axes.set_xlabel(f"cost of memory [{name}]")
    axes.set_ylabel(f"cost of computing [{name}]")
    below = "potential benefits, estimated from static counts"
    axes.set_title(f"{title}\n{below}", fontsize="medium", loc="left", parse_math=False)
    axes.plot((0, side), (0, side), color="0.6", linewidth=1)
    axes.text(0.02 * side, 0.96 * side, "compute bound", color="0.5", va="top", bbox=_PAPER)
    axes.text(0.98 * side, 0.03 * side, "memory bound", color="0.5", ha="right", bbox=_PAPER)
    axes.axhline(benefits.ideal_compute_s / unit, color="0.3", linestyle="--",
                 label=f"$T_{{fp}}$ {seconds_text(benefits.ideal_compute_s)}")  # fmt: skip
    axes.axvline(benefits.ideal_memory_s / unit, color="0.3", linestyle=":",
                 label=f"$T_{{mem\\_min}}$ {seconds_text(benefits.ideal_memory_s)}")  # fmt: skip
    _draw_steps(axes, benefits, unit)
    axes.legend(loc="center left", bbox_to_anchor=(1.02, 0.5), fontsize="small", frameon=False)
    return figure


def _draw_steps(axes: Axes, benefits: Benefits, unit: float) -> None:
    """Draw A, A' and the arrows from it."""
    before, up = benefits.memory_s / unit, benefits.compute_s / unit
    across = (benefits.memory_s - benefits.overlap_s) / unit
    whole = seconds_text(benefits.memory_s + benefits.compute_s)
    axes.plot(before, up, "o", color="black", markerfacecolor="white", label=f"A: {whole}")
    axes.plot(across, up, "o", color="black", label=f"A': {seconds_text(benefits.seconds)}")
    _arrow(axes, (before, up), (across, up), "0.5", f"$T_{{overlap}}$ {seconds_text(benefits.overlap_s)}")
    at = up
    for name in ("serial", "itilp", "fp"):
        step = getattr(benefits, f"{name}_s")
        _arrow(axes, (across, at), (across, at - step / unit), _COLOURS[name], f"$B_{{{name}}}$ {seconds_text(step)}")
        at -= step / unit
    saved = benefits.memlp_s
    _arrow(axes, (across, up), (across - saved / unit, up), _COLOURS["memlp"], f"$B_{{memlp}}$ {seconds_text(saved)}")


def _arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], colour: str, label: str) -> None:
    axes.plot((), (), color=colour, linewidth=2, label=label)
    if start != end:
        arrow = {"arrowstyle": "-|>", "color": colour, "linewidth": 2, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", end, start, arrowprops=arrow, annotation_clip=False)
