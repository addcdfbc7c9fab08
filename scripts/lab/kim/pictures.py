"""Pictures of one kernel: its work flow graph, the lanes active in each step of it, and the hit rates of caches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from perfmodel.display import percent, seconds_text
from perfmodel.io import write_whole
from perfmodel.report import drawing
from perfmodel.report.drawing import BLUE, GREEN, ORANGE, SKY, VERMILION, Axes, Figure
from scripts.lab.kim.active_lanes import ActiveLanes
from scripts.lab.kim.memory_hierarchy import HitRates
from scripts.lab.kim.work_flow import Timeline, WorkFlow, WorkNode

GRAPH_FORMATS = (".png", ".svg", ".dot")
WIDTH = 3.0  # of a node's box, if the distance of rows is 1
_FILL = {
    "entry": "#f2f2f2", "exit": "#f2f2f2", "barrier": "#f3d9ec", "global": "#fbdcc4", "local": "#fdf1bd",
    "compute": "#d3e6f5",
}
HEIGHT, LANE, INDENT = 0.62, 0.4, 0.42
LONGEST = 22  # characters of an arc's label
LANES_MAP = "Blues"  # from white for a lane that is never active
MOST_ROWS = 12  # of a table of active lanes
NodeLanes = Sequence[ActiveLanes | None]
_CRITICAL, _DATA, _CONTROL = "#c00000", "#0072b2", "0.35"


def draw_work_flow(
    graph: WorkFlow, path: str | Path, time: Timeline | None = None, lanes: NodeLanes = ()
) -> None:
    """Write a work flow graph as a ``.png`` or ``.svg`` picture (:func:`work_flow_figure`), or as a Graphviz ``.dot``.

    Raises an error if the name ends otherwise.
    """
    drawing.check_format(path, GRAPH_FORMATS)
    suffix = Path(path).suffix
    if suffix == ".dot":
        write_whole(path, dot_text(graph, time).encode())
    else:
        drawing.write_figure(work_flow_figure(graph, time, lanes), path)


def dot_text(graph: WorkFlow, time: Timeline | None = None) -> str:
    """Return the graph in Graphviz's language."""
    critical = frozenset[tuple[int, int, bool]]() if time is None else time.critical
    lines = [f'digraph "{graph.name}" {{', "  node [shape=box, style=filled];"]
    for k, node in enumerate(graph.nodes):
        lines.append(f'  n{k} [label="{title(node)}\\n{_details(node)}", fillcolor="{_FILL[node.kind]}"];')
    for source, target, loop in graph.transitions:
        colour = _CRITICAL if (source, target, False) in critical else "gray40"
        lines.append(f'  n{source} -> n{target} [label="{loop}", color="{colour}"];')
    for arc in graph.dependences:
        colour = _CRITICAL if (arc.source, arc.target, True) in critical else _DATA
        style = "dashed" if arc.carried else "solid"
        lines.append(
            f'  n{arc.source} -> n{arc.target} [label="{arc.variable}", color="{colour}", style={style}, '
            "constraint=false];"
        )
    return "\n".join([*lines, "}"]) + "\n"


def title(node: WorkNode) -> str:
    """Return the label of a node: its acts and arrays."""
    if node.kind in ("entry", "exit", "barrier"):
        return node.kind
    if node.kind == "compute":
        return ", ".join(f"{amount} {act[1]}" for act, amount in node.acts)
    (act, amount), = node.acts
    turns = "transactions" if node.kind == "global" else "turns"
    often = f" ({amount}x)" if amount > len(node.arrays) else ""
    serial = f", {node.serial:.3g} {turns}" if node.serial > 1 else ""
    return f"{node.kind} {act[1]} {', '.join(node.arrays)}{often}{serial}"


def _details(node: WorkNode) -> str:
    return node.statement if node.kind in ("entry", "exit") else f"{node.statement}: {node.executions:.6g} times"


