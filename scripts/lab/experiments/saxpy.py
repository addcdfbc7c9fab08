"""Strided saxpy from few to many warps: time and error of the MWP-CWP models, with and without an L2 cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from scripts.lab.curves import Panel, Series, curves_figure
from scripts.lab.studies import Findings, Study, StudyData, saxpy_claims as claims
from scripts.lab.studies.saxpy import CACHED, GROUPS, SIZES, Point, by_stride, families_of, saxpy_points
from scripts.lab.studies.wang_lou import ISSUES, STRIDES, card_records

WARPS, ERROR = "sub-groups for each compute unit", "|predicted - measured| / measured [1]"
AT_ONCE = "sub-groups of a compute unit at a time, by the work-group"
CARD_WARPS = "warps of a multiprocessor, by the work-group"
SETTINGS = {"without_l2": "without L2", "with_l2_printed": "as printed", "with_l2_section_2_2": "by section 2.2"}


def examine(data: StudyData) -> Findings:
    points, groups = saxpy_points(data), saxpy_points(data, GROUPS)
    families, card = families_of(data), card_records()
    launch_s = data.model(CACHED).weights.get("w_launch", 0.0) if CACHED in families else 0.0
    warps = (
        claims.coalesced_claim(points, families), claims.few_claim(points, launch_s),
        claims.many_claim(points, families), claims.within_claim(points, families),
    )  # fmt: skip
    tables: dict[str, Sequence[Mapping[str, Any]]] = {"": [one.record() for one in points], "card": card}
    if groups:
        tables["groups"] = [one.record() for one in groups]
    return Findings(
        (
            *(map(claims.on_a_cpu, warps) if data.is_cpu else warps),
            claims.stride_claim(points, families), claims.card_claim(), claims.reading_claim(),
        ),
        tables,
        {
            **_pictures("", points, families, data.facts.name),
            **_pictures("groups-", groups, families, data.facts.name),
            "card": curves_figure(_card(card), "TITAN X by the paper's formulas, stride 4, memory latency 400 cycles"),
            "card-strides": curves_figure(
                [*_figures_4_to_7(card), _figure_8(card)], "TITAN X by the paper's formulas, 1 cycle to issue"
            ),
        },
    )  # fmt: skip


def _pictures(prefix: str, points: Sequence[Point], families: Sequence[str], device: str) -> dict[str, Figure]:
    """Return the times and errors of launches, by the warps of a unit, in total or at a time."""
    if not points and prefix:
        return {}
    return {
        f"{prefix}time": curves_figure(_times(points, families, prefix), f"{device}: saxpy"),
        f"{prefix}error": curves_figure(_errors(points, families, prefix), f"{device}: relative error of saxpy"),
    }


def _x(one: Point, prefix: str) -> float:
    return one.at_once if prefix else one.warps


def _times(points: Sequence[Point], families: Sequence[str], prefix: str) -> list[Panel]:
    found = []
    for stride, own in by_stride(points).items():
        series = [Series("measured", [_x(one, prefix) for one in own], [one.measured for one in own])]
        for name in families:
            seen = [(_x(one, prefix), one.predicted[name]) for one in own if name in one.predicted]
            series += [Series(name, [x for x, _ in seen], [y for _, y in seen], "predicted")] if seen else []
        words = AT_ONCE if prefix else WARPS
        found.append(Panel(tuple(series), words, "time [s]", f"stride {stride}", ("log", "log")))
    return found


def _errors(points: Sequence[Point], families: Sequence[str], prefix: str) -> list[Panel]:
    warps, found = [_x(one, prefix) for one in points] or [1.0], []
    for name in families:
        series = [Series("the paper's 8 %", [min(warps), max(warps)], [claims.GOOD] * 2, "fit")]
        for stride, own in by_stride(points).items():
            seen = [(_x(one, prefix), max(one.error(name), 1e-3)) for one in own if name in one.predicted]
            series += [Series(f"stride {stride}", [x for x, _ in seen], [y for _, y in seen])] if seen else []
        found.append(Panel(tuple(series), AT_ONCE if prefix else WARPS, ERROR, name, ("log", "log")))
    return found


def _card(records: Sequence[dict[str, Any]]) -> list[Panel]:
    found = []
    for issue in dict.fromkeys(one["issue_cycles"] for one in records):
        own = [one for one in records if (one["issue_cycles"], one["stride"]) == (issue, 4)]
        series = (Series(words, [p["warps"] for p in own], [p[key] for p in own]) for key, words in SETTINGS.items())
        found.append(Panel(tuple(series), CARD_WARPS, "cycles", f"{issue:g} cycles to issue"))
    return found


def _of_stride(records: Sequence[dict[str, Any]], stride: int) -> list[dict[str, Any]]:
    return [one for one in records if (one["issue_cycles"], one["stride"]) == (ISSUES[0], stride)]


def _figures_4_to_7(records: Sequence[dict[str, Any]]) -> list[Panel]:
    """Return the times of both settings over the warps, a panel for each stride."""
    found = []
    for stride in STRIDES:
        own = _of_stride(records, stride)
        series = (
            Series(SETTINGS[key], [p["warps"] for p in own], [p[key] for p in own])
            for key in ("without_l2", "with_l2_printed")
        )
        found.append(Panel(tuple(series), CARD_WARPS, "cycles", f"stride {stride}"))
    return found


def _figure_8(records: Sequence[dict[str, Any]]) -> Panel:
    """Return by how much the times without the cache exceed those with it, over the warps, for each stride."""
    series = (
        Series(f"stride {stride}", [p["warps"] for p in own], [p["error_without"] for p in own])
        for stride in STRIDES for own in [_of_stride(records, stride)]
    )  # fmt: skip
    return Panel(tuple(series), CARD_WARPS, "(without - with L2) / with L2 [1]", "what leaving the cache out costs")


STUDY = Study(
    "saxpy", "Saxpy with strides, with and without an L2 cache",
    "X. Wang, A. Lou, GPU Performance Modeling and Analysis Using Software and Hardware Characteristics, 2017, "
    "sections 3.2 to 4.2, figures 4 to 8", "wang-lou", (SIZES, GROUPS), examine,
)  # fmt: skip
