"""What was measured of predecessor searches, for each query; and the tables of chapter 6 that need no device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from scripts.lab.studies.karsin import PLATFORMS, SPT, WARP, Gpu, gpu
from scripts.lab.studies.search import (
    FORMS,
    LAYOUTS,
    READINGS,
    expected_serialised,
    global_accesses,
    global_seconds,
    local_accesses,
    local_seconds,
    worst_serialised,
)
from scripts.lab.studies.search_addresses import (
    beta,
    blocks,
    global_addresses,
    own_blocks,
    printed_addresses,
    random_ranks,
    serialised,
)
from scripts.lab.studies.study import Records, StudyData

GLOBAL, LOCAL = "search_global", "search_local"
KEYS, QUERIES = 2**28, 1e8
"""Keys of figures 6.1 to 6.3, and queries among them; the text does not print how many queries they go up to."""
COUNTED = 2**20
"""Keys among which blocks are counted."""
LISTS = tuple(2**k for k in range(6, 15))
LOCAL_QUERIES, THREADS = 5e8, 1024
"""Queries of figure 6.7; threads of a thread-block, which it does not print: as many as a GPU allows."""


@dataclass(frozen=True)
class Point:
    """One configuration that was measured."""

    kernel: str  # its class, :data:`GLOBAL` or :data:`LOCAL`
    form: str  # what searches: a layout in global memory with its options, or a form in local memory
    # keys, queries: n and Q.
    keys: int
    queries: int
    measured: float  # measured time [s]
    predicted: Mapping[str, float | None]  # time by each family [s]; None if it was withheld

    @property
    def layout(self) -> str:
        """Layout or form without options."""
        return self.form.split(",")[0]

    def nanoseconds(self, family: str = "") -> float:
        """Time of one query [ns], measured or by a family; NaN if it was withheld."""
        seconds = self.predicted[family] if family else self.measured
        return float("nan") if seconds is None else 1e9 * seconds / self.queries

    def error(self, family: str) -> float | None:
        """Relative error of a family [1]."""
        seconds = self.predicted[family]
        return None if seconds is None else abs(seconds / self.measured - 1)

    def record(self) -> dict[str, Any]:
        """Return a row of a table."""
        return {
            "kernel": self.kernel, "form": self.form, "keys": self.keys, "queries": self.queries,
            "measured_s": self.measured, "measured_ns_per_query": self.nanoseconds(),
            **{f"{name}_ns_per_query": self.nanoseconds(name) for name in self.predicted},
        }  # fmt: skip


def search_points(data: StudyData) -> tuple[Point, ...]:
    """Return the measurements, with the predictions of the recommended and the dissertation's family."""
    names = [name for name in dict.fromkeys((data.recommended, SPT)) if name in data.families]
    cases = {name: data.cases(name) for name in names}
    return tuple(
        Point(
            rows[0].kernel, form_of(rows[0].variant), rows[0].parameters.get("n") or 2 ** rows[0].variant["levels"],
            rows[0].parameters["q"], rows[0].measured,
            {name: row.predicted for name, row in zip(names, rows, strict=True)},
        )
        for rows in zip(*cases.values(), strict=True)
    )  # fmt: skip


def form_of(variant: Mapping[str, Any]) -> str:
    """Return the subject of a search, as text.

    Examples
    --------
    >>> form_of({"layout": "bst", "cached": 12}), form_of({"form": "free", "levels": 10})
    ('bst, top 2^12 in local memory', 'free')
    """
    if "form" in variant:
        return str(variant["form"])
    options = [f"top 2^{variant['cached']} in local memory"] if variant.get("cached") else []
    return ", ".join([str(variant["layout"]), *options, *([str(variant["node"])] if "node" in variant else [])])


def curves(points: Sequence[Point], kernel: str) -> dict[str, list[Point]]:
    """Return by form the points of a class over the keys, each at its most queries."""
    found: dict[str, dict[int, Point]] = {}
    for one in sorted(points, key=lambda one: one.queries):
        if one.kernel == kernel:
            found.setdefault(one.form, {})[one.keys] = one
    return {form: [own[keys] for keys in sorted(own)] for form, own in found.items()}


def quickest(points: Sequence[Point], kernel: str) -> dict[str, Point]:
    """Return for each layout, or form, the quickest point at the most keys that all of them were measured at."""
    lines = [one for line in curves(points, kernel).values() for one in line]
    common = [{one.keys for one in lines if one.layout == layout} for layout in {one.layout for one in lines}]
    most = max(set.intersection(*common), default=0) if common else 0
    found: dict[str, Point] = {}
    for one in sorted(lines, key=Point.nanoseconds, reverse=True):
        if one.keys == most:
            found[one.layout] = one
    return found


def platform_records(keys: int = KEYS, queries: float = QUERIES) -> Records:
    """Return for each platform, reading and layout a query's blocks, and the seconds of a batch by section 6.1."""
    found = []
    for platform, reading, layout in product(PLATFORMS, READINGS, LAYOUTS):
        parts = global_seconds(gpu(platform), layout, keys, queries, reading)
        found.append({
            "platform": platform, "reading": reading, "layout": layout, "keys": keys, "queries": queries,
            "blocks": global_accesses(layout, keys), **{f"{key}_s": value for key, value in parts.items()},
            "seconds": sum(parts.values()),
        })  # fmt: skip
    return found


def block_records(keys: int = COUNTED, warps: int = 100) -> Records:
    """Return for each layout the counted blocks of a query that keeps its blocks, and of a warp that keeps none."""
    ranks = random_ranks(keys, warps)
    found = []
    for layout in LAYOUTS:
        addresses = global_addresses(layout, keys, ranks)
        found.append({
            "layout": layout, "keys": keys, "own_blocks": float(own_blocks(addresses).mean()),
            "warp_blocks": float(blocks(addresses).sum(axis=0).mean()), "most": WARP * len(addresses),
        })  # fmt: skip
    return found


def conflict_records(device: Gpu, warps: int = 100) -> Records:
    """Return for each list and form a warp's serialised accesses, and the seconds of figure 6.7's queries on a device.

    The form "printed" is Algorithm 1 on the odd number of keys next below 95 % of N. ``expected`` and ``worst`` hold
    for multiples of w^2, and are None of shorter lists.
    """
    found = []
    for n in LISTS:
        odd = (n * 19 // 20 - 1) | 1
        passes = {form: beta(form, n, warps) * local_accesses(form, n) for form in FORMS}
        passes["printed"] = float(serialised(printed_addresses(odd, random_ranks(odd, warps))[0]).sum(axis=0).mean())
        for form, counted in passes.items():
            base, known = ("naive" if form == "printed" else form), form != "printed"
            formula = known and n % WARP**2 == 0
            parts = local_seconds(device, base, n, LOCAL_QUERIES, THREADS, counted / local_accesses(base, n))
            found.append({
                "keys": n if known else odd, "list": n, "form": form, "accesses": local_accesses(base, n) + (not known),
                "counted": counted, "expected": expected_serialised(form, n) if formula else None,
                "worst": worst_serialised(form, n) if formula else None, "seconds": sum(parts.values()),
            })  # fmt: skip
    return found
