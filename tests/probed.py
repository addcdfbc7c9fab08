"""Probes that were never taken: the times of a device that behaves as a test says."""

from collections.abc import Iterable
from typing import Any

from perfmodel.facts.probed import Point, ProbeRun


def probe(name: str, points: Iterable[tuple[dict[str, Any], float, float]], **changes: Any) -> ProbeRun:
    """Make a visit from settings, units of work and seconds for each unit."""
    fields: dict[str, Any] = {
        "campaign": "default", "series": 0, "visit": 0, "device": "a device", "platform": "a platform", "driver": "1",
        "versions": {}, "taken_at": "2026-11-22T12:00:00+00:00", "took_s": 1.0, "dropped": 1,
    }  # fmt: skip
    found = tuple(Point(at, work, (9.0, work * seconds, 2 * work * seconds)) for at, work, seconds in points)
    return ProbeRun(name, points=found, **{**fields, **changes})


def chase(latencies: dict[int, float], **changes: Any) -> ProbeRun:
    """Make a chase from the time of a load [s] by the footprint [B]."""
    return probe("chase", (({"bytes": octets}, 1000, seconds) for octets, seconds in latencies.items()), **changes)


def lanes(width: int, hidden: bool = False, widest: int = 256, dtype: str = "float32") -> ProbeRun:
    """Make the probe of a device that runs so many lanes in step, and hides all others if asked to.

    A block of lanes in step takes the trips of its slowest lane in each of the two loops.
    """
    points = []
    for lanes in (1, 8, 32, 64, widest):
        for block in (2**k for k in range(9) if 2**k <= lanes):
            kinds = [lane // block % 2 for lane in range(lanes)]
            steps = [set(kinds[at : at + width]) for at in range(0, lanes, width)]
            seconds = max(len(one) for one in steps) if hidden else sum(len(one) for one in steps)
            if lanes == widest or block == lanes:
                points.append(({"block": block, "lanes": lanes, "dtype": dtype}, 100, 1e-9 * seconds))
    return probe("lanes", points)
