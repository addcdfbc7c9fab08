"""The mergesorts of Karsin (2018), chapter 7, as tables: their times over E or K, and the shares of operations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

from scripts.lab.studies.karsin import Gpu
from scripts.lab.studies.sorting import (
    CONFLICTS,
    OPERATIONS,
    PRINTED,
    RECOVERED,
    Sort,
    best,
    gpu_mms,
    koike_sadakane,
    pairwise,
    shares,
    sort_seconds,
)

#: Elements for each thread, and runs that are merged at once, among which the best is looked for.
EACH = range(3, 65)
WAYS = (2, 4, 8, 16, 32)


@dataclass(frozen=True)
class Algorithm:
    """One mergesort, and what is chosen of it."""

    # The sort of a device, the choice, the elements, and whether oversubscription hides latency.
    sort: Callable[[Gpu, int, float, bool], Sort]
    letter: str  # the name of the choice: E or K
    choices: tuple[int, ...]  # its values
    elements: float  # the elements for which the dissertation shows it (figures 7.1, 7.5 and 7.7)


def _pairwise(
    changes: frozenset[str], conflicts: tuple[float, float] | None, gpu: Gpu, each: int, n: float, hidden: bool
) -> Sort:
    return pairwise(gpu, each, n, changes=changes, conflicts=conflicts, hidden=hidden)


ALGORITHMS: Mapping[str, Algorithm] = MappingProxyType({
    "printed": Algorithm(partial(_pairwise, PRINTED, CONFLICTS), "E", tuple(EACH), 1e8),
    "recovered": Algorithm(partial(_pairwise, RECOVERED, CONFLICTS), "E", tuple(EACH), 1e8),
    "counted": Algorithm(partial(_pairwise, RECOVERED, None), "E", tuple(EACH), 1e8),
    "Koike": Algorithm(lambda gpu, k, n, hidden: koike_sadakane(gpu, k, n, hidden=hidden), "K", WAYS, 2.0**29),
    "GPU-MMS": Algorithm(lambda gpu, k, n, hidden: gpu_mms(gpu, k, n, hidden=hidden), "K", WAYS, 2.0**28),
})  # fmt: skip
"""The pairwise mergesort as printed, recovered, and recovered with the bank conflicts that are counted for each E in
place of the printed ones; Koike and Sadakane's multiway mergesort, and Karsin's."""


def total(device: Gpu, sort: Sort) -> float:
    """Return the seconds of a sort."""
    return sum(sort_seconds(device, sort).values())


def best_choice(device: Gpu, algorithm: str, n: float, hidden: bool = True) -> int:
    """Return the E or K with which one of :data:`ALGORITHMS` sorts `n` elements fastest."""
    one = ALGORITHMS[algorithm]
    return best(device, lambda choice: one.sort(device, choice, n, hidden), one.choices)


def records(name: str, device: Gpu, n: float | None = None, hidden: bool = True) -> list[dict[str, Any]]:
    """Return for each algorithm and choice the time of `n` elements [s], and the share of each operation [1].

    Without `n` it is the dissertation's number of elements for each algorithm.
    """
    found = []
    for algorithm, one in ALGORITHMS.items():
        elements = n or one.elements
        for choice in one.choices:
            parts = sort_seconds(device, one.sort(device, choice, elements, hidden))
            found.append({
                "device": name, "algorithm": algorithm, "parameter": one.letter, "value": choice,
                "elements": int(elements), "seconds": sum(parts.values()), **shares(parts),
            })  # fmt: skip
    return found


def throughput_lines(rows: Iterable[Mapping[str, Any]], label: str) -> dict[str, tuple[list[float], list[float]]]:
    """Return by `label` ("device" or "algorithm") the choices, and the 10^6 elements sorted in a second at each."""
    lines: dict[str, tuple[list[float], list[float]]] = {}
    for row in rows:
        places, rates = lines.setdefault(row[label], ([], []))
        places.append(row["value"])
        rates.append(row["elements"] / row["seconds"] / 1e6)
    return lines


def best_shares(rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Return for each algorithm and device, at its fastest choice, the share of each operation [%]."""
    fastest: dict[tuple[str, str], Mapping[str, Any]] = {}
    for row in rows:
        key = row["algorithm"], row["device"]
        fastest[key] = min(fastest.get(key, row), row, key=lambda one: float(one["seconds"]))
    places = {name: place for place, name in enumerate(ALGORITHMS)}
    return {
        f"{algorithm}, {device}, {row['parameter']}={row['value']}": {
            name: 100 * row.get(name, 0.0) for name in OPERATIONS.values()
        }
        for (algorithm, device), row in sorted(fastest.items(), key=lambda item: places[item[0][0]])
    }
