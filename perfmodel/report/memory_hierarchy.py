"""Results of three analyses: hit rates as pictures, the balance in words, and tables of proofs of isolation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from perfmodel.analyses.balance import COMPUTE_BOUND, MEMORY_BOUND, NO_WORK, Balance
from perfmodel.analyses.memory_hierarchy import HitRates
from perfmodel.display import below_marker, fitted_text, markdown_table, seconds_text
from perfmodel.errors import PictureFormatError
from perfmodel.report.drawing import empty_figure, write_figure
from perfmodel.store.isolation import Isolation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


FORMATS = (".png", ".svg")
NARROWEST = 0.02  # least range of hit rates on an axis, so that a narrow distribution looks narrow


def draw_memory_hierarchy(rates: HitRates, path: str | Path, title: str, level: float = 0.9) -> None:
    """Write a picture of the hit rates of both caches (:func:`hit_rates_figure`), as ``.png`` or ``.svg``.

    Raises
    ------
    PictureFormatError
        If the name ends otherwise.
    """
    if Path(path).suffix not in FORMATS:
        raise PictureFormatError(str(path), FORMATS)
    write_figure(hit_rates_figure(rates, title, level), path)


def hit_rates_figure(rates: HitRates, title: str, level: float = 0.9) -> Figure:
    """Return a histogram of each cache's hit rates, and the shares of each array's requests that each memory answers.

    A line marks the mean, a band its confidence interval. The axes of both histograms have the same
    width: a distribution that looks narrow depends little on the order.
    """
    figure = empty_figure(8.0, 4.2 + 0.28 * len(rates.by_array))
    panels = figure.subplot_mosaic(
        [["l1", "l2"], ["arrays", "arrays"]], height_ratios=(2.6, 0.7 + 0.28 * len(rates.by_array))
    )
    width = max(NARROWEST, 1.3 * max(np.ptp(rates.l1), np.ptp(rates.l2)))
    for which, name in (("l1", "first-level"), ("l2", "second-level")):
        _draw_rates(panels[which], rates, which, level, width)
        panels[which].set_title(f"{name} cache", fontsize="medium")
    _draw_arrays(panels["arrays"], rates)
    sample = f"{len(rates.l1)} orders of {rates.requests} requests of {rates.groups} work-groups"
    figure.suptitle(f"{title}\n{sample}", fontsize="medium")
    return figure


def _draw_rates(axes: Axes, rates: HitRates, which: str, level: float, width: float) -> None:
    found = np.asarray(rates.l1 if which == "l1" else rates.l2)
    low, high = rates.interval(which, level)
    middle = float(found.min() + found.max()) / 2
    left = min(max(middle - width / 2, -0.02 * width), 1 + 0.02 * width - width)
    axes.hist(found, bins=list(np.linspace(left, left + width, 26)), color="#0072B2", alpha=0.75)
    axes.axvspan(low, high, color="#E69F00", alpha=0.45, label=f"{100 * level:.0f} % interval of the mean")
    axes.axvline(float(found.mean()), color="#D55E00", label=f"mean {100 * found.mean():.4g} %")
    axes.set(xlim=(left, left + width), xlabel="hit rate", ylabel="orders")
    axes.legend(fontsize="small")


def _draw_arrays(axes: Axes, rates: HitRates) -> None:
    names = [name for name, _, _ in rates.by_array]
    first = np.array([share for _, share, _ in rates.by_array])
    memory = np.array([share for _, _, share in rates.by_array])
    second = 1.0 - first - memory
    left = np.zeros(len(names))
    for shares, colour, label in (
        (first, "#009E73", "first-level cache"), (second, "#56B4E9", "second-level cache"),
        (memory, "#999999", "memory"),
    ):
        axes.barh(names, shares, left=left, color=colour, label=label, height=0.7)
        left = left + shares
    axes.set(xlim=(0, 1), xlabel="requests answered by")
    axes.invert_yaxis()
    axes.legend(fontsize="small", ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)


def balance_text(found: Balance) -> str:
    """Return what bounds a computation, with its numbers, as a sentence."""
    if found.verdict == NO_WORK:
        return f"{NO_WORK}: it computes nothing and moves nothing that costs time."
    sign = ">=" if found.holds else "<"
    limits = (
        f"{found.intensity:.3g} operations and loads a byte, where this device balances at {found.machine:.3g} "
        f"(Eq. 2.5) and with latency and depth T_comp = {seconds_text(found.compute_s)} {sign} "
        f"T_mem = {seconds_text(found.memory_s)} (Eq. 2.4 {'holds' if found.holds else 'fails'})"
    )
    return f"{found.verdict}: {_reason(found)}; {limits}."


def _reason(found: Balance) -> str:
    if found.verdict == COMPUTE_BOUND:
        return (
            f"{found.work:.3g} operations and loads on {found.cores:.3g} lanes take {seconds_text(found.work_s)}, "
            f"and W/D = {found.parallelism:.3g} of them can be performed at once"
        )
    if found.verdict == MEMORY_BOUND:
        moved = found.transfers * found.transfer_bytes
        return (
            f"{moved:.3g} B at {found.bandwidth:.3g} B/s take {seconds_text(found.transfer_s)}, "
            f"and Q/D = {found.memory_parallelism:.3g} transfers can be under way at once"
        )
    if found.holds:
        return (
            f"a chain of {found.depth:.3g} operations and loads takes {seconds_text(found.depth_s)}; only "
            f"W/D = {found.parallelism:.3g} can be performed at once, on {found.cores:.3g} lanes"
        )
    return (
        f"waiting for {found.depth:.3g} operations and loads one after the other takes "
        f"{seconds_text(found.latency_s)}; only Q/D = {found.memory_parallelism:.3g} transfers can be under way at "
        f"once, {found.hidden:.3g} would hide the latency"
    )


BEGIN = "<!-- what follows is drawn by scripts/redraw isolation -->"
HEADER = ("class", "variant", "isolates", "doubled", "from", "to", "rise", "needed", "")
LESS = ("from", "to", "needed", "doubled", "variant", "rise")


def isolation_table(proofs: Sequence[Isolation], width: int | None = None) -> str:
    """Return proofs as plain text, with the number of those that succeeded.

    On a narrow terminal the columns of :data:`LESS` are left out, the first one first.
    """
    return f"{fitted_text([HEADER, *map(_cells, proofs)], 3, LESS, width)}\n\n{_summary(proofs)}"


def isolation_page(page: str, devices: Iterable[Sequence[Isolation]]) -> str:
    """Return the page with one table for each device after its marker."""
    sections = [_section(proofs) for proofs in devices] or ["No device has been measured yet.\n"]
    return below_marker(page, BEGIN, sections)


def _section(proofs: Sequence[Isolation]) -> str:
    first = proofs[0]
    rows = [HEADER, ("---",) * 3 + ("---:",) * 5 + ("---",), *map(_cells, proofs)]
    heading = f"## {first.device}\n\n{first.platform}, driver {first.driver}. {_summary(proofs)}"
    return f"{heading}\n\n{markdown_table(rows)}\n"


def _summary(proofs: Sequence[Isolation]) -> str:
    failing = sorted({proof.kernel for proof in proofs if not proof.proved})
    names = f"; not all proved: {', '.join(failing)}" if failing else ""
    return f"{sum(proof.proved for proof in proofs)} of {len(proofs)} variants proved{names}."


def _cells(proof: Isolation) -> tuple[str, ...]:
    variant = " ".join(f"{name}={_text(value)}" for name, value in proof.variant.items() if name != "work_group")
    start = (proof.kernel, variant, proof.feature)
    if not proof.rounds_s:
        return (*start, proof.doubles or "-", "-", "-", "-", f"{proof.raises:.0%}", f"**not proved**: {proof.message}")
    single, double = map(seconds_text, proof.seconds)
    doubled = f"{proof.doubles} = {proof.parameters[str(proof.doubles)]}"
    word = "proved" if proof.proved else "**not proved**"
    return (*start, doubled, single, double, f"{proof.rise:.0%}", f"{proof.raises:.0%}", word)


def _text(value: object) -> str:
    return "x".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
