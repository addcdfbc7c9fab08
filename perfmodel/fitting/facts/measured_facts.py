"""Facts of a device that are derived from its measurements, joined with its other facts."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from perfmodel.errors import FlowUnknownError, MissingCountsError, MissingFactError
from perfmodel.fitting.facts.roofs import roof_facts, roofs
from perfmodel.fitting.facts.throughput import throughput, throughput_facts

if TYPE_CHECKING:
    from perfmodel.store import Measurements

_UNKNOWN = (FlowUnknownError, MissingCountsError, MissingFactError)


def with_measured_facts(measurements: Measurements) -> Measurements:
    """Return measurements of one device whose facts include those that the measurements themselves give.

    A fact that the device reports, or that ``facts.yaml`` gives, replaces a measured one, and a measured roof
    (:mod:`perfmodel.fitting.facts.roofs`) replaces the result of the regression
    (:mod:`perfmodel.fitting.facts.throughput`). Each fact keeps its source. Facts that cannot be derived,
    for example because counts of an earlier version hold no dataflow, are left out.
    """
    if not len(measurements):
        return measurements
    found = known = measurements.known_facts
    with suppress(*_UNKNOWN):
        found = found.updated(throughput_facts(throughput(measurements)))
    with suppress(*_UNKNOWN):
        found = found.updated(roof_facts(roofs(measurements)))
    return measurements.with_facts(found.updated(dict(known.facts)))
