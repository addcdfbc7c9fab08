"""The microbenchmarks of Karsin, chapter 4: copies, local memory, registers, barriers and launches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import nan

from scripts.lab.curves import Panel, Series, curves_figure
from scripts.lab.studies import Findings, Study, StudyData, throughput as own
from scripts.lab.studies.karsin_device import oversubscribed
from scripts.lab.studies.throughput_claims import measured_claims, printed_claim

THREADS = "M_o, work-items for each core"
LOG = ("log", "log")


def examine(data: StudyData) -> Findings:
    points, name = own.runs(data), data.facts.name
    launched = own.lines(points, "launch", lambda one: f"{one.groups} group(s)")
    pictures = {
        f"fig{figure.replace('.', '-')}": curves_figure([_over_threads(points, operation, name)])
        for operation, figure in own.OPERATIONS.items() if operation not in ("barrier", "launch")
    }  # fmt: skip
    barriers = own.lines(points, "barrier", lambda _: "a barrier of a group")
    pictures["fig4-4"] = curves_figure([Panel(
        _both(barriers, lambda one: one.threads, lambda one: one.amount * one.groups), THREADS,
        "time for each barrier of a group [s]", name, LOG,
    )])  # fmt: skip
    for figure, per, axis in (("fig4-5", _whole, "time [s]"), ("fig4-6", _launches, "time for each launch [s]")):
        pictures[figure] = curves_figure([Panel(_both(launched, _launches, per), "launches", axis, name, LOG)])
    return Findings(
        (printed_claim(), *measured_claims(points, oversubscribed(data.facts))),
        {"": [one.record() for one in points]}, pictures,
    )  # fmt: skip


def _over_threads(points: Sequence[own.Run], operation: str, title: str) -> Panel:
    lines = own.lines(points, operation, lambda one: f"M_I = {one.ilp}")
    return Panel(_both(lines, lambda one: one.threads, _whole), THREADS, "time [s]", title, LOG)


def _whole(one: own.Run) -> float:
    return 1.0


def _launches(one: own.Run) -> float:
    return one.launches


def _both(
    lines: dict[str, list[own.Run]], at: Callable[[own.Run], float], per: Callable[[own.Run], float]
) -> tuple[Series, ...]:
    """Return measured and predicted times, over something and divided by something."""
    found = []
    for label, line in lines.items():
        x = [at(one) for one in line]
        found.append(Series(label, x, [one.measured / per(one) for one in line]))
        found.append(Series(label, x, [(one.predicted or nan) / per(one) for one in line], "predicted"))
    return tuple(found)


STUDY = Study(
    "throughput", "Latency, bandwidth and multiplicity: the microbenchmarks of the throughput model",
    "B. Karsin, A Performance Model for GPU Architectures: Analysis and Design of Fundamental Algorithms, "
    "dissertation, University of Hawaii, 2018, chapter 4, figures 4.1 to 4.6", "karsin-2018",
    (own.COPY, own.CHAINS, own.BARRIERS, own.LAUNCHES), examine,
)  # fmt: skip
