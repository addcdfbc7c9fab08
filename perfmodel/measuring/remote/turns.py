"""Which devices of the workers may be measured at the same time."""

from __future__ import annotations

from typing import Any

from perfmodel.measuring.remote.client import having
from perfmodel.measuring.remote.crew import Crew


def turns(client: Any) -> tuple[tuple[str, ...], ...]:
    """Return the devices of all workers; those of one machine that share a lock are together, and are measured in turn.

    Raises
    ------
    WorkerVersionError
        A worker with a device has other versions.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for slug in having(client):
        station = Crew(client, slug).station
        found.setdefault((station.machine, station.lock), []).append(slug)
    return tuple(map(tuple, found.values()))
