r"""Measured kernels below the roofs of their device: Kim et al. (2012), figure 4.8 and Eq. 4.31.

The roof of a kernel is the largest of three times: to compute, to move global data, and to move local data. Each time
is at the device's measured peak. Caches of size C keep at most C bytes from one run to the next:

.. math:: T_{memory} = \max\big((Q - C)/B,\; Q/B_{cache}\big)

with the least number of bytes Q (:func:`~perfmodel.quantities.traffic.least_bytes`) and the bandwidths B of memory and
:math:`B_{cache}` of the caches. If :math:`B_{cache}` is unknown, no measured kernel was faster than B, and the time is
Q/B. In local memory, only data that work-items exchange must move
(:func:`~perfmodel.quantities.traffic.least_local_bytes`).

A kernel has a share above 1 if the clock was higher than when the roof was measured or published. A predicted time that
is too short also gives a share above 1.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from perfmodel.compare.comparison import volume
from perfmodel.counts import KernelCounts
from perfmodel.display import NONE, Column, finite, percent, values_text
from perfmodel.errors import FactsError
from perfmodel.facts import ROOFS_FILE, DeviceFacts, read_facts
from perfmodel.predicting.model import FittedModel
from perfmodel.predicting.predictions import together
from perfmodel.predicting.ranking import RankedVariant, Ranking
from perfmodel.quantities.case import Case
from perfmodel.quantities.instructions import float_operations
from perfmodel.quantities.traffic import cached_bytes, global_bytes, least_bytes, least_local_bytes
from perfmodel.store import Measurement, Measurements

PEAKS = ("peak_flops_float32", "peak_flops_float64")
BANDWIDTHS = ("memory_bandwidth_bytes_per_s", "cache_bandwidth_bytes_per_s")
BOUNDS = ("compute", "memory", "local")
LOCAL = "local_bandwidth_bytes_per_s"
L2 = "l2_bandwidth_bytes_per_s"  #: Replaces an unmeasured bandwidth of the caches
WITHOUT_FMA, WITHOUT_VECTORS = "without_multiply_adds", "without_vectors"
RATES = (
    Column("GFLOP/s", "operations_per_s", lambda rate: f"{rate / 1e9:.3g}" if rate else NONE),
    Column("GB/s", "bytes_per_s", lambda rate: f"{rate / 1e9:.3g}"), Column("of the roof", "share_of_roof", percent),
)  # fmt: skip
"""The columns of :attr:`KernelPoint.document`."""


@dataclass(frozen=True)
class KernelPoint:
    """A measured kernel at one size."""

    kernel: str
    form: str  # variant, in words
    sizes: str  # in words
    operations: float  # floating-point operations
    bytes: float  # bytes that must move in global memory [B]
    seconds: float  # measured median, or a predicted time [s]
    bound_s: float  # the least time that the roofs allow [s]; NaN if a roof is unknown
    bound: str  # the lowest roof: ``compute``, ``memory`` or ``local``

    @property
    def intensity(self) -> float:
        """Operations per byte. If no byte is moved, the intensity is infinite."""
        return self.operations / self.bytes if self.bytes else math.inf

    @property
    def rate(self) -> float:
        """Measured operations per second."""
        return self.operations / self.seconds

    @property
    def bytes_rate(self) -> float:
        """Measured bytes per second [B/s]."""
        return self.bytes / self.seconds

    @property
    def attainable(self) -> float:
        """Operations per second that the lowest roof allows (Eq. 4.31), or NaN if a roof is unknown."""
        return self.operations / self.bound_s if self.bound_s else math.inf

    @property
    def share(self) -> float:
        """Ratio of measured to attainable rate, which is the least time over the measured time."""
        return self.bound_s / self.seconds

    @property
    def cells(self) -> tuple[str, ...]:
        """The numbers of :attr:`document` as text."""
        return tuple(column.cell(self.document) for column in RATES)

    @property
    def document(self) -> dict[str, float | None]:
        """Operations and bytes a second, and the share of the lowest roof for JSON, or null if a roof is unknown."""
        return {"operations_per_s": self.rate, "bytes_per_s": self.bytes_rate, "share_of_roof": finite(self.share)}

    @property
    def drawable(self) -> bool:
        """Whether logarithmic axes can show the point."""
        return self.operations > 0 and self.bytes > 0


def roof_values(facts: DeviceFacts) -> Mapping[str, float]:
    """Return the known roofs of a device. The roof of local memory is by default 4 bytes per bank and cycle."""
    roofs = {key: float(facts.value(key)) for key in (*PEAKS, *BANDWIDTHS, LOCAL) if key in facts}
    if LOCAL not in roofs and all(key in facts for key in ("banks", "compute_units", "clock_hz")):
        roofs[LOCAL] = 4.0 * math.prod(facts.value(key) for key in ("banks", "compute_units", "clock_hz"))
    return roofs


def ceilings(facts: DeviceFacts) -> Mapping[str, float]:
    """Return lower roofs of float32, without multiply-adds and without vectors (Kim et al. 2012, section 4.2.4).

    Without multiply-adds the roof is half the peak. Without vectors the roof is the peak over the lanes of a vector.
    """
    if PEAKS[0] not in facts:
        return {}
    peak = float(facts.value(PEAKS[0]))
    lanes = next((float(facts.value(key)) for key in ("vector_lanes", "subgroup_size") if key in facts), None)
    return {WITHOUT_FMA: peak / 2} | ({} if lanes is None else {WITHOUT_VECTORS: peak / lanes})


def points_of(
    facts: DeviceFacts | None, counts: Mapping[str, KernelCounts], sizes: Mapping[str, int], times: Mapping[str, float]
) -> dict[str, KernelPoint]:
    """Return counted kernels with a positive time [s], by name. If a transfer's size is unknown, return none."""
    ranking = Ranking([RankedVariant(name, seconds) for name, seconds in times.items()], sizes=sizes)
    return points_at(facts, counts, [ranking])[0]


