"""Layout of the picture of a work flow graph: frames of loops, lanes of arcs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from perfmodel.analyses.timeline import Timeline
from perfmodel.analyses.work_flow import WorkFlow
from perfmodel.report.tables import seconds_text

LONGEST = 22  # characters of an arc's label


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
    found: list[Frame] = []
    for depth in range(max((len(node.loops) for node in graph.nodes), default=0)):
        nests = [node.loops[:depth + 1] for node in graph.nodes]
        for k, nest in enumerate(nests):
            if len(nest) <= depth:
                continue
            if k and nests[k - 1] == nest:
                found[-1] = found[-1]._replace(last=k)
            else:
                found.append(Frame(nest[-1], k, k, depth))
    return found


def merged(graph: WorkFlow, time: Timeline | None = None) -> list[MergedArc]:
    """Return one arc for each pair of nodes, labelled with its variables and how long the target waits."""
    waits = {} if time is None else dict(time.waits)
    pairs = dict.fromkeys((arc.source, arc.target) for arc in graph.dependences)
    found = []
    for ends in pairs:
        mine = [arc for arc in graph.dependences if (arc.source, arc.target) == ends]
        label = ", ".join(dict.fromkeys(arc.variable for arc in mine))
        label = label if len(label) <= LONGEST else f"{label[:LONGEST - 1]}\u2026"
        wait = sum(waits.get(arc, 0.0) for arc in mine)
        label += f"\nwaits {seconds_text(wait)}" if wait > 0 else ""
        found.append(MergedArc(ends, label, all(arc.carried for arc in mine)))
    return found


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
