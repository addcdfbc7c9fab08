"""Figures 7.2, 7.3, 7.5 and 7.8 of Karsin (2018) as curves, from the formulas and Table 4.2 alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from scripts.lab.studies.karsin import Gpu
from scripts.lab.studies.sorting import (
    CONFLICTS,
    OPERATIONS,
    PRINTED,
    RECOVERED,
    Sort,
    gpu_mms,
    koike_sadakane,
    pairwise,
    shares,
    sort_seconds,
)

#: By name the places along the axis and the values of a curve.
Curves = Mapping[str, tuple[list[float], list[float]]]
#: Elements of figures 7.2, 7.3 and 7.8: the text names 10^8, and says that inputs below 2 10^7 differ.
ELEMENTS = tuple(round(10 ** (6 + step / 4)) for step in range(13))
#: K of figure 7.5.
WAYS = tuple(range(2, 33))
READINGS: Mapping[str, frozenset[str]] = MappingProxyType({"as printed": PRINTED, "recovered": RECOVERED})


def operation_shares(device: Gpu, places: Iterable[int], sort: Callable[[int], Sort]) -> Curves:
    """Return the share of each operation in the time [%], by its name, over the places."""
    at = list(places)
    rows = [shares(sort_seconds(device, sort(place))) for place in at]
    names = [name for name in OPERATIONS.values() if any(name in row for row in rows)]
    return {name: (list(map(float, at)), [100 * row.get(name, 0.0) for row in rows]) for name in names}


def pairwise_shares(device: Gpu, reading: str, each: int = 31) -> Curves:
    """Return figure 7.2: the shares of the pairwise mergesort over the elements, with E = `each`."""
    return operation_shares(
        device, ELEMENTS, lambda n: pairwise(device, each, n, changes=READINGS[reading], conflicts=CONFLICTS)
    )


def pairwise_throughput(device: Gpu, reading: str, choices: Iterable[int] = (15, 31)) -> Curves:
    """Return figure 7.3: the 10^6 elements that are sorted in a second, over the elements, for each E."""
    changes, found = READINGS[reading], {}
    for each in choices:
        sorts = [pairwise(device, each, n, changes=changes, conflicts=CONFLICTS) for n in ELEMENTS]
        rates = [n / sum(sort_seconds(device, sort).values()) / 1e6 for n, sort in zip(ELEMENTS, sorts, strict=True)]
        found[f"E = {each}"] = (list(map(float, ELEMENTS)), rates)
    return found


def koike_shares(device: Gpu, n: float = 2.0**29) -> Curves:
    """Return figure 7.5: the shares of Koike and Sadakane's mergesort over K."""
    return operation_shares(device, WAYS, lambda ways: koike_sadakane(device, ways, n))


def gpu_mms_shares(device: Gpu, ways: int = 16) -> Curves:
    """Return figure 7.8: the shares of GPU-MMS over the elements, with K = `ways`."""
    return operation_shares(device, ELEMENTS, lambda n: gpu_mms(device, ways, n))