def facts_with_roofs(model: FittedModel) -> DeviceFacts:
    """Return the facts of a model's device, with the measured roofs in the folder of its weights added."""
    known = replace(model.facts, facts=()) if model.facts else DeviceFacts(model.device, "", "", ())
    if model.path is not None and not model.fitted.transferred_from:
        measured = model.path.with_name(ROOFS_FILE)
        known = known.updated(read_facts(measured) if measured.is_file() else {})
    return known.updated(dict(model.facts.facts) if model.facts else {})


def roofline_points(measurements: Measurements) -> tuple[KernelPoint, ...]:
    """Return each measured variant at its largest sizes. Raise a FactsError if a transfer's size is unknown."""
    counts, facts, points = measurements.counts, measurements.facts, list[KernelPoint]()
    for (kernel, form), row in at_largest_sizes(measurements).items():
        case = Case(counts[row.counts_hash], row.parameters, facts, "roofline")
        points += _points(case, kernel, form, [row.parameters], [row.median])
    return tuple(points)


def at_largest_sizes(measurements: Measurements) -> dict[tuple[str, str], Measurement]:
    """Return the row of each kernel and variant (in words) with the largest product of sizes."""
    rows = sorted(measurements, key=lambda row: (row.kernel, values_text(row.variant), *volume(row.parameters)))
    return {(row.kernel, values_text(row.variant)): row for row in rows}


def points_at(
    facts: DeviceFacts | None, counts: Mapping[str, KernelCounts], rankings: Sequence[Ranking]
) -> tuple[dict[str, KernelPoint], ...]:
    """Return the ranked and counted variants whose time is positive, by name, at each of several sizes."""
    points = tuple[dict[str, KernelPoint], ...]({} for _ in rankings)
    times: dict[str, dict[int, float]] = {}
    for index, ranking in enumerate(rankings):
        for variant in ranking:
            if variant.name in counts and variant.seconds > 0:
                times.setdefault(variant.name, {})[index] = variant.seconds
    try:
        for name, of_variant in times.items():
            sizes = [rankings[i].sizes for i in of_variant]
            case = Case(counts[name], together(sizes), facts, "roofline")
            for i, point in zip(of_variant, _points(case, name, "", sizes, of_variant.values()), strict=True):
                points[i][name] = point
    except FactsError:
        return tuple({} for _ in rankings)
    return points


def _points(
    case: Case, kernel: str, form: str, sizes: Sequence[Mapping[str, int]], times: Iterable[float]
) -> list[KernelPoint]:
    roofs = roof_values(case.facts) if case.facts is not None else {}
    single, double = float_operations(case)
    by_roof = np.stack(np.broadcast_arrays(
        _time(single, roofs.get(PEAKS[0])) + _time(double, roofs.get(PEAKS[1])),
        _memory_time(case, roofs),
        _time(least_local_bytes(case), roofs.get(LOCAL)),
    ))  # fmt: skip
    lowest = np.argmax(np.where(np.isnan(by_roof), np.inf, by_roof), axis=0)
    least = np.take_along_axis(by_roof, lowest[None], axis=0)[0]
    coordinates = np.broadcast_arrays(single + double, global_bytes(case), least, lowest)
    return [
        KernelPoint(kernel, form, values_text(at), operations, moved, seconds, bound_s, BOUNDS[bound])
        for at, seconds, operations, moved, bound_s, bound
        in zip(sizes, times, *(values.ravel().tolist() for values in coordinates), strict=True)
    ]  # fmt: skip


def _memory_time(case: Case, roofs: Mapping[str, float]) -> Any:
    """Return the least time in which the accessed data can move [s], or NaN if the roof of memory is unknown."""
    least, cache = least_bytes(case), roofs.get(BANDWIDTHS[1], case.known(L2))
    if not cache:
        return _time(least, roofs.get(BANDWIDTHS[0]))
    beyond = np.maximum(least - cached_bytes(case.facts), 0.0)
    return np.maximum(_time(beyond, roofs.get(BANDWIDTHS[0])), _time(least, cache))


def _time(amount: Any, rate: float | None) -> Any:
    return np.asarray(amount) / rate if rate else np.where(np.asarray(amount) == 0, 0.0, np.nan)


ABOVE = "the clock was higher than for the roofs, a cache kept data, or the time is too short"


def above_lines(points: Iterable[KernelPoint]) -> list[str]:
    """Return a line that lists the kernels above a roof, if there are any."""
    names = dict.fromkeys(point.kernel for point in points if point.share > 1)
    return [f"above 100 % of the roof ({', '.join(names)}): {ABOVE}"] if names else []