def work_flow_figure(graph: WorkFlow, time: Timeline | None = None, lanes: NodeLanes = ()) -> Figure:
    """Return a figure with the nodes from top to bottom, loops as frames around them, and the arcs.

    Transitions are grey, on the left where a loop begins its next iteration; data dependences are
    blue lines on the right, dashed where the value comes from an earlier iteration. With a timeline
    the arcs of the critical path are red, and bars show how long each node issues and waits. With
    the active lanes of the nodes (:func:`~scripts.lab.kim.active_lanes.active_lanes`) a heat map
    has a cell for each lane of a sub-group, the darker the more often the lane is active.
    """
    more = (time is not None) + bool(lanes)
    figure = drawing.empty_figure(8.0 + 3.0 * more, 1.3 + 0.62 * len(graph.nodes))
    panels = figure.subplots(1, 1 + more, sharey=True, width_ratios=(3, *(1,) * more), squeeze=False)[0]
    figure.suptitle(f"work flow graph of {graph.name}, an average sub-group")
    _draw_graph(panels[0], graph, time)
    if time is not None:
        _draw_bars(panels[1], time)
    if lanes:
        _draw_lanes(panels[-1], lanes)
    return figure


def _draw_graph(axes: Axes, graph: WorkFlow, time: Timeline | None) -> None:
    critical = frozenset[tuple[int, int, bool]]() if time is None else time.critical
    deepest = max((len(node.loops) for node in graph.nodes), default=0)
    for frame in frames(graph):
        _draw_frame(axes, graph, frame, deepest)
    for source, target, loop in graph.transitions:
        ends = (source, target)
        colour = _CRITICAL if (*ends, False) in critical else _CONTROL
        if loop:
            depth = graph.nodes[target].loops.index(loop)
            _bracket(axes, ends, -WIDTH / 2, -WIDTH / 2 - INDENT * (deepest - depth - 0.35), colour)
        else:
            axes.annotate("", (0, target - HEIGHT / 2), (0, source + HEIGHT / 2), arrowprops=_arrow(colour))
    arcs = merged(graph, time)
    for arc, lane in zip(arcs, lanes([arc.ends for arc in arcs]), strict=True):
        colour = _CRITICAL if (*arc.ends, True) in critical else _DATA
        x = WIDTH / 2 + LANE * (lane + 1)
        _bracket(axes, arc.ends, WIDTH / 2, x, colour, "--" if arc.carried else "-")
        axes.text(
            x + 0.03, sum(arc.ends) / 2, arc.label, rotation=90, color=colour, fontsize=6, ha="left", va="center",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4},
        )
    for k, node in enumerate(graph.nodes):
        _draw_node(axes, k, node)
    most = max(lanes([arc.ends for arc in arcs]), default=-1) + 1
    axes.set(
        xlim=(-WIDTH / 2 - INDENT * (deepest + 0.6), WIDTH / 2 + LANE * (most + 0.7)),
        ylim=(len(graph.nodes) - 0.4, -0.6),
    )
    axes.axis("off")


def _draw_node(axes: Axes, k: int, node: WorkNode) -> None:
    from matplotlib.patches import FancyBboxPatch

    axes.add_patch(FancyBboxPatch(
        (-WIDTH / 2, k - HEIGHT / 2), WIDTH, HEIGHT, boxstyle="round,pad=0,rounding_size=0.1",
        facecolor=_FILL[node.kind], edgecolor="0.3", linewidth=0.8, zorder=3,
    ))
    axes.text(0, k - 0.12, title(node), ha="center", va="center", fontsize=7.5, zorder=4)
    axes.text(0, k + 0.17, _details(node), ha="center", va="center", fontsize=6, color="0.35", zorder=4)


