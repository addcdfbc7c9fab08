"""Matrix product as a library does it: time against k and against the tile, and the share of each operation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scripts.lab.curves import Panel, Series, curves_figure, shares_figure
from scripts.lab.studies import Claim, Findings, Study, StudyData, gemm as forms, gemm_points as measured
from scripts.lab.studies.choices import choice_records
from scripts.lab.studies.gemm_claims import gemm_claims
from scripts.lab.studies.karsin import PLATFORMS, gpu


def examine(data: StudyData) -> Findings:
    points, families = measured.gemm_points(data), measured.gemm_families(data)
    if not points:
        unknown = Claim("Chapter 5", "the analysis determines the fastest variant", "no variant ran here", None)
        return Findings((unknown,), {"platforms": forms.platform_records()})
    line, best = measured.along_tile(points), measured.fastest(measured.largest(points))
    along_k = {one.variant: measured.along_k(points, one) for one in (measured.library_point(points), best)}
    drawn = [_here(own, "k", own[0].name, families, data.facts.name) for own in along_k.values()]
    platforms = _platforms("k", [forms.SIZE * step / 10 for step in range(1, 11)], "n = m = 10^4")
    rows, shape = [one.record(families) for one in points], f"lambda={line[0].depth}, b={line[0].group}"
    return Findings(
        gemm_claims(points, families, data.is_cpu),
        {"": rows, "choices": choice_records(data), "platforms": forms.platform_records()},
        {
            "k": curves_figure([*drawn, platforms]),
            "tile": curves_figure([
                _here(line, "N_TB", shape, families, data.facts.name),
                _platforms("tile", forms.TILES, "n = m = k = 10^4"),
            ]),
            "shares": shares_figure(measured.share_bars(line), "share of the predicted time [%]", "By Karsin's model"),
        },
    )  # fmt: skip


def _here(line: Sequence[measured.Point], x: str, title: str, families: Sequence[str], device: str) -> Panel:
    places = [one.tile if x == "N_TB" else one.sizes["k"] for one in line]
    series = [Series("measured", places, [1e3 * one.measured for one in line])]
    series += [Series(name, places, [1e3 * one.seconds(name) for one in line], "predicted") for name in families]
    at = ", ".join(f"{name}={size}" for name, size in line[-1].sizes.items() if name != x)
    scales = "linear", "log" if x == "N_TB" else "linear"
    return Panel(tuple(series), x, "time [ms]", f"{device}\n{title}, {at}", scales)


def _platforms(name: str, places: Sequence[Any], title: str) -> Panel:
    times = {one: [sum(forms.matmul(gpu(one), **{name: x}).values()) for x in places] for one in PLATFORMS}
    series = [Series(one, places, seconds, "predicted") for one, seconds in times.items()]
    if name == "tile":
        many = [x for x in places if forms.registers(x) >= forms.MOST_REGISTERS]
        spilled = [sum(forms.spilled_matmul(gpu("ALGOPARC"), x).values()) for x in many]
        series.append(Series("ALGOPARC, registers spilled", many, spilled, "fit"))
    return Panel(tuple(series), {"tile": "N_TB"}.get(name, name), "time [s]", f"closed form, {title}")


STUDY = Study(
    "gemm", "Matrix product as a library does it",
    "B. Karsin, A Performance Model for GPU Architectures: Analysis and Design of Fundamental Algorithms, "
    "dissertation, University of Hawaii, 2018, chapter 5, figures 5.2 to 5.4", "karsin-2018", ("gemm",), examine,
)  # fmt: skip
