r"""The linear model as Stevens and Klöckner (2016) fit it: their nine classes, their protocol, their four test kernels.

Section 4.2: of 30 runs the first four are left out, and the least of the others is a kernel's time; the mean "also
produced consistent results". Section 4.3: the weights minimise :math:`\sum_j (1 - \sum_i \alpha_i p_{ij}/T_j)^2`, every
row alike, and may be negative. Section 5: a kernel's error is the geometric mean over its sizes of
:math:`|T_{predicted} - T| / T`, for work-groups of 256 work-items.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from perfmodel.compare.protocols import evaluate
from perfmodel.display import values_text
from perfmodel.features import Classes
from perfmodel.fitting.design import Design, build_design, fit_to_design
from perfmodel.fitting.weights_file import FitOptions, geometric_mean_error
from perfmodel.models import find_family

if TYPE_CHECKING:
    from perfmodel.models import Family
    from perfmodel.store import Measurement, Measurements

FAMILY = "stevens_kloeckner_2016"
NINE = (
    "matmul_tiled", "matmul_naive", "scale_add", "transpose", "stride1", "filled_stride2", "filled_stride3",
    "arithmetic", "empty",
)  # fmt: skip
"""The paper's classes of measurement kernels, in its order (section 4.1)."""
TESTS = ("stencil", "matmul_skinny", "nbody", "convolution")
"""Its test kernels (section 5)."""
RUNS, DROPPED = 30, 4
GROUP = 256
"""Work-items of the groups that section 5 reports."""
PRINTED: Mapping[str, Mapping[str, float]] = MappingProxyType({
    "Nvidia GTX Titan X": {"stencil": 0.30, "matmul_skinny": 0.08, "nbody": 0.32, "convolution": 0.10, "": 0.16},
    "Nvidia Tesla C2070": {"stencil": 0.10, "matmul_skinny": 0.10, "nbody": 0.27, "convolution": 0.13, "": 0.14},
    "Nvidia Tesla K40c": {"stencil": 0.01, "matmul_skinny": 0.13, "nbody": 0.54, "convolution": 0.03, "": 0.06},
    "AMD Radeon R9 Fury": {"stencil": 0.63, "matmul_skinny": 0.28, "nbody": 0.76, "convolution": 0.23, "": 0.42},
})  # fmt: skip
"""The errors that the paper prints in Table 1, by card and kernel, with each card's mean as ``""`` [1]."""
Reduce = Callable[[Sequence[float]], float]


def kept(row: Measurement) -> tuple[float, ...]:
    """Return a row's times by the paper's protocol: of its 30 runs those after the first four [s].

    Runs of several visits are as many, and what each visit leaves out is left out; so it is where a row has no more
    than four runs.
    """
    if len(row.every_visit) == 1 and len(row.samples_s) > DROPPED:
        return row.samples_s[DROPPED:RUNS]
    return row.kept_s[: RUNS - DROPPED]


@dataclass(frozen=True)
class Case:
    """A measured test kernel next to its prediction [s]."""

    kernel: str
    sizes: str
    measured: float
    predicted: float

    @property
    def error(self) -> float:
        """Relative error [1]."""
        return abs(self.predicted - self.measured) / self.measured


@dataclass(frozen=True)
class Fit:
    """The fit to the nine classes, and what it says of the test kernels."""

    rows: Mapping[str, int]  # measured rows of each class
    weights: Mapping[str, float]  # the weights [s per unit] by feature
    spread: float  # root of the mean squared relative residual of the fit [1]
    cases: tuple[Case, ...]  # test kernels, measured and predicted
    # Test kernels with a feature that no row of the fit has, with these features.
    withheld: Mapping[str, tuple[str, ...]]

    @property
    def errors(self) -> dict[str, float]:
        """Geometric mean of the relative error of each test kernel [1]."""
        return errors_of((case.kernel, case.error) for case in self.cases)