def _draw_frame(axes: Axes, graph: WorkFlow, frame: Frame, deepest: int) -> None:
    from matplotlib.patches import Rectangle

    left = -WIDTH / 2 - INDENT * (deepest - frame.depth)
    margin = 0.47 - 0.03 * frame.depth
    axes.add_patch(Rectangle(
        (left, frame.first - margin), WIDTH / 2 + 0.1 - left, frame.last - frame.first + 2 * margin,
        facecolor="0.5", alpha=0.08, edgecolor="none", zorder=0,
    ))
    passes = (1.0, *graph.nodes[frame.first].passes)
    trips = passes[frame.depth + 1] / passes[frame.depth] if passes[frame.depth] else 0.0
    axes.text(
        left + 0.04, frame.first - margin + 0.06, f"{frame.loop}: {trips:.4g} times", rotation=90, fontsize=6,
        color="0.25", ha="left", va="top",
    )


def _bracket(
    axes: Axes, ends: tuple[int, int], edge: float, turn: float, colour: str, style: str = "-"
) -> None:
    """Draw an arrow out of a side of a box, along ``x = turn`` and into the same side of another."""
    source, target = ends
    down = 1 if source < target else -1
    start, end = (source + 0.1 * down, target - 0.1 * down) if source != target else (source + 0.24, source - 0.24)
    axes.plot([edge, turn, turn], [start, start, end], color=colour, linewidth=1.1, linestyle=style, zorder=2)
    axes.annotate("", (edge, end), (turn, end), arrowprops={**_arrow(colour), "linestyle": style})


def _arrow(colour: str) -> dict[str, Any]:
    return {"arrowstyle": "-|>", "color": colour, "linewidth": 1.1, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 8}


def _draw_bars(axes: Axes, time: Timeline) -> None:
    from matplotlib.ticker import FuncFormatter

    rows = range(len(time.issued))
    axes.barh(rows, time.issued, height=0.4, color=_DATA, label="issues")
    axes.barh(rows, time.stalled, left=time.issued, height=0.4, color=_CRITICAL, label="waits")
    for k in rows:
        share = (time.issued[k] + time.stalled[k]) / time.seconds if time.seconds else 0.0
        if share >= 0.005:
            axes.text(time.issued[k] + time.stalled[k], k, f" {100 * share:.0f} %", va="center", fontsize=6.5)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(left=False, labelleft=False, labelsize=6.5)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: seconds_text(value)))
    axes.locator_params(axis="x", nbins=3)
    axes.margins(x=0.2)
    axes.set_title(f"alone: {seconds_text(time.seconds)}", fontsize=8)
    axes.legend(fontsize=6.5, loc="lower right", framealpha=0.9)


