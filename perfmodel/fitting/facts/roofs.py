"""Measured roofs: the best that any measurement reached.

Williams, Waterman and Patterson (2009) take the roofs of the roofline model from kernels that are made
to reach them. Here these are, among all measured rows without a flag:

- global memory: unit-stride kernels that move at least :data:`BEYOND` times what the second-level caches
  hold, where that is known; the bytes are :func:`perfmodel.quantities.traffic.global_bytes`. The same kernels
  within the caches give one more roof, if it is higher.
- operations: those that isolate a floating-point operation of the type.
- local memory: all that use it; a tiled product may well be better at it than what isolates it.

A roof is the highest rate over these rows; the rate of a row is from the median of its times, so that
a lucky run makes no roof.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
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
"""Memory's roof is from what is larger than the caches by this factor."""

Amount: TypeAlias = Callable[[Case], Any]


@dataclass(frozen=True)
class Roof:
    """The highest rate that was measured.

    Parameters
    ----------
    key
        Fact that it gives.
    rate
        Bytes or operations a second.
    unit
        ``B/s`` or ``operation/s``.
    kernel
        Which kernel reached it, in which variant and at which sizes.
    rows
        How many measurements were looked at.
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
    """Return the roofs that measurements show; one that no row is meant for is left out.

    Parameters
    ----------
    measurements
        Measured kernels of one device with their counts.
    """
    streams = tuple(_rates(measurements, _isolates("global_*_stride1"), global_bytes))
    large = BEYOND * _cached_bytes(measurements.facts)
    beyond = [one for one in streams if one.amount >= large]
    within = [one for one in streams if BEYOND * one.amount <= large]
    found = [
        _roof("memory_bandwidth_bytes_per_s", "B/s", beyond or streams),
        _roof(CACHE_KEY, "B/s", within if _best(within) > _best(beyond) > 0 else ()),
    ]
    for dtype in ("float32", "float64"):
        pattern = f"op_{dtype}_*"
        rates = _rates(measurements, _isolates(pattern), partial(_total, pattern))
        found.append(_roof(f"peak_flops_{dtype}", "operation/s", tuple(rates)))
    local = tuple(_rates(measurements, _every, local_bytes))
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
    """Give the rate [1/s] and the amount of each row that is meant for a roof, unless that is zero."""
    for row in measurements:
        if row.flags or not meant(row) or row.counts_hash not in measurements.counts:
            continue
        try:
            found = float(amount(Case(measurements.counts[row.counts_hash], row.parameters, measurements.facts)))
        except MissingFactError:  # the size of a transfer
            continue
        if found > 0:
            yield _Rate(found / row.median, found, row)


def _roof(key: str, unit: str, rates: Sequence[_Rate]) -> Roof | None:
    if not rates:
        return None
    best = max(rates, key=lambda one: one.rate)
    return Roof(key, best.rate, unit, label(best.row), len(rates))


def _best(rates: Sequence[_Rate]) -> float:
    return max((one.rate for one in rates), default=0.0)


def _isolates(pattern: str) -> Callable[[Measurement], bool]:
    return lambda row: fnmatchcase(row.isolates or "", pattern)


def _every(_: Measurement) -> bool:
    return True


def _total(pattern: str, case: Case) -> Any:
    return case.total(pattern)


def _cached_bytes(facts: DeviceFacts | None) -> float:
    """Return what the second-level caches hold together [B]: on a CPU each core has one of its own."""
    if facts is None or "l2_bytes" not in facts:
        return 0.0
    own = "device_type" in facts and facts.value("device_type") == "cpu" and "compute_units" in facts
    return float(facts.value("l2_bytes")) * (float(facts.value("compute_units")) if own else 1.0)
