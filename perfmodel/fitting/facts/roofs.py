"""Measured roofs: the highest rate of any measured row.

Williams, Waterman and Patterson (2009) measure the roofs of the roofline model with kernels written for this
purpose. Here a roof is the highest rate over these rows, without rows that have a flag:

- global memory: kernels with unit stride that move at least :data:`BEYOND` times the size of the second-level
  caches, where that is known (:func:`perfmodel.quantities.traffic.global_bytes`). Smaller sizes of the same
  kernels give the roof of the caches, if it is higher.
- operations: kernels that isolate a floating-point operation of the type.
- local memory: all kernels that use it, since a tiled product may reach a higher rate than kernels that isolate it.

The rate of a row is computed from the median of its times, so that one lucky run does not make a roof.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from perfmodel.errors import MissingFactError
from perfmodel.facts import Fact
from perfmodel.fitting.design import label
from perfmodel.quantities.case import Case
from perfmodel.quantities.traffic import global_bytes, local_bytes

if TYPE_CHECKING:
    from perfmodel.facts import DeviceFacts
    from perfmodel.store import Measurement, Measurements

CACHE_KEY = "cache_bandwidth_bytes_per_s"
"""Fact of the roof over what the second-level cache holds."""
BEYOND = 2.0
"""The memory roof uses rows that move more bytes than the caches hold, by this factor."""

Amount: TypeAlias = Callable[[Case], Any]


@dataclass(frozen=True)
class Roof:
    """The highest rate that was measured.

    Parameters
    ----------
    key
        Key of the device's fact.
    rate, unit
        Bytes or operations a second: ``B/s`` or ``operation/s``.
    kernel
        Kernel, variant and sizes that reached it.
    rows
        Number of measurements that were compared.
    """

    key: str
    rate: float
    unit: str
    kernel: str
    rows: int

    @property
    def fact(self) -> Fact:
        """The roof as a fact of the device."""
        return Fact(self.rate, self.unit, f"measured, best median of {self.rows} rows: {self.kernel}")


def roofs(measurements: Measurements) -> tuple[Roof, ...]:
    """Return the roofs of one device's measurements; a roof without any row is left out."""
    streams = tuple(_rates(measurements, _isolates("global_*_stride1"), global_bytes))
    large = BEYOND * _cached_bytes(measurements.facts)
    beyond = [one for one in streams if one.amount >= large]
    within = [one for one in streams if BEYOND * one.amount <= large]
    found = [
        _roof("memory_bandwidth_bytes_per_s", "B/s", beyond or streams),
        _roof(CACHE_KEY, "B/s", within if _best(within) > _best(beyond) > 0 else ()),
    ]
    found += [_peak(measurements, dtype) for dtype in ("float32", "float64")]
    local = tuple(_rates(measurements, lambda _: True, local_bytes))
    found.append(_roof("local_bandwidth_bytes_per_s", "B/s", local))
    return tuple(roof for roof in found if roof is not None)


def roof_facts(found: tuple[Roof, ...]) -> Mapping[str, Fact]:
    """Return roofs as facts by key, each with the kernel that reached it as its source."""
    return {roof.key: roof.fact for roof in found}


class _Rate(NamedTuple):
    rate: float
    amount: float
    row: Measurement


def _rates(measurements: Measurements, meant: Callable[[Measurement], bool], amount: Amount) -> Iterator[_Rate]:
    """Yield the rate [1/s] and the amount of each row that a roof uses, unless the amount is zero."""
    for row in measurements:
        if row.flags or not meant(row) or row.counts_hash not in measurements.counts:
            continue
        try:
            found = float(amount(Case(measurements.counts[row.counts_hash], row.parameters, measurements.facts)))
        except MissingFactError:  # the size of a transfer is unknown
            continue
        if found > 0:
            yield _Rate(found / row.median, found, row)


def _peak(measurements: Measurements, dtype: str) -> Roof | None:
    pattern = f"op_{dtype}_*"
    rates = _rates(measurements, _isolates(pattern), lambda case: case.total(pattern))
    return _roof(f"peak_flops_{dtype}", "operation/s", tuple(rates))


def _roof(key: str, unit: str, rates: Sequence[_Rate]) -> Roof | None:
    if not rates:
        return None
    best = max(rates, key=lambda one: one.rate)
    return Roof(key, best.rate, unit, label(best.row), len(rates))


def _best(rates: Sequence[_Rate]) -> float:
    return max((one.rate for one in rates), default=0.0)


def _isolates(pattern: str) -> Callable[[Measurement], bool]:
    return lambda row: fnmatchcase(row.isolates or "", pattern)


def _cached_bytes(facts: DeviceFacts | None) -> float:
    """Return the size of all second-level caches together [B]: on a CPU each core has its own."""
    if facts is None or "l2_bytes" not in facts:
        return 0.0
    own = "device_type" in facts and facts.value("device_type") == "cpu" and "compute_units" in facts
    return float(facts.value("l2_bytes")) * (float(facts.value("compute_units")) if own else 1.0)
