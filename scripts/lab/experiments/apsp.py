"""All-pairs shortest paths of Ma, Chamberlain and Agrawal: figures 1 to 5, with the fit of Eq. 15."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from scripts.lab.curves import Panel, Series, curves_figure
from scripts.lab.studies import Findings, Study, StudyData, apsp as own
from scripts.lab.studies.apsp_claims import claims
from scripts.lab.studies.apsp_formula_claims import SHOWN, UNITS
from scripts.lab.studies.choices import choice_records

ROOT, THREADS, TIME = "sqrt(B_r)/T", "T, work-items that a lane holds at once", "time [s]"
At = Callable[[own.Configuration], float]
Curves = Mapping[str, Sequence[own.Configuration]]


def examine(data: StudyData) -> Findings:
    found = own.configurations(data, (data.recommended, own.FAMILY))
    plain = own.automatic(found)
    x, times = [one.ratio for one in plain], [one.seconds for one in plain]
    line, bent = own.straight_line(x, times), own.bent_line(x, times)
    ends = sorted({0.0, bent.bend, *x}) if x else []
    sizes = {f"S_D = {size}": curve for size, curve in own.by_sub_block(found).items()}
    threads = {f"T = {one:g}": curve for one, curve in own.by_threads(found).items()}
    memory = {f"{extra // 1024} KiB more, B_a = {curve[0].active:g}": curve
              for extra, curve in own.by_memory(found).items()}  # fmt: skip
    places = data.facts.value("compute_units") * max((one.active for one in found), default=1.0)
    fits = (
        Series(f"Eq. 15, r² = {line.r_squared:.4f}", ends, [line.intercept + line.slope * one for one in ends], "fit"),
        Series(f"level and line, r² = {bent.r_squared:.4f}", ends, [bent.at(one) for one in ends], "predicted"),
    )

    def two_panels(curves: Curves, at: At, axis: str) -> tuple[Panel, ...]:
        by = {"level and line": lambda one: bent.at(one.ratio), own.FAMILY: lambda one: one.at(own.FAMILY)}
        return tuple(_panel(curves, at, axis, title, time) for title, time in by.items())

    return Findings(
        claims(found, data.cases(own.FAMILY) if own.FAMILY in data.families else (), own.FAMILY, data.is_cpu),
        {"": [one.record(bent) for one in found], "choices": choice_records(data)},
        {
            "fig1": curves_figure([
                Panel((Series("f_sched", *own.zigzag(held, SHOWN), "fit"),), "requested groups B_r", "f_sched", title)
                for held, title in ((UNITS, "GTX 480, B_a = 1"), (places, f"{data.facts.name}, {places:g} places"))]),
            "fig2": curves_figure([Panel((*_points(sizes, lambda one: one.ratio), *fits), ROOT, TIME)]),
            "fig3": curves_figure(two_panels(sizes, lambda one: one.threads, THREADS)),
            "fig4": curves_figure(two_panels(threads, lambda one: one.requested, "requested groups B_r")),
            "fig5": curves_figure(two_panels(memory, lambda one: one.threads, THREADS)),
        },
    )  # fmt: skip


def _points(curves: Curves, at: At, kind: str = "points") -> list[Series]:
    return [Series(name, list(map(at, curve)), [one.seconds for one in curve], kind) for name, curve in curves.items()]


def _panel(curves: Curves, at: At, axis: str, by: str, time: At) -> Panel:
    lines = [Series(name, list(map(at, curve)), list(map(time, curve)), "predicted") for name, curve in curves.items()]
    return Panel((*_points(curves, at, "measured"), *lines), axis, TIME, f"predicted by {by}", ("log", "linear"))


STUDY = Study(
    "apsp", "All-pairs shortest paths: sub-blocks, work-items and local memory",
    "L. Ma, R. D. Chamberlain, K. Agrawal, Performance Modeling for Highly-threaded Many-core GPUs, ASAP 2014, "
    "sections II to V, figures 1 to 5", "ma-2014", ("apsp",), examine,
)  # fmt: skip
