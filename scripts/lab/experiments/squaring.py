"""All-pairs shortest paths as a whole on GPUs that are not at hand: figures 2 and 3 by the paper's model."""

from __future__ import annotations

from scripts.lab.curves import Panel, Series, curves_figure
from scripts.lab.studies import Claim, Findings, Study, StudyData
from scripts.lab.studies.apsp import automatic, bent_line, by_sub_block
from scripts.lab.studies.squaring import claims, predicted

ON_CPU = "a CPU's work-items hide no latency, so that T and B_a of the paper's argument mean nothing here"


def examine(data: StudyData) -> Findings:
    if data.is_cpu:
        paper = "the whole computation for n = 8192 takes 53.9 s where computing bounds it"
        return Findings((Claim("Figs. 2 to 5", paper, ON_CPU, None),), {})
    found = predicted(data)
    plain = automatic(found)
    line = bent_line([one.ratio for one in plain], [one.seconds for one in plain])
    ends = sorted({0.0, *(one.ratio for one in plain)})
    curves = by_sub_block(found)
    return Findings(
        claims(found),
        {"": [one.record(line) for one in found]},
        {
            "fig2": curves_figure([Panel((
                *(Series(f"S_D = {size}", [one.ratio for one in curve], [one.seconds for one in curve], "points")
                  for size, curve in curves.items()),
                Series("the paper's line", ends, [53.9 + 0.957 * one for one in ends], "fit"),
            ), "sqrt(B_r)/T", "time of lg n squarings [s]", "predicted by threaded_manycore")], data.facts.name),
            "fig3": curves_figure([Panel(tuple(
                Series(f"S_D = {size}", [one.threads for one in curve], [one.seconds for one in curve], "measured")
                for size, curve in curves.items()
            ), "T, work-items that a lane holds at once", "time of lg n squarings [s]",
                "predicted by threaded_manycore", ("log", "log"))], data.facts.name),
        },
    )  # fmt: skip


STUDY = Study(
    "squaring", "All-pairs shortest paths as a whole, by the model, on GPUs that are not at hand",
    "L. Ma, R. D. Chamberlain, K. Agrawal, Performance Modeling for Highly-threaded Many-core GPUs, ASAP 2014, "
    "sections III to V", "ma-2014", (), examine,
)  # fmt: skip
