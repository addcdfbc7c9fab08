"""Sorting: predicted time against E and K for each platform, the share of each operation, and a measured merge step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from scripts.lab.curves import Panel, Series, curves_figure, shares_figure
from scripts.lab.studies import Findings, Study, StudyData, sorting_curves as curves
from scripts.lab.studies.choices import choice_records
from scripts.lab.studies.karsin import PLATFORMS, SPT, gpu
from scripts.lab.studies.karsin_device import core_at_hand
from scripts.lab.studies.merge_step_claims import STAGED, device_claims, largest, round_sums
from scripts.lab.studies.sorting_claims import claim_at_hand, published_claims
from scripts.lab.studies.sorting_tables import ALGORITHMS, best_shares, records, throughput_lines

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AT_HAND = 2.0**24


def examine(data: StudyData) -> Findings:
    cases, (core, hidden) = data.cases(), core_at_hand(data)
    theirs = [row for name in PLATFORMS for row in records(name, gpu(name))]
    here = records("here", core, AT_HAND, hidden)
    tables = {
        "": [case.record() for case in cases], "predicted": [*theirs, *here], "choices": choice_records(data),
        "rounds": round_sums(list(cases)),
    }
    return Findings((*published_claims(), *device_claims(data), claim_at_hand(core, AT_HAND, hidden)), tables, {
        **{f"platforms-{letter}": curves_figure([
            _panel([row for row in theirs if row["algorithm"] == name], "device", f"{name}, N = {one.elements:.3g}")
            for name, one in ALGORITHMS.items() if one.letter == letter
        ]) for letter in "EK"},
        "here": curves_figure([
            _panel([row for row in here if row["parameter"] == letter], "algorithm", f"{data.facts.name}, N = 2^24")
            for letter in "EK"
        ]),
        **_chapter(),
        "shares": shares_figure(best_shares([*theirs, *here]), "share of the time [%]", "At the best E or K"),
        "merge-step": curves_figure([
            _merging(data, family) for family in dict.fromkeys((data.recommended, SPT)) if family in data.families
        ]),
    })  # fmt: skip


def _chapter() -> dict[str, Figure]:
    """Return figures 7.2, 7.3, 7.5 and 7.8, as far as the formulas give them, on ALGOPARC."""
    device, elements = gpu("ALGOPARC"), ("elements", ("log", "linear"))
    readings = [(reading, f"ALGOPARC, pairwise, {reading}") for reading in curves.READINGS]
    panels = {
        "fig7-2": [(curves.pairwise_shares(device, one), *elements, f"{title}, E = 31") for one, title in readings],
        "fig7-3": [(curves.pairwise_throughput(device, one), *elements, title) for one, title in readings],
        "fig7-5": [(curves.koike_shares(device), "K", ("linear", "linear"), "ALGOPARC, Koike and Sadakane, N = 2^29")],
        "fig7-8": [(curves.gpu_mms_shares(device), *elements, "ALGOPARC, GPU-MMS, K = 16")],
    }
    return {
        name: curves_figure([
            Panel(tuple(Series(label, *line, "predicted") for label, line in lines.items()), x,
                  "10^6 elements a second" if name == "fig7-3" else "share of the time [%]", title, scales)
            for lines, x, scales, title in own
        ]) for name, own in panels.items()
    }  # fmt: skip


def _panel(rows: Sequence[dict[str, Any]], label: str, title: str) -> Panel:
    series = (Series(name, *line, "predicted") for name, line in throughput_lines(rows, label).items())
    letter = rows[0]["parameter"]
    return Panel(tuple(series), letter, "10^6 elements a second", title, ("log" if letter == "K" else "linear", "log"))


def _merging(data: StudyData, family: str) -> Panel:
    cases, series = sorted(largest(list(data.cases(family))), key=lambda case: int(case.variant["each"])), []
    for form in (STAGED, "direct"):
        line = [(case.variant["each"], 1e3 * case.measured) for case in cases if case.variant["form"] == form]
        known = [(c.variant["each"], 1e3 * c.predicted) for c in cases if c.variant["form"] == form and c.predicted]
        series += [Series(form, [x for x, _ in one], [y for _, y in one], kind)
                   for kind, one in (("measured", line), ("predicted", known)) if one]
    return Panel(tuple(series), "E", "time of a round [ms]", f"{data.facts.name}\n{family}", ("log", "log"))


STUDY = Study(
    "sort", "Sorting",
    "B. Karsin, A Performance Model for GPU Architectures: Analysis and Design of Fundamental Algorithms, "
    "dissertation, University of Hawaii, 2018, chapter 7, figures 7.1 to 7.8", "karsin-2018", ("merge_step",), examine,
)  # fmt: skip
