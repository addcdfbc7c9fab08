"""What measurements tell of a device, joined with what it tells of itself and what a person wrote."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from perfmodel.errors import FlowUnknownError, MissingCountsError, MissingFactError
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.fitting.facts.roofs import roof_facts, roofs
from perfmodel.fitting.facts.throughput import throughput, throughput_facts

if TYPE_CHECKING:
    from perfmodel.store import Measurements


def with_measured_facts(measurements: Measurements) -> Measurements:
    """Return measurements whose facts hold what can be read off the measurements themselves.

    What the device told, and what a person wrote into ``facts.yaml``, counts more than what was
    measured; each fact keeps its source. Of what was measured twice the roof, the best that was
    reached (:mod:`perfmodel.fitting.facts.roofs`), counts more than the regression
    (:mod:`perfmodel.fitting.facts.throughput`). What cannot be read off, as counts of an earlier version hold
    no dataflow, is left out.

    Parameters
    ----------
    measurements
        Measured kernels of one device with their counts.
    """
    if not len(measurements):
        return measurements
    row = measurements.rows[0]
    known = measurements.facts or DeviceFacts(row.device, row.platform, row.driver, ())
    found = known
    for read_off in (_throughput, _roofs, lambda _: dict(known.facts)):
        with suppress(FlowUnknownError, MissingCountsError, MissingFactError):
            found = found.updated(read_off(measurements))
    return measurements.with_facts(found)


def _throughput(measurements: Measurements) -> Mapping[str, Fact]:
    return throughput_facts(throughput(measurements))


def _roofs(measurements: Measurements) -> Mapping[str, Fact]:
    return roof_facts(roofs(measurements))
