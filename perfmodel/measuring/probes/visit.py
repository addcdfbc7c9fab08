"""One visit to one probe: its points, and what went wrong."""

from __future__ import annotations

from perfmodel.facts.probe_run import Point
from perfmodel.measuring.probes import barriers, chase, conflicts, lanes, line, nests, overlap
from perfmodel.measuring.probes.probe import Earlier, Instrument, Probe, ProbeSettings

PROBES = (chase.PROBE, line.PROBE, conflicts.PROBE, lanes.PROBE, nests.PROBE, barriers.PROBE, overlap.PROBE)
"""In the order in which they run; `line` needs what `chase` found."""


def points_of(
    instrument: Instrument, probe: Probe | str, settings: ProbeSettings, earlier: Earlier
) -> tuple[tuple[Point, ...], str]:
    """Time the configurations of a probe, given itself or by name, and say what went wrong; those before it stay."""
    import pyopencl as cl

    if isinstance(probe, str):
        (probe,) = (one for one in PROBES if one.name == probe)
    points: list[Point] = []
    try:
        points.extend(probe.points(instrument, settings, earlier))
    except (cl.Error, MemoryError, ArithmeticError) as error:
        return tuple(points), " ".join(f"{type(error).__name__}: {error}".split())
    return tuple(points), ""