def errors_of(cases: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Return the geometric mean of the errors of each kernel, in the paper's order, and that of these as ``""``."""
    found: dict[str, list[float]] = defaultdict(list)
    for kernel, error in cases:
        found[kernel].append(error)
    means = {kernel: geometric_mean_error(found[kernel]) for kernel in TESTS if kernel in found}
    return {**means, "": geometric_mean_error(list(means.values()))} if means else {}


def is_of_the_paper(row: Measurement) -> bool:
    """Whether a row is of one of the nine classes.

    Of the two forms of arithmetic kernels the one with several sums is the nearer one: the paper's expressions of the
    index do not wait for each other.
    """
    return row.kernel in NINE and row.variant.get("form") != "latency"


def is_reported(row: Measurement) -> bool:
    """Whether a row of a test kernel is one of section 5."""
    return row.kernel in TESTS and math.prod(row.variant.get("work_group", ())) == GROUP


def fitted(measured: Measurements, tests: Measurements, reduce: Reduce = min) -> Fit | None:
    """Return the paper's fit to a device's rows; None if not every class was measured.

    `reduce` makes one time of those that :func:`kept` gives.
    """
    linear = find_family(FAMILY)
    rows, reported = replace(measured, rows=tuple(filter(is_of_the_paper, measured))), tuple(filter(is_reported, tests))
    classes = {name: sum(row.kernel == name for row in rows) for name in NINE}
    if not all(classes.values()):
        return None
    own, asked = design(rows, linear, reduce), design(replace(tests, rows=reported), linear, reduce)
    fit = fit_to_design(own, linear, FitOptions())
    weights = dict(zip(fit.names, map(float, fit.coefficients), strict=True))
    residuals = 1 - own.matrix @ fit.coefficients / own.times
    cases, withheld = [], {}
    for row, values, seconds in zip(reported, asked.matrix, asked.times, strict=True):
        terms = {name: value for name, value in zip(asked.names, values, strict=True) if value}
        if lacking := tuple(sorted(terms.keys() - weights.keys())):
            withheld[row.kernel] = lacking
            continue
        predicted = sum(weights[name] * value for name, value in terms.items())
        cases.append(Case(row.kernel, values_text(row.parameters), float(seconds), float(predicted)))
    return Fit(classes, weights, float(np.sqrt(np.mean(residuals**2))), tuple(cases), withheld)


def design(rows: Measurements, family: Family, reduce: Reduce) -> Design:
    """Return rows as the paper's fit sees them: each one's time by its protocol, and all of the same weight."""
    table = build_design(rows, family, FitOptions(clock="host"))
    times = np.array([reduce(kept(row)) for row in rows])
    return replace(table, times=times, fitted_times=times, row_weights=np.ones(len(times)), launch_s=None)


def errors_row(name: str, rows: str, errors: Mapping[str, float]) -> tuple[str, ...]:
    """Return a row of the page's table: a card or device, the rows of the fit, and the errors."""
    cells = (f"{errors[kernel]:.0%}" if kernel in errors else "-" for kernel in (*TESTS, ""))
    return name, rows, *(cell.replace("%", " %") for cell in cells)


def mean_over_least(rows: Iterable[Measurement]) -> list[tuple[float, float]]:
    """Return for each row the least time over the time of a launch, and the mean over the least time, minus 1 [1]."""
    timed = [(row, kept(row)) for row in rows if row.launch_overhead_s]
    return [(min(times) / (row.launch_overhead_s or 1.0), fmean(times) / min(times) - 1) for row, times in timed]


def over_groups(rows: Iterable[Measurement]) -> list[float]:
    """Return the largest over the least time over work-groups, less one, of each kernel at each size with several."""
    times: dict[tuple[Any, ...], dict[str, float]] = defaultdict(dict)
    for row in rows:
        code = {name: value for name, value in row.variant.items() if name != "work_group"}
        times[row.kernel, values_text(code), values_text(row.parameters)][values_text(row.variant)] = min(kept(row))
    return [max(own.values()) / min(own.values()) - 1 for own in times.values() if len(own) > 1]


# {{{ section 6.2: local memory by stride

BINNED = Classes(utilization="array", local_strides=True)
PROTOCOLS = ("A", "sizes")


def local_strides() -> dict[str, Family]:
    """Return the linear model without and with classes of local accesses, by the name of these classes."""
    plain = find_family(FAMILY)
    stores = (*plain.features, "local_store_*")
    return {
        "loads": plain,
        "loads by stride": replace(plain, classes=BINNED),
        "loads and stores": replace(plain, features=stores),
        "loads and stores by stride": replace(plain, features=stores, classes=BINNED),
    }


def stride_records(measured: Measurements, tests: Measurements) -> list[dict[str, Any]]:
    """Return a record for each form: its errors [1] on test kernels (A) and at sizes that the fit has not seen."""
    found = []
    for name, family in local_strides().items():
        evaluations = evaluate(measured, tests, family, level=None, protocols=PROTOCOLS)
        judged = {one.protocol: one.figures for one in evaluations}
        errors = {f"error_{protocol}": figures.error for protocol, figures in judged.items()}
        found.append({"charged": name, **errors, "withheld_sizes": judged["sizes"].withheld})
    return found


# }}}
