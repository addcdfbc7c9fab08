"""Strided saxpy over warps, measured and predicted with and without an L2 cache: Wang and Lou (2017), figures 4-8."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from perfmodel.display import values_text
from perfmodel.quantities.case import Case, active_units, groups_per_launch
from scripts.lab.studies.study import StudyData

PLAIN, CACHED, ALL_WARPS = "mwp_cwp", "mwp_cwp_l2", "mwp_cwp_l2_all_warps"
#: The classes: many sizes in groups of 128 work-items, and one size in groups of many.
SIZES, GROUPS = "saxpy", "saxpy_groups"


@dataclass(frozen=True)
class Point:
    """One measured launch of saxpy."""

    stride: int  # distance of two lanes' elements of x
    groups: float  # work-groups of the launch
    # Sub-groups of the launch for each compute unit in use; `at_once` of them run at a time, as far as is known.
    warps: float
    at_once: float
    measured: float  # measured time [s]
    predicted: Mapping[str, float]  # by family the predicted time [s]; a family that withholds it is missing

    def error(self, family: str) -> float:
        """Return the relative error of a family's prediction [1]."""
        return abs(self.predicted[family] - self.measured) / self.measured

    def record(self) -> dict[str, Any]:
        """Return it as a row of a table."""
        row: dict[str, Any] = {
            "stride": self.stride, "work_groups": self.groups, "sub_groups_per_unit": self.warps,
            "at_once": self.at_once, "measured_s": self.measured,
        }  # fmt: skip
        for family, seconds in self.predicted.items():
            row |= {f"{family}_s": seconds, f"{family}_error": self.error(family)}
        return row


def families_of(data: StudyData) -> tuple[str, ...]:
    """Return the families that are compared: the paper's, as far as the device has weights of them, and the best."""
    return tuple(dict.fromkeys(one for one in (PLAIN, CACHED, ALL_WARPS, data.recommended) if one in data.families))


def saxpy_points(data: StudyData, kernel: str = SIZES) -> tuple[Point, ...]:
    """Return the measured launches of a kernel class, by stride, size and work-group."""
    times: dict[tuple[str, str], dict[str, float]] = {}
    for name in families_of(data):
        for one in data.cases(name):
            if one.predicted is not None:
                times.setdefault((one.form, one.sizes), {})[name] = one.predicted
    found = []
    for row in data.measured or ():
        if row.kernel != kernel:
            continue
        counts = data.measured.counts[row.counts_hash]  # type: ignore[union-attr]  # there are rows
        case = Case(counts, row.parameters, data.facts, CACHED)
        units, held, subgroups = active_units(case)
        groups = float(groups_per_launch(case))
        predicted = times.get((values_text(row.variant), values_text(row.parameters)), {})
        found.append(Point(
            int(row.variant["stride"]), groups, groups / float(units) * subgroups, float(held) * subgroups,
            row.seconds, predicted,
        ))  # fmt: skip
    return tuple(sorted(found, key=lambda one: (one.stride, one.groups, one.at_once)))


def by_stride(points: Iterable[Point]) -> dict[int, list[Point]]:
    """Return launches by their stride, in their order."""
    found: dict[int, list[Point]] = {}
    for one in points:
        found.setdefault(one.stride, []).append(one)
    return found
