"""The measured matrix products of a study, each next to the times that families predict of it and their terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from scripts.lab.studies.gemm import DEPTH, GROUP, OPERATIONS, TILE, operation_shares
from scripts.lab.studies.karsin import PLATFORMS, SPT, gpu
from scripts.lab.studies.study import predictions

if TYPE_CHECKING:
    from perfmodel.counts import KernelCounts
    from perfmodel.predicting.prediction import Prediction
    from scripts.lab.studies.study import StudyData

#: The operations of its terms.
TERMS = {"memory": "g", "local": "s", "register": "r", "barrier": "y"}


@dataclass(frozen=True, eq=False)
class Point:
    """One configuration that ran."""

    # tile, depth: N_TB and lambda.
    tile: int
    depth: int
    shape: tuple[int, int]  # the work-group's width and height; b is their product
    sizes: Mapping[str, int]  # n, m and k
    measured: float  # measured time [s]
    predicted: Mapping[str, Prediction]  # predictions by family; a family that cannot predict it is left out
    counts: KernelCounts  # the kernel's counts
    # How many neighbouring work-items load neighbouring elements, where they are grouped anew for that; else 0.
    wide: int = 0

    @property
    def group(self) -> int:
        """Work-items of a group, b."""
        return self.shape[0] * self.shape[1]

    @property
    def variant(self) -> tuple[int, int, tuple[int, int], int]:
        """What makes its code."""
        return self.tile, self.depth, self.shape, self.wide

    @property
    def name(self) -> str:
        """The variant in words."""
        loads = f", loads of {self.wide}" if self.wide else ""
        return f"N_TB={self.tile}, lambda={self.depth}, b={'x'.join(map(str, self.shape))}{loads}"

    def seconds(self, family: str) -> float:
        """Return the predicted time [s]; NaN without one."""
        return self.predicted[family].seconds if family in self.predicted else float("nan")

    def ratio(self, family: str) -> float:
        """Return the predicted over the measured time [1]; NaN if nothing is predicted."""
        return self.seconds(family) / self.measured

    def shares(self) -> dict[str, float]:
        """Return the share of each operation in the time that the dissertation's model predicts, by name [1].

        What its terms leave is the launch. Empty if it predicts nothing.
        """
        if SPT not in self.predicted:
            return {}
        one = self.predicted[SPT]
        parts = {OPERATIONS[key]: one.terms.get(term, 0.0) / one.seconds for term, key in TERMS.items()}
        return {**parts, OPERATIONS["sync"]: max(1 - sum(parts.values()), 0.0)}

    def record(self, families: Sequence[str]) -> dict[str, Any]:
        """Return it as a row of a table: times in seconds, each term as ``family.term``."""
        row: dict[str, Any] = {"tile": self.tile, "depth": self.depth, "width": self.shape[0], "height": self.shape[1]}
        row |= {"wide": self.wide, **self.sizes, "measured_s": self.measured}
        for family in families:
            row[f"{family}_s"] = self.seconds(family) if family in self.predicted else None
        for family in families:
            if family in self.predicted:
                row |= {f"{family}.{name}": value for name, value in self.predicted[family].terms.items()}
        return row


def gemm_families(data: StudyData) -> tuple[str, ...]:
    """Return the families to show: the recommended one, and the dissertation's where the device has its weights."""
    return tuple(dict.fromkeys([data.recommended, *({SPT} & {*data.families})]))


def gemm_points(data: StudyData) -> tuple[Point, ...]:
    """Return all configurations that ran, in the order of their variants and sizes."""
    found = []
    every = () if data.measured is None else [(row, data.measured.counts[row.counts_hash]) for row in data.measured]
    models = {family: data.model(family) for family in gemm_families(data)} if every else {}
    for row, counts in every:
        predicted = predictions(counts, row.parameters, models)
        tile, depth, (width, height) = (row.variant[name] for name in ("tile", "depth", "group"))
        found.append(Point(tile, depth, (width, height), row.parameters, row.seconds, predicted, counts,
                           row.variant.get("wide", 0)))  # fmt: skip
    return tuple(sorted(found, key=lambda one: (one.depth, one.shape, one.tile, *one.sizes.values())))


def largest(points: Sequence[Point]) -> tuple[Point, ...]:
    """Return the points of the largest sizes."""
    most = max((tuple(one.sizes.values()) for one in points), default=())
    return tuple(one for one in points if tuple(one.sizes.values()) == most)


def library_point(points: Sequence[Point]) -> Point:
    """Return the largest product in the variant that is nearest to MAGMA's: N_TB = 96, lambda = 16, b = 256."""

    def distance(one: Point) -> tuple[int, int, int, int]:
        return abs(one.group - GROUP), abs(one.depth - DEPTH), abs(one.tile - TILE), one.wide

    return min(largest(points), key=distance)


def along_k(points: Sequence[Point], like: Point) -> tuple[Point, ...]:
    """Return the points of a point's variant, n and m, in the order of k."""
    own = [one for one in points if one.variant == like.variant and _width(one) == _width(like)]
    return tuple(sorted(own, key=lambda one: one.sizes["k"]))


def along_tile(points: Sequence[Point]) -> tuple[Point, ...]:
    """Return the largest products of one lambda and b in the order of N_TB: of those with the most values of N_TB."""
    lines: dict[tuple[int, tuple[int, int]], list[Point]] = {}
    for one in (one for one in largest(points) if not one.wide):
        lines.setdefault((one.depth, one.shape), []).append(one)
    longest = max(lines.values(), key=lambda line: len(line))
    return tuple(sorted(longest, key=lambda one: one.tile))


def share_bars(line: Sequence[Point]) -> dict[str, dict[str, float]]:
    """Return the share of each operation [%]: of the dissertation's platforms by the closed form, and of each point."""
    bars = {name: operation_shares(gpu(name)) for name in PLATFORMS}
    bars |= {f"N_TB={one.tile}": one.shares() for one in line if one.shares()}
    return {name: {key: 100 * share for key, share in own.items()} for name, own in bars.items()}


def exponent(x: Sequence[float], y: Sequence[float]) -> float:
    """Return e of the regression y = c x^e by logarithms; NaN of fewer than two points.

    Examples
    --------
    >>> round(exponent([1, 2, 4], [3, 12, 48]), 6)
    2.0
    """
    return float(np.polyfit(np.log(x), np.log(y), 1)[0]) if len(x) > 1 else float("nan")


def fastest(points: Sequence[Point], family: str = "") -> Point:
    """Return the point that a family predicts fastest, by default the one that is; NaN comes last."""
    return min(points, key=lambda one: np.nan_to_num(one.seconds(family) if family else one.measured, nan=np.inf))


def _width(one: Point) -> tuple[int, int]:
    return one.sizes["n"], one.sizes["m"]