def _draw_lanes(axes: Axes, lanes: NodeLanes) -> None:
    """Draw a row of cells for each node, white where a lane is never active."""
    from matplotlib import colormaps
    from matplotlib.patches import Patch, Rectangle

    width = max((len(row.shares) for row in lanes if row is not None), default=1)
    for k, row in enumerate(lanes):
        if row is None:
            continue
        bottom, top = k + HEIGHT / 2, k - HEIGHT / 2
        if row.by_subgroups:
            edges = np.arange(width + 1) - 0.5
            axes.pcolormesh(edges, [top, bottom], [row.shares], cmap=LANES_MAP, vmin=0, vmax=1)
        axes.add_patch(Rectangle(
            (-0.5, top), width, HEIGHT, facecolor="none", edgecolor="0.3", linewidth=0.8,
            hatch=None if row.by_subgroups else "///", zorder=3,
        ))
        axes.text(width - 0.5, k, f" {utilization_text(row, 'unknown')}", va="center", fontsize=6.5)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_bounds(-0.5, width - 0.5)
    axes.tick_params(left=False, labelleft=False, labelsize=6.5)
    axes.set(xlim=(-0.5, 1.45 * width - 0.5), xticks=sorted({0, width // 2, width - 1}))
    axes.set_xlabel("lane", fontsize=6.5, loc="left")
    axes.set_title(f"lanes active: {whole_text(lanes)}", fontsize=8)
    scale = [Patch(facecolor=colormaps[LANES_MAP](x), edgecolor="0.3", label=f"{100 * x:g} %") for x in (0.0, 0.5, 1.0)]
    axes.legend(handles=scale, fontsize=6.5, ncols=3, loc="lower left", columnspacing=1.0, handlelength=1.0)


def utilization_text(lanes: ActiveLanes, unknown: str) -> str:
    """Return the share of lanes that are active, in per cent."""
    if not lanes.by_subgroups:
        return unknown
    return f"{'at least ' if lanes.at_least else ''}{percent(lanes.utilization)}"


def lanes_rows(graph: WorkFlow, lanes: NodeLanes) -> list[tuple[str, ...]]:
    """Return a table of the nodes' active lanes, and a last row of all nodes together.

    Of many nodes it has the :data:`MOST_ROWS` in which most lanes are idle.

    What is unknown has a dash.
    """
    known = [(k, row) for k, row in enumerate(lanes) if row is not None]
    most = sorted(known, key=lambda each: -each[1].idle)[:MOST_ROWS]
    rows: list[tuple[str, ...]] = [("step", "statement", "by work-items", "by sub-groups", "lanes active")]
    rows += [
        (title(graph.nodes[k]), graph.nodes[k].statement, *_executions(row.by_items, row.by_subgroups),
         utilization_text(row, "unknown"))
        for k, row in sorted(most, key=lambda each: each[0])
    ]  # fmt: skip
    items, subgroups = (sum(getattr(row, name) for _, row in known) for name in ("by_items", "by_subgroups"))
    number = sum(row.by_subgroups > 0 for _, row in known)
    return [*rows, (f"all {number} known", "", *_executions(items, subgroups), whole_text(lanes))]


def _executions(*numbers: float) -> tuple[str, ...]:
    return tuple(f"{number:.15g}" if number else "-" for number in numbers)


def whole_text(lanes: NodeLanes) -> str:
    """Return the share of lanes that are active in all nodes of which it is known."""
    known = [row for row in lanes if row is not None and row.by_subgroups]
    if not known:
        return "unknown"
    items, subgroups = sum(row.by_items for row in known), sum(row.by_subgroups for row in known)
    least = any(row.at_least for row in known)
    return utilization_text(ActiveLanes(items, subgroups, known[0].shares, least), "")


class Frame(NamedTuple):
    """A loop around the nodes from ``first`` to ``last``, inside ``depth`` others."""

    loop: str
    first: int
    last: int
    depth: int


class MergedArc(NamedTuple):
    """All data dependences from one node to another, drawn as one arc."""

    ends: tuple[int, int]
    label: str
    carried: bool


def frames(graph: WorkFlow) -> list[Frame]:
    """Return the loops, outer ones first."""
    frames: list[Frame] = []
    for depth in range(max((len(node.loops) for node in graph.nodes), default=0)):
        nests = [node.loops[:depth + 1] for node in graph.nodes]
        for k, nest in enumerate(nests):
            if len(nest) <= depth:
                continue
            if k and nests[k - 1] == nest:
                frames[-1] = frames[-1]._replace(last=k)
            else:
                frames.append(Frame(nest[-1], k, k, depth))
    return frames


def merged(graph: WorkFlow, time: Timeline | None = None) -> list[MergedArc]:
    """Return one arc for each pair of nodes, labelled with its variables and how long the target waits."""
    waits = {} if time is None else dict(time.waits)
    pairs = dict.fromkeys((arc.source, arc.target) for arc in graph.dependences)
    arcs = []
    for ends in pairs:
        mine = [arc for arc in graph.dependences if (arc.source, arc.target) == ends]
        label = ", ".join(dict.fromkeys(arc.variable for arc in mine))
        label = label if len(label) <= LONGEST else f"{label[:LONGEST - 1]}\u2026"
        wait = sum(waits.get(arc, 0.0) for arc in mine)
        label += f"\nwaits {seconds_text(wait)}" if wait > 0 else ""
        arcs.append(MergedArc(ends, label, all(arc.carried for arc in mine)))
    return arcs


def lanes(ends: Sequence[tuple[int, int]]) -> list[int]:
    """Return for each arc a lane in which no other overlaps it; short arcs get the first ones.

    Examples
    --------
    >>> lanes([(0, 3), (1, 2), (3, 4)])
    [1, 0, 0]
    """
    spans = [(min(pair) - 0.2, max(pair) + 0.2) for pair in ends]
    taken: list[list[tuple[float, float]]] = []
    lane = [0] * len(ends)
    for k in sorted(range(len(ends)), key=lambda k: spans[k][1] - spans[k][0]):
        low, high = spans[k]
        lane[k] = next(
            (n for n, others in enumerate(taken) if all(high <= a or b <= low for a, b in others)), len(taken)
        )
        if lane[k] == len(taken):
            taken.append([])
        taken[lane[k]].append((low, high))
    return lane


NARROWEST = 0.02
"""Least range of hit rates on an axis, so that a narrow distribution looks narrow."""


def draw_memory_hierarchy(rates: HitRates, path: str | Path, title: str) -> None:
    """Write a picture of the hit rates of both caches (:func:`hit_rates_figure`), as ``.png`` or ``.svg``."""
    drawing.check_format(path)
    drawing.write_figure(hit_rates_figure(rates, title), path)


def hit_rates_figure(rates: HitRates, title: str) -> Figure:
    """Return a histogram of each cache's hit rates, and the shares of each access's requests that each memory answers.

    A line marks the mean, a band its 90 % interval. The axes of both histograms have the same width: a distribution
    that looks narrow depends little on the order.
    """
    shares = rates.by_access or rates.by_array
    figure = drawing.empty_figure(8.0, 4.2 + 0.28 * len(shares))
    panels = figure.subplot_mosaic(
        [["l1", "l2"], ["arrays", "arrays"]], height_ratios=(2.6, 0.7 + 0.28 * len(shares))
    )
    width = max(NARROWEST, 1.3 * max(np.ptp(rates.l1), np.ptp(rates.l2)))
    for which, name in (("l1", "first-level"), ("l2", "second-level")):
        _draw_rates(panels[which], rates, which, width)
        panels[which].set_title(f"{name} cache", fontsize="medium")
    _draw_shares(panels["arrays"], shares)
    sample = f"{len(rates.l1)} orders of {rates.requests} requests of {rates.groups} work-groups"
    figure.suptitle(f"{title}\n{sample}", fontsize="medium")
    return figure


def _draw_rates(axes: Axes, rates: HitRates, which: str, width: float) -> None:
    shares = np.asarray(rates.l1 if which == "l1" else rates.l2)
    low, high = rates.interval(which)
    middle = float(shares.min() + shares.max()) / 2
    left = min(max(middle - width / 2, -0.02 * width), 1 + 0.02 * width - width)
    axes.hist(shares, bins=list(np.linspace(left, left + width, 26)), color=BLUE, alpha=0.75)
    axes.axvspan(low, high, color=ORANGE, alpha=0.45, label="90 % interval of the mean")
    axes.axvline(float(shares.mean()), color=VERMILION, label=f"mean {100 * shares.mean():.4g} %")
    axes.set(xlim=(left, left + width), xlabel="hit rate", ylabel="orders")
    axes.legend(fontsize="small")


def _draw_shares(axes: Axes, shares: Sequence[tuple[str, float, float]]) -> None:
    names = [name for name, _, _ in shares]
    first, memory = (np.array([one[place] for one in shares], dtype=np.float64) for place in (1, 2))
    left = np.zeros(len(names))
    for part, colour, label in (
        (first, GREEN, "first-level cache"), (1.0 - first - memory, SKY, "second-level cache"),
        (memory, "#999999", "memory"),
    ):
        axes.barh(names, part, left=left, color=colour, label=label, height=0.7)
        left = left + part
    axes.set(xlim=(0, 1), xlabel="requests answered by")
    axes.invert_yaxis()
    axes.legend(fontsize="small", ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
