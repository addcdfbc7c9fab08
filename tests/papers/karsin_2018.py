"""Compute what Karsin (2018) prints of matrix products and mergesort, from the closed forms and Table 4.2.

Times are in clock cycles in the closed forms and in seconds where they leave this module.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, log2
from pathlib import Path

from perfmodel.facts.documents import published

PLATFORMS: Mapping[str, str] = {
    "ALGOPARC": "quadro-m4000-karsin", "GIBSON": "gtx-770", "UHHPC": "tesla-k40m"
}
PAGE = Path(__file__).resolve().parents[2] / "docs" / "spt.md"
WORD = 4
WARP = 32


@dataclass(frozen=True)
class Gpu:
    """Table 4.2 for one platform, each number for one core and in clock cycles, as printed there."""

    cores: float
    shared_words: float
    registers: float
    clock_hz: float
    latency: Mapping[str, float]
    bandwidth: Mapping[str, float]
    launch: float


def gpu(platform: str) -> Gpu:
    """Read a platform from the published devices' facts, which are in SI units for the whole device."""
    value = published(PLATFORMS[platform]).value
    units, clock = value("compute_units"), value("clock_hz")
    cores = units * value("lanes_per_unit")
    rates = {
        "g": value("memory_bandwidth_bytes_per_s") / WORD, "s": value("local_bandwidth_bytes_per_s") / WORD,
        "r": value("peak_flops_float32") / 2, "y": value("barriers_per_s"),
    }  # fmt: skip
    names = {"g": "memory", "s": "local", "r": "register", "y": "barrier"}
    return Gpu(
        cores, units * value("local_memory_bytes") / WORD, units * value("registers_per_unit"), clock,
        {key: value(f"{name}_latency_s") * clock for key, name in names.items()},
        {key: rate / (cores * clock) for key, rate in rates.items()},
        value("launch_s") * clock,
    )  # fmt: skip


def matmul(
    device: Gpu, n: float = 1e4, m: float = 1e4, k: float = 1e4, tile: int = 96, depth: int = 16, group: int = 256
) -> dict[str, float]:
    """Return the seconds of each operation of MAGMA's matrix product (section 5.3)."""
    cores, work = device.cores, n * m * k / device.cores
    both = 2 * device.registers * depth / (cores * (2 * depth + tile))
    threads = device.registers * group / (cores * (2 * tile * depth + tile**2))
    amounts = {
        "g": 2 * work / tile + n * m / cores, "s": 4 * work / tile, "r": work, "y": 2 * work / (tile**2 * depth)
    }
    return _seconds(device, amounts, {"g": both, "s": both, "r": threads, "y": threads}, launches=1)


def spilled_matmul(device: Gpu, tile: int, depth: int = 16, group: int = 256) -> dict[str, float]:
    """Return the same at n = m = k = 10^4 with registers beyond 255 kept in local memory (section 5.3.2)."""
    held = (tile**2 + 2 * tile * depth) / group
    parts = matmul(device, tile=tile, depth=depth, group=group)
    both = 2 * device.registers * depth / (device.cores * (2 * depth + tile))
    amount = 1e12 / device.cores * max(held - 255, 0) / held
    parts["s"] += _seconds(device, {"s": amount}, {"s": both}, launches=0)["s"]
    return parts


def mergesort(device: Gpu, each: int, n: float = 1e8, group: int = 128, recovered: bool = False) -> dict[str, float]:
    """Return the seconds of each operation of the pairwise mergesort (section 7.1.3).

    With ``recovered`` in the reading that gives the printed claims: shared memory at its bandwidth (the
    multiplicity of 7.1.3 counts no parallelism within a thread), one barrier for each thread-block as in
    5.2.4, and the sum of partition steps itself where 7.1.2 approximates it.
    """
    cores, block = device.cores, group * each
    threads = device.shared_words / (cores * each)
    rounds = ceil(log2(n / block))
    if recovered:
        steps: float = sum(range(ceil(log2(block)), ceil(log2(n)) + 1))
    else:
        steps = (ceil(log2(n / block) ** 2) - ceil(log2(n * block))) / 2
    amounts = {
        "g": 2 * n / cores * (rounds + WARP * steps / (2 * block) + 1),
        "s": 2 * n / cores * (3.1 * ceil(log2(block)) / each + 2.2 * ceil(log2(n / each))),
        "r": 3 * n * each / (2 * cores),
        "y": n / cores * (rounds + 1) / (block if recovered else 1),
    }
    shared = float("inf") if recovered else threads
    return _seconds(device, amounts, {"g": 2 * threads, "s": shared, "r": threads, "y": threads}, rounds + 1)


def best_each(device: Gpu, recovered: bool = False, choices: range = range(3, 65)) -> int:
    """Return the number of elements for each thread at which 10^8 elements are sorted fastest."""
    return min(choices, key=lambda each: sum(mergesort(device, each, recovered=recovered).values()))


def _seconds(
    device: Gpu, amounts: Mapping[str, float], multiplicity: Mapping[str, float], launches: int
) -> dict[str, float]:
    """Return A max(1/B, L/M) of each operation, and the launches' synchronisation (section 4.8)."""
    cycles = {
        key: amount * max(1 / device.bandwidth[key], device.latency[key] / multiplicity[key])
        for key, amount in amounts.items()
    }
    return {key: value / device.clock_hz for key, value in {**cycles, "sync": launches * device.launch}.items()}


def lines() -> list[str]:
    """Return the page's two tables, in Markdown."""
    found = ["| platform | matrix product, n = m = k = 10^4 [s] | best tile | global | shared | registers |",
             "|---|---|---|---|---|---|"]
    for platform in PLATFORMS:
        device = gpu(platform)
        parts = matmul(device)
        tile = min(range(16, 257, 16), key=lambda one: sum(matmul(device, tile=one).values()))
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

