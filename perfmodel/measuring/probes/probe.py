"""What a probe is, and the settings that it runs with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from perfmodel.facts.probes.run import Point, ProbeRun
from perfmodel.measuring.probes.instrument import Instrument


@dataclass(frozen=True)
class Settings:
    """How thoroughly a device is probed.

    Parameters
    ----------
    name
        Name in the records.
    visits
        Visits to each probe; all other probes lie between two visits to one.
    runs, dropped
        Runs of each configuration in a visit, and how many of the first do not count.
    run_s
        Time that a run aims at [s].
    most_s
        A visit begins no further configuration after this time [s].
    most_bytes
        The largest footprint [B].
    only
        Names of the probes; all of them if empty.
    """

    name: str
    visits: int = 3
    runs: int = 7
    dropped: int = 2
    run_s: float = 1e-3
    most_s: float = 8.0
    most_bytes: int = 2**28
    only: tuple[str, ...] = ()


THOROUGH = Settings("default")
"""About 25 seconds on two cores."""
BRIEF = Settings("quick", visits=1, runs=5, run_s=5e-4, most_s=3.0, most_bytes=2**26)
"""About 7 seconds on two cores: one visit, and footprints up to 64 MiB."""

Earlier: TypeAlias = tuple[ProbeRun, ...]


@dataclass(frozen=True)
class Probe:
    """One probe.

    Parameters
    ----------
    name
        Name in the records.
    points
        Times its configurations on a device, one after another; it also gets the visits of this series so far.
    more
        Visits after those that the settings ask for, unless there is only one.
    """

    name: str
    points: Callable[[Instrument, Settings, Earlier], Iterator[Point]]
    more: int = 0

    def visits(self, settings: Settings) -> int:
        """Return how many visits a series has."""
        return settings.visits + (self.more if settings.visits > 1 else 0)
