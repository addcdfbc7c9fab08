"""What was measured of a device: pictures of its probes with the facts that they give."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from perfmodel.display import bytes_text
from perfmodel.errors import OptionError
from perfmodel.facts import DeviceFacts, probed
from perfmodel.facts.probed import ProbeRun, newest, times
from perfmodel.report import drawing
from perfmodel.report.drawing import COLOURS, Axes, Figure

NS = 1e9
RATIOS = (0.25, 0.5, 1, 2, 4)


def picture_probes(runs: Sequence[ProbeRun], facts: DeviceFacts | None, path: str | Path) -> None:
    """Write a picture of a device's probes (:func:`probes_figure`), as ``.png`` or ``.svg``.

    It raises OptionError for another format, and without probes.
    """
    drawing.check_format(path)
    if not runs:
        raise OptionError("this device has not been probed", "probe it: perfmodel calibrate --probes")
    drawing.write_figure(probes_figure(runs, facts), path, dpi=90)


def probes_figure(runs: Sequence[ProbeRun], facts: DeviceFacts | None = None) -> Figure:
    """Return a panel for each probe, with the facts that it gives in its title.

    The chase also shows the capacities that the operating system reports, where `facts` hold them.
    """
    figure = drawing.empty_figure(15.0, 8.4)
    panels = figure.subplot_mosaic([["chase", "chase", "line", "ways"], ["lanes", "nests", "barriers", "overlap"]])
    _draw_chase(panels["chase"], runs, facts)
    _draw_line(panels["line"], runs)
    _draw_ways(panels["ways"], runs)
    _draw_lanes(panels["lanes"], runs)
    _draw_nests(panels["nests"], runs)
    _draw_barriers(panels["barriers"], runs)
    _draw_overlap(panels["overlap"], runs)
    for name, axes in panels.items():
        drawing.quiet_grid(axes)
        if axes.get_legend_handles_labels()[0]:
            place = 4 if name in ("chase", "ways") else 0  # below curves that rise, else the best place
            axes.legend(fontsize="small", framealpha=0.9, loc=place)
    last = runs[-1]
    figure.suptitle(f"{last.device} ({last.platform}, {last.driver}), probed {last.taken_at[:10]}", fontsize="medium")
    return figure


def _title(axes: Axes, runs: Sequence[ProbeRun], what: str, *keys: str) -> None:
    values = {key: fact.value for key, fact in probed.probed_facts(runs).items() if key in keys}
    values_text = [f"{key} = {values[key]:.3g}" if isinstance(values[key], float) else f"{key} = {values[key]}"
            for key in keys if key in values]  # fmt: skip
    axes.set_title(f"{what}\n{', '.join(values_text) or 'not clear: no fact'}", fontsize="small", loc="left")


def _draw_chase(axes: Axes, runs: Sequence[ProbeRun], facts: DeviceFacts | None) -> None:
    """Every visit as a dot, the lowest of all visits as a line, and a band for each step."""
    for run in newest(runs, probed.CHASE):
        _draw_curve(axes, [run], "bytes", ".", color="0.7", markersize=4)
    _draw_curve(axes, newest(runs, probed.CHASE), "bytes", "-", color=COLOURS[0], label="lowest visit")
    for level, step in zip(probed.LEVELS, probed.capacities(runs), strict=False):
        axes.axvspan(step.last, step.first, color=COLOURS[1], alpha=0.35, linewidth=0)
        label = f"{level}: {bytes_text(step.last)}"
        where = axes.get_xaxis_transform()
        # The curve rises from left to right: left of a step the top is free.
        axes.text(step.last, 0.98, label, color=COLOURS[1], transform=where, ha="right", va="top", rotation=90)
    for level in probed.LEVELS:
        if facts is not None and f"{level}_told_bytes" in facts:
            axes.axvline(facts.value(f"{level}_told_bytes"), color="0.3", linestyle=":", linewidth=1)
    axes.plot((), (), color="0.3", linestyle=":", linewidth=1, label="from the operating system")
    axes.set(xscale="log", yscale="log", xlabel="footprint", ylabel="time of a dependent load [ns]")
    places = [2**power for power in range(12, 29, 2)]
    axes.set_xticks(places, [bytes_text(place) for place in places])
    axes.minorticks_off()
    axes.set_title("capacities: a random cycle through all lines of a footprint", fontsize="medium", loc="left")


def _draw_curve(axes: Axes, runs: Sequence[ProbeRun], across: str, form: str, **style: Any) -> None:
    """Draw the lowest times over one parameter of the probes."""
    curve = times(runs, across)
    axes.plot([int(key[0]) for key in curve], [NS * s for s in curve.values()], form, **style)


def _draw_line(axes: Axes, runs: Sequence[ProbeRun]) -> None:
    _draw_curve(axes, newest(runs, probed.LINE), "apart", "o-", color=COLOURS[0])
    axes.set_xscale("log", base=2)
    axes.set(xlabel="bytes between the two loads of a pair", ylabel="time of a load [ns]", ylim=(0, None))
    _title(axes, runs, "line", "l1_line_bytes")


def _draw_ways(axes: Axes, runs: Sequence[ProbeRun]) -> None:
    curve = times(newest(runs, probed.CONFLICTS), "stride", "lines")
    for colour, stride in zip(COLOURS, sorted({int(key[0]) for key in curve}), strict=False):
        line = [(int(key[1]), NS * s) for key, s in curve.items() if key[0] == stride]
        axes.plot(*zip(*line, strict=True), ".-", color=colour, label=f"{bytes_text(stride)} apart")
    axes.set(xlabel="lines that share a set", ylabel="time of a dependent load [ns]", ylim=(0, None))
    _title(axes, runs, "ways", "l1_ways", "l2_ways")


def _draw_lanes(axes: Axes, runs: Sequence[ProbeRun]) -> None:
    """The time over that of lanes of one kind."""
    for colour, dtype in zip(COLOURS, probed.DTYPES, strict=False):
        curve = times(newest(runs, probed.LANES), "block", "lanes", dtype=dtype)
        widest = max((int(key[1]) for key in curve), default=0)
        line = [(int(block), s) for (block, lanes), s in curve.items() if lanes == widest]
        if line:
            same = line[-1][1]
            axes.plot([block for block, _ in line], [s / same for _, s in line], "o-", color=colour, label=dtype)
    axes.axhline(1.5, color="0.6", linestyle="--", linewidth=1)
    axes.set_xscale("log", base=2)
    axes.set(xlabel="neighbouring lanes with equal trips", ylabel="time over that of equal lanes", ylim=(0, 2.4))
    _title(axes, runs, "order of lanes", "lane_order", "lockstep_lanes")


def _draw_nests(axes: Axes, runs: Sequence[ProbeRun]) -> None:
    for colour, dtype in zip(COLOURS, probed.DTYPES, strict=False):
        curve = times(newest(runs, probed.NESTS), "nest", "operations", dtype=dtype)
        for nest, style in (("looped", "o--"), ("straight", "o-")):
            line = sorted((int(n), NS * s) for (kind, n), s in curve.items() if kind == nest)
            if line:
                axes.plot(*zip(*line, strict=True), style, color=colour, label=f"{dtype}, {nest}")
    axes.set(xlabel="operations in a chain", ylabel="time of a work-item [ns]", yscale="log", xticks=(32, 64))
    _title(axes, runs, "vectors", "vector_lanes", "vector_lanes_float64")


def _draw_barriers(axes: Axes, runs: Sequence[ProbeRun]) -> None:
    curve, facts = times(newest(runs, probed.BARRIERS), "items", "barriers"), probed.barrier_facts(runs)
    for colour, items in zip(COLOURS, sorted({int(key[0]) for key in curve}), strict=False):
        line = [(int(key[1]), NS * s) for key, s in curve.items() if key[0] == items]
        axes.plot(*zip(*line, strict=True), "o", color=colour, label=f"group of {items}")
        if facts:
            slope = NS * (float(facts["barrier_group_s"].value) + items * float(facts["barrier_s"].value))  # type: ignore[arg-type]
            (_, first), *_ = [spot for spot in line if spot[0] > 0] or [(0, 0.0)]
            start = min((n for n, _ in line if n > 0), default=0)
            ends = np.array([start, line[-1][0]])
            axes.plot(ends, first + slope * (ends - start), "-", color=colour, linewidth=1)
    axes.set(xlabel="barriers in a round of the loop", ylabel="time of a round [ns]", ylim=(0, None))
    _title(axes, runs, "barriers", "barrier_s", "barrier_group_s")


def _draw_overlap(axes: Axes, runs: Sequence[ProbeRun]) -> None:
    """Times over that of memory alone, with the curves of no, of the measured and of full overlap."""
    triples = probed.triples(runs)
    p = probed.probed_facts(runs).get("overlap_exponent")
    if triples:
        ratios = [b / a for a, b, _ in triples.values()]
        axes.set_xscale("log")
        axes.set_xticks(RATIOS, list(map(str, RATIOS)))
        axes.minorticks_off()
        axes.plot(ratios, [t / a for a, _, t in triples.values()], "o", color="black", label="measured")
        grid = np.geomspace(min(ratios) / 1.5, max(ratios) * 1.5, 60)
        curves = [(1.0, "p = 1"), (64.0, "maximum")] + ([(float(p.value), "fitted p")] if p is not None else [])  # type: ignore[arg-type]
        for colour, (exponent, label) in zip(COLOURS, curves, strict=False):
            both = [probed.together(1.0, computing, exponent) for computing in grid]
            axes.plot(grid, both, "-", color=colour, linewidth=1, label=label)
    axes.set(xlabel="computing over memory", ylabel="both over memory")
    _title(axes, runs, "overlap", "overlap_exponent")
