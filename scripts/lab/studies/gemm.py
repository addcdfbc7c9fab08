"""MAGMA's matrix product by the closed forms of Karsin (2018), chapter 5.

C = A B of n by k and k by m elements. A thread-block of b threads (`group`) forms a tile of N_TB by N_TB (`tile`)
elements of C, and goes over k in batches of lambda (`depth`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from scripts.lab.studies.karsin import PLATFORMS, Gpu, gpu, operation_seconds

#: N_TB, lambda and b as MAGMA has them (section 5.3.1).
TILE, DEPTH, GROUP = 96, 16, 256
#: n, m and k of figures 5.3 and 5.4.
SIZE = 1e4
#: Values of N_TB to choose among: multiples of the 16 threads along a side of the thread-block.
TILES = range(16, 257, 16)
#: Registers that a thread can have (section 5.3.2).
MOST_REGISTERS = 255
#: What the letters of the operations represent.
OPERATIONS = {"g": "global", "s": "shared", "r": "register", "y": "barrier", "sync": "launch"}


def amounts(
    cores: float, n: float = SIZE, m: float = SIZE, k: float = SIZE, tile: int = TILE, depth: int = DEPTH
) -> dict[str, float]:
    r"""Return the operations of one core (sections 5.2.1 to 5.2.4).

    .. math::

        A_g = \frac{2nmk}{P N_{TB}} + \frac{nm}{P},\quad A_s = \frac{4nmk}{P N_{TB}},\quad
        A_r = \frac{nmk}{P},\quad A_y = \frac{2nmk}{P N_{TB}^2 \lambda}

    Global memory "g", shared memory "s" and registers "r" are in elements or multiply-adds; barriers "y" are those
    that thread-blocks load. :math:`A_s` takes each element out of shared memory once. A kernel in which each thread
    forms N_TB/sqrt(b) rows and columns takes it out sqrt(b) times (:func:`shared_reads`).

    Examples
    --------
    >>> amounts(1, n=96, m=96, k=16)
    {'g': 12288.0, 's': 6144.0, 'r': 147456.0, 'y': 2.0}
    """
    work = n * m * k / cores
    return {"g": 2 * work / tile + n * m / cores, "s": 4 * work / tile, "r": work, "y": 2 * work / (tile**2 * depth)}


def shared_reads(n: float, m: float, k: float, rows: int, columns: int) -> float:
    """Return the elements that all threads together read from shared memory, if each forms rows by columns of C.

    For each of its rows * columns products a thread reads rows + columns elements: n m k (1/rows + 1/columns).
    """
    return n * m * k * (1 / rows + 1 / columns)


def registers(tile: int, depth: int = DEPTH, group: int = GROUP) -> float:
    """Return (N_TB^2 + 2 N_TB lambda)/b, the registers of a thread (section 5.3.2).

    Examples
    --------
    >>> registers(96), registers(224)
    (48.0, 224.0)
    """
    return (tile**2 + 2 * tile * depth) / group


def multiplicity(device: Gpu, tile: int = TILE, depth: int = DEPTH, group: int = GROUP) -> dict[str, float]:
    r"""Return the multiplicity of each operation (section 5.2.5), which registers limit.

    .. math::

        M_o = \frac{R b}{P (2 N_{TB} \lambda + N_{TB}^2)},\quad
        M_g = M_s = \frac{2 R \lambda}{P (2 \lambda + N_{TB})},\quad M_r = M_y = M_o
    """
    threads = device.registers / (device.cores * registers(tile, depth, group))
    both = 2 * device.registers * depth / (device.cores * (2 * depth + tile))
    return {"g": both, "s": both, "r": threads, "y": threads}


def matmul(
    device: Gpu, n: float = SIZE, m: float = SIZE, k: float = SIZE, tile: int = TILE, depth: int = DEPTH,
    group: int = GROUP,
) -> dict[str, float]:  # fmt: skip
    """Return the seconds of each operation of MAGMA's matrix product (section 5.3); they add up to the time."""
    per_core = amounts(device.cores, n, m, k, tile, depth)
    return operation_seconds(device, per_core, multiplicity(device, tile, depth, group), launches=1)


def spilled_matmul(
    device: Gpu, tile: int = TILE, depth: int = DEPTH, group: int = GROUP, n: float = SIZE, m: float = SIZE,
    k: float = SIZE,
) -> dict[str, float]:  # fmt: skip
    """Return the same with registers beyond 255 kept in local memory (section 5.3.2, dotted line of figure 5.3).

    Of r registers the part (r - 255)/r is taken from shared memory, so many accesses more for each multiply-add.
    """
    held = registers(tile, depth, group)
    parts = matmul(device, n, m, k, tile, depth, group)
    amount = n * m * k / device.cores * max(held - MOST_REGISTERS, 0) / held
    both = multiplicity(device, tile, depth, group)
    return {**parts, "s": parts["s"] + operation_seconds(device, {"s": amount}, both, launches=0)["s"]}


def operation_shares(device: Gpu, tile: int = TILE) -> dict[str, float]:
    """Return the share of each operation in the time at n = m = k = 10^4, by name [1]."""
    parts = matmul(device, tile=tile)
    return {OPERATIONS[key]: value / sum(parts.values()) for key, value in parts.items()}


def best_tile(device: Gpu, tiles: Iterable[int] = TILES) -> int:
    """Return the N_TB that takes the least time at n = m = k = 10^4, with lambda = 16 and b = 256."""
    return min(tiles, key=lambda tile: sum(spilled_matmul(device, tile).values()))


def bandwidth_bound(device: Gpu, tile: int = TILE, depth: int = DEPTH, group: int = GROUP) -> dict[str, bool]:
    """Return for each operation whether its bandwidth takes longer than its latency: 1/B >= L/M (section 5.2.5)."""
    many = multiplicity(device, tile, depth, group)
    return {key: device.bandwidth[key] * device.latency[key] <= many[key] for key in many}


def platform_records(tiles: Iterable[int] = TILES) -> list[dict[str, Any]]:
    """Return a row for each of the dissertation's platforms and each N_TB: seconds, in all and of each operation.

    ``spilled_seconds`` is the time with registers beyond 255 in local memory. n = m = k = 10^4.
    """
    rows = []
    for name in PLATFORMS:
        for tile in tiles:
            parts, spilled = matmul(gpu(name), tile=tile), spilled_matmul(gpu(name), tile)
            times = {"seconds": sum(parts.values()), "spilled_seconds": sum(spilled.values())}
            own = {f"{OPERATIONS[key]}_s": value for key, value in parts.items()}
            rows.append({"platform": name, "tile": tile, "registers": registers(tile), **times, **own})
    return rows
