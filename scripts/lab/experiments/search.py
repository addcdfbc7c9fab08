"""Batched predecessor search of Karsin, chapter 6: layouts in global memory, and bank conflicts in local memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from scripts.lab.curves import Panel, Series, curves_figure
from scripts.lab.studies import Findings, Study, StudyData, search_points as own
from scripts.lab.studies.choices import choice_records
from scripts.lab.studies.karsin import gpu
from scripts.lab.studies.search import FORMS
from scripts.lab.studies.search_claims import counted_claims, measured_claims
from scripts.lab.studies.study import Records

GPU = "GIBSON"
LOG = ("log", "log")


def examine(data: StudyData) -> Findings:
    points = own.search_points(data)
    families = list(points[0].predicted) if points else []
    platforms, blocks, conflicts = own.platform_records(), own.block_records(), own.conflict_records(gpu(GPU))
    layouts = data if data.measured is None else replace(data, measured=data.measured.of_kernels(own.GLOBAL))
    return Findings(
        (*counted_claims(platforms, blocks, conflicts), *measured_claims(points, families, data.is_cpu)),
        {
            "": [one.record() for one in points], "choices": choice_records(layouts), "platforms": platforms,
            "blocks": blocks, "conflicts": conflicts,
        },
        {
            "global": curves_figure(_beside(points, own.GLOBAL, families), f"Global memory, {data.facts.name}"),
            "local": curves_figure(_beside(points, own.LOCAL, families), f"Local memory, {data.facts.name}"),
            "conflicts": curves_figure([
                Panel(tuple(_passes(conflicts)), "words of the list", "serialised accesses of a warp",
                      "counted; expected (dashed)", LOG),
                Panel(tuple(_line(conflicts, form, "seconds") for form in (*FORMS, "printed")), "words of the list",
                      "time [s]", f"{GPU}, 5 10^8 queries, by the formulas", LOG),
            ]),
        },
    )  # fmt: skip


def _beside(points: Sequence[own.Point], kernel: str, families: Sequence[str]) -> list[Panel]:
    lines = own.curves(points, kernel)

    def series(family: str, kind: str) -> tuple[Series, ...]:
        return tuple(
            Series(form, [one.keys for one in line], [one.nanoseconds(family) for one in line], kind)
            for form, line in lines.items()
        )

    titles = {name: (*series("", "points"), *series(name, "predicted")) for name in families}
    panels = {"measured": series("", "measured"), **{f"predicted by {name}": both for name, both in titles.items()}}
    return [Panel(one, "keys", "time of a query [ns]", title, LOG) for title, one in panels.items()]


def _passes(conflicts: Records) -> list[Series]:
    expected = [replace(_line(conflicts, form, "expected"), kind="predicted") for form in FORMS]
    return [*(_line(conflicts, form, "counted") for form in (*FORMS, "printed")), *expected]


def _line(conflicts: Records, form: str, column: str) -> Series:
    rows = [one for one in conflicts if one["form"] == form and one[column] is not None]
    return Series(form, [one["list"] for one in rows], [one[column] for one in rows])


STUDY = Study(
    "search", "Batched predecessor search: layouts in global memory, bank conflicts in local memory",
    "B. Karsin, A Performance Model for GPU Architectures: Analysis and Design of Fundamental Algorithms, "
    "dissertation, University of Hawaii, 2018, chapter 6, figures 6.1 to 6.3 and 6.7", "karsin-2018",
    (own.GLOBAL, own.LOCAL), examine,
)  # fmt: skip
