"""Strided saxpy from few to many warps: time and error of the MWP-CWP models, with and without an L2 cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scripts.lab.curves import Panel, Series, curves_figure
from scripts.lab.studies import Findings, Study, StudyData, saxpy_claims as claims
from scripts.lab.studies.saxpy import CACHED, Point, by_stride, families_of, saxpy_points
from scripts.lab.studies.wang_lou import card_records

WARPS, ERROR = "sub-groups for each compute unit", "|predicted - measured| / measured [1]"
SETTINGS = {"without_l2": "without L2", "with_l2_printed": "as printed", "with_l2_section_2_2": "by section 2.2"}


def examine(data: StudyData) -> Findings:
    points, families, card = saxpy_points(data), families_of(data), card_records()
    launch_s = data.model(CACHED).weights.get("w_launch", 0.0) if CACHED in families else 0.0
    warps = (
        claims.coalesced_claim(points, families), claims.few_claim(points, launch_s),
        claims.many_claim(points, families), claims.within_claim(points, families),
    )  # fmt: skip
    return Findings(
        (
            *(map(claims.on_a_cpu, warps) if data.is_cpu else warps),
            claims.stride_claim(points, families), claims.card_claim(), claims.reading_claim(),
        ),
        {"": [one.record() for one in points], "card": card},
        {
            "time": curves_figure(_times(points, families), f"{data.facts.name}: saxpy"),
            "error": curves_figure(_errors(points, families), f"{data.facts.name}: relative error of saxpy"),
            "card": curves_figure(_card(card), "TITAN X by the paper's formulas, stride 4, memory latency 400 cycles"),
        },
    )  # fmt: skip


def _times(points: Sequence[Point], families: Sequence[str]) -> list[Panel]:
    found = []
    for stride, own in by_stride(points).items():
        series = [Series("measured", [one.warps for one in own], [one.measured for one in own])]
        for name in families:
            seen = [(one.warps, one.predicted[name]) for one in own if name in one.predicted]
            series += [Series(name, [x for x, _ in seen], [y for _, y in seen], "predicted")] if seen else []
        found.append(Panel(tuple(series), WARPS, "time [s]", f"stride {stride}", ("log", "log")))
    return found


def _errors(points: Sequence[Point], families: Sequence[str]) -> list[Panel]:
    warps, found = [one.warps for one in points] or [1.0], []
    for name in families:
        series = [Series("the paper's 8 %", [min(warps), max(warps)], [claims.GOOD] * 2, "fit")]
        for stride, own in by_stride(points).items():
            seen = [(one.warps, max(one.error(name), 1e-3)) for one in own if name in one.predicted]
            series += [Series(f"stride {stride}", [x for x, _ in seen], [y for _, y in seen])] if seen else []
        found.append(Panel(tuple(series), WARPS, ERROR, name, ("log", "log")))
    return found


def _card(records: Sequence[dict[str, Any]]) -> list[Panel]:
    found = []
    for issue in dict.fromkeys(one["issue_cycles"] for one in records):
        own = [one for one in records if (one["issue_cycles"], one["stride"]) == (issue, 4)]
        series = (Series(words, [p["warps"] for p in own], [p[key] for p in own]) for key, words in SETTINGS.items())
        found.append(Panel(tuple(series), "warps of a multiprocessor", "cycles", f"{issue:g} cycles to issue"))
    return found


STUDY = Study(
    "saxpy", "Saxpy with strides, with and without an L2 cache",
    "X. Wang, A. Lou, GPU Performance Modeling and Analysis Using Software and Hardware Characteristics, 2017, "
    "sections 3.2 to 4.2, figures 4 to 8", "wang-lou", ("saxpy",), examine,
)  # fmt: skip
