"""Every test kernel below the roofs of its device, and both sides of its balance inequality."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from perfmodel import plot
from perfmodel.analyses.roofline import roofline_points
from scripts.lab.curves import Panel, Series, curves_figure
from scripts.lab.studies import Findings, Study, StudyData
from scripts.lab.studies.roofline import (
    BalancedKernel,
    balance_claim,
    balanced_kernels,
    kernel_side,
    machine_side,
    roofs_claim,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def examine(data: StudyData) -> Findings:
    points, kernels = roofline_points(data.tests), balanced_kernels(data)
    shown = "kernel", "form", "sizes", "operations", "bytes", "intensity", "seconds", "rate", "attainable", "share"
    title = f"{data.facts.name}: test kernels below their roofs"
    return Findings(
        (roofs_claim(points), balance_claim(kernels)),
        {
            "roofs": [{name: getattr(one, name) for name in (*shown, "bound")} for one in points],
            "balance": [
                {
                    "kernel": one.kernel, "form": one.form, "sizes": one.sizes, "machine_nodes_per_byte":
                    machine_side(one.balance), "kernel_nodes_per_byte": kernel_side(one.balance), "rate": one.rate,
                    "verdict": one.balance.verdict,
                }
                for one in kernels
            ],
        },
        {
            "roofs": cast("Figure", plot.roofline(points, facts=data.facts, title=title).figure),
            "balance": curves_figure([_panel([one for one in kernels if one.drawable])], data.facts.name),
        },
    )  # fmt: skip


def _panel(kernels: list[BalancedKernel]) -> Panel:
    series = []
    for name in dict.fromkeys(one.kernel for one in kernels):
        own = [one for one in kernels if one.kernel == name]
        sides = [machine_side(one.balance) for one in own], [kernel_side(one.balance) for one in own]
        series.append(Series(name, *sides, "points"))
    every = [side for one in kernels for side in (machine_side(one.balance), kernel_side(one.balance))]
    ends = [min(every, default=1.0), max(every, default=1.0)]
    return Panel(
        (*series, Series("both alike", ends, ends, "fit")), "machine: balance x (1 + Little's law) [nodes/B]",
        "kernel: intensity x (1 + Amdahl's law) [nodes/B]", "above the line Eq. 2.4 holds", ("log", "log"),
    )  # fmt: skip


STUDY = Study(
    "roofline", "Roofline and balance of every test kernel",
    "H. Kim, R. Vuduc, S. Baghsorkhi, J. Choi, W.-m. Hwu, Performance Analysis and Tuning for General "
    "Purpose Graphics Processing Units, 2012, "
    "sections 2.5 and 4.2.4, figures 2.7 and 4.8", "kim-2012", (), examine,
)  # fmt: skip
