"""The linear model as its paper fits it: nine classes of kernels, its protocol, and its four test kernels."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import numpy as np

from perfmodel.store import read
from scripts.lab.curves import Panel, Series, curves_figure
from scripts.lab.studies import Findings, Study, StudyData
from scripts.lab.studies.nine_classes import Case, Fit, fitted, stride_records
from scripts.lab.studies.nine_classes_claims import claims


def examine(data: StudyData) -> Findings:
    measured = read(data.folder).with_facts(data.facts)
    tests = data.tests
    least, mean = fitted(measured, tests), fitted(measured, tests, fmean)
    weights = {} if least is None else least.weights
    return Findings(
        claims(tuple(measured), least, data.facts),
        {
            "": [] if least is None else [{**vars(one), "error": one.error} for one in least.cases],
            "errors": [_record(name, fit) for name, fit in (("least", least), ("mean", mean)) if fit],
            "weights": [{"feature": name, "seconds": value} for name, value in weights.items()],
            "strides": stride_records(measured, tests),
        },
        {} if least is None else {"tests": curves_figure([_panel(least.cases)], data.facts.name)},
    )  # fmt: skip


def _record(time: str, fit: Fit) -> dict[str, object]:
    return {"time": time, "rows": sum(fit.rows.values()), "residual": fit.spread,
            **{name or "mean": error for name, error in fit.errors.items()}}  # fmt: skip


def _panel(cases: Sequence[Case]) -> Panel:
    names = dict.fromkeys(one.kernel for one in cases)
    kernels = {name: [one for one in cases if one.kernel == name] for name in names}
    points = [
        Series(name, [one.measured for one in own], [max(one.predicted, 1e-9) for one in own], "points")
        for name, own in kernels.items()
    ]
    ends = np.geomspace(min(one.measured for one in cases), max(one.measured for one in cases), 9).tolist()
    return Panel((*points, Series("equal", ends, ends, "fit")), "measured [s]", "predicted [s]",
                 "nine classes, the paper's protocol", ("log", "log"))  # fmt: skip


STUDY = Study(
    "linear", "The linear model: nine classes of kernels and four test kernels",
    "J. D. Stevens, A. Klöckner, A Unified, Hardware-Fitted, Cross-GPU Performance Model, 2016, sections 4 to 6, "
    "Table 1", "stevens-kloeckner-2016", (), examine,
)  # fmt: skip
