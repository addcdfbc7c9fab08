"""What the quantities need to know of a device, from its facts or assumed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd
from types import MappingProxyType
from typing import Any

from perfmodel.quantities.case import Case

ASSUMED: Mapping[str, Any] = MappingProxyType({
    "lane_order": "lockstep", "odd_pitch_access": "vector", "compute_units": 1, "cache_line_bytes": 64,
    "l1_bytes": 32768, "l1_ways": 8, "l2_bytes": 1 << 20, "l2_ways": 16, "l3_bytes": 1 << 25, "l3_ways": 16,
})  # fmt: skip
"""What is assumed where a device's facts do not tell it."""

LAST_LEVEL = ("l3_told_bytes", "cache_bytes", "l3_bytes")
"""Facts that give the last level's capacity; the first that is known counts.

What a pointer chase measures comes last: it steps up where the pages of the TLB end, long before such a cache does.
"""


@dataclass(frozen=True)
class Level:
    """A level of the cache: its bytes, for each compute unit or for all, and its sets."""

    bytes: int
    sets: int


@dataclass(frozen=True)
class Device:
    """The device as the quantities see it.

    Parameters
    ----------
    order
        ``serial``: work-items of a group run one after another, a compiler vectorises some nests; ``lockstep``:
        neighbouring lanes run together.
    odd_pitches
        Whether vectors access local arrays whose rows are not a power of two long (:attr:`AccessPlan.odd_pitch`).
    lanes
        float32 lanes of a vector.
    units
        Compute units.
    line
        Bytes of a cache line.
    levels
        First, second and last level.
    """

    order: str
    odd_pitches: bool
    lanes: int
    units: int
    line: int
    levels: tuple[Level, Level, Level]

    def lanes_of(self, bits: int) -> float:
        """Return how many values of that many bits a vector holds, at least 1."""
        return max(self.lanes * 32 / bits, 1.0)


def device_of(case: Case) -> Device:
    """Return the device of a case; what its facts do not tell is in :data:`ASSUMED`."""

    def known(key: str) -> Any:
        return case.known(key, ASSUMED[key])

    line = int(known("cache_line_bytes"))
    last = int(next((case.fact(key) for key in LAST_LEVEL if case.knows(key)), ASSUMED["l3_bytes"]))
    sizes = int(known("l1_bytes")), int(known("l2_bytes")), last
    levels = tuple(
        _level(size, int(known(f"l{number}_ways")), line) for number, size in enumerate(sizes, 1)
    )
    order = "serial" if known("lane_order") == "serial" else "lockstep"  # so are the lanes of many threads
    return Device(
        order, known("odd_pitch_access") == "vector", int(case.known("vector_lanes", case.counts.subgroup_size)),
        int(known("compute_units")), line, (levels[0], levels[1], levels[2]),
    )  # fmt: skip


def _level(size: int, ways: int, line: int) -> Level:
    """Return a level of whole lines; it has sets where its ways divide its lines, else every line may be anywhere."""
    lines = max(size // line, 1)
    return Level(lines * line, lines // ways if gcd(lines, ways) == ways else 0)
