"""Compute what Karsin (2018) prints of matrix products and mergesort, from the closed forms and Table 4.2.

Times are in clock cycles in the closed forms and in seconds where they leave this module.
"""

from __future__ import annotations

from pathlib import Path

from scripts.lab.studies.gemm import best_tile, matmul
from scripts.lab.studies.karsin import PLATFORMS, Gpu, gpu
from scripts.lab.studies.sorting import CONFLICTS, PRINTED, RECOVERED, pairwise, sort_seconds

__all__ = ["PLATFORMS", "best_each", "gpu", "lines", "mergesort"]

PAGE = Path(__file__).resolve().parents[3] / "docs" / "lab" / "spt.md"


def mergesort(device: Gpu, each: int, n: float = 1e8, group: int = 128, recovered: bool = False) -> dict[str, float]:
    """Return the seconds of each operation of the pairwise mergesort, as printed or in the recovered reading."""
    return sort_seconds(device, pairwise(device, each, n, group, RECOVERED if recovered else PRINTED, CONFLICTS))


def best_each(device: Gpu, recovered: bool = False, choices: range = range(3, 65)) -> int:
    """Return the number of elements for each thread at which 10^8 elements are sorted fastest."""
    return min(choices, key=lambda each: sum(mergesort(device, each, recovered=recovered).values()))


def lines() -> list[str]:
    """Return the page's two tables, in Markdown."""
    found = ["| platform | matrix product, n = m = k = 10^4 [s] | best tile | global | shared | registers |",
             "|---|---|---|---|---|---|"]
    for platform in PLATFORMS:
        device = gpu(platform)
        parts = matmul(device)
        tile = best_tile(device)
        shares = " | ".join(f"{parts[key] / sum(parts.values()):.0%}" for key in "gsr")
        found.append(f"| {platform} | {sum(parts.values()):.3f} | {tile} | {shares} |")
    found += ["", "| ALGOPARC, 10^8 elements | best E | s at E = 31 | global | shared | registers | barriers |",
              "|---|---|---|---|---|---|---|"]
    device = gpu("ALGOPARC")
    rows = (("as printed", False, range(3, 65)), ("recovered", True, range(3, 65)),
            ("recovered, odd E up to 32", True, range(3, 33, 2)))
    for name, recovered, choices in rows:
        parts = mergesort(device, 31, recovered=recovered)
        shares = " | ".join(f"{parts[key] / sum(parts.values()):.0%}" for key in "gsry")
        found.append(f"| {name} | {best_each(device, recovered, choices)} | {sum(parts.values()):.4f} | {shares} |")
    return found

