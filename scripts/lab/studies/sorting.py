r"""Time of three mergesorts on a GPU by the Synchronous Parallel Throughput model: Karsin (2018), chapter 7.

Each sort is a :class:`Sort`: the operations :math:`A_\phi` of the busiest core, the multiplicities :math:`M_\phi`
that hide their latency, and its kernels. An operation is ``"g"``, an access to global memory, ``"s"`` one to shared
memory, ``"r"`` one in registers, ``"y"`` a barrier; :func:`sort_seconds` gives the seconds of each. N are the
elements, P the cores, M the words of shared memory of the device, w = 32 the lanes of a warp. Logarithms are to the
base 2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil, inf, log2
from types import MappingProxyType

from scripts.lab.studies.karsin import WARP, Gpu, operation_seconds
from scripts.lab.studies.sorting_addresses import counted_conflicts

#: The operations, and the launches, by their keys among the parts of a time.
OPERATIONS: Mapping[str, str] = MappingProxyType(
    {"g": "global memory", "s": "shared memory", "r": "registers", "y": "barriers", "sync": "launches"}
)
#: Threads of MGPU's thread-blocks, b.
GROUP = 128
#: Bank-conflict factors of the search in shared memory and of the merge as the author measured them: beta_1 and beta_2
#: of section 7.1.3. Section 7.1.4 names the same two numbers in the other order. They depend on E; of the counted ones
#: (:mod:`scripts.lab.studies.sorting_addresses`) beta_1 is that of E = 31, and beta_2 that of E = 15.
CONFLICTS = (3.1, 2.2)
#: What differs from the printed formulas of the pairwise mergesort in the reading that gives the printed claims:
#: shared memory at its bandwidth, one barrier for each thread-block (as in 5.2.4) instead of one for each element, and
#: the sum of 7.1.2's partition steps itself, not its approximation.
CHANGES = ("bandwidth", "barriers", "steps")
PRINTED: frozenset[str] = frozenset()
RECOVERED = frozenset(CHANGES)


@dataclass(frozen=True)
class Sort:
    """What a sort does on a device."""

    amounts: Mapping[str, float]  # operations of the busiest core, by the operation's letter
    multiplicity: Mapping[str, float]  # how many of them hide each other's latency
    launches: int  # kernels, each with a synchronisation of the device after it


def sort_seconds(device: Gpu, sort: Sort) -> dict[str, float]:
    """Return the seconds of each operation, and of the launches as ``"sync"``; they add up to the time."""
    return operation_seconds(device, sort.amounts, sort.multiplicity, sort.launches)


def shares(parts: Mapping[str, float]) -> dict[str, float]:
    """Return the share [1] of each operation in a time, by its name in :data:`OPERATIONS`."""
    total = sum(parts.values())
    return {OPERATIONS[key]: part / total for key, part in parts.items()}


def pairwise(
    device: Gpu,
    each: int,
    n: float = 1e8,
    group: int = GROUP,
    changes: frozenset[str] = PRINTED,
    conflicts: tuple[float, float] | None = None,
    hidden: bool = True,
) -> Sort:
    r"""Return the pairwise mergesort of MGPU, E = `each` elements for each of the `group` threads of a block (7.1.3).

    .. math::

        A_g &= \frac{2N}{P} \left(R + \frac{w S}{2 b E} + 1\right), \quad
        A_s = \frac{2N}{P} \left(\beta_1 \frac{\lceil\log bE\rceil}{E} + \beta_2 \lceil\log\frac{N}{E}\rceil\right), \\
        A_r &= \frac{3NE}{2P}, \quad A_y = \frac{N}{P} (R + 1), \quad R = \lceil\log\frac{N}{bE}\rceil

    with :math:`S = (\lceil\log^2 N/(bE)\rceil - \lceil\log NbE\rceil)/2`, which represents the steps of the partition
    search of a block in all rounds, :math:`\sum_{i=\lceil\log bE\rceil}^{\lceil\log N\rceil} i`. M = M/(P E), twice
    that for global memory. `changes` are those of :data:`CHANGES` that are made. `conflicts` are :math:`\beta_1` and
    :math:`\beta_2`, by default counted for this E and b on random inputs. With `hidden` False a core runs one thread at
    a time, and M is 1. Raises ValueError if a change is not one of these.
    """
    if unknown := sorted(changes - set(CHANGES)):
        raise ValueError(f"'{unknown[0]}' is not a change of the formulas; give one of {', '.join(CHANGES)}")
    cores, block = device.cores, group * each
    rounds = merge_rounds(n, block)
    if "steps" in changes:
        steps = float(sum(range(ceil(log2(block)), ceil(log2(n)) + 1)))
    else:
        steps = (ceil(log2(n / block) ** 2) - ceil(log2(n * block))) / 2
    searching, merging = conflicts or counted_conflicts(each, group).betas
    amounts = {
        "g": 2 * n / cores * (rounds + WARP * steps / (2 * block) + 1),
        "s": 2 * n / cores * (searching * ceil(log2(block)) / each + merging * ceil(log2(n / each))),
        "r": 3 * n * each / (2 * cores),
        "y": n / cores * (rounds + 1) / (block if "barriers" in changes else 1),
    }
    threads = device.shared_words / (cores * each) if hidden else 1.0
    shared = inf if "bandwidth" in changes else threads
    return Sort(amounts, {"g": 2 * threads, "s": shared, "r": threads, "y": threads}, rounds + 1)


def koike_sadakane(device: Gpu, ways: int, n: float = 2.0**28, summed: bool = False, hidden: bool = True) -> Sort:
    r"""Return the multiway mergesort of Koike and Sadakane, which merges K = `ways` runs at once (7.2.3).

    .. math::

        A_g = \frac{2N}{P} \left(\lceil\log_K\frac{N}{w}\rceil + 1\right), \quad
        A_s = \frac{4N}{P} \left(\log w \lceil\log N\rceil + \frac{\log^2 w}{2}\right), \quad
        M = \frac{M}{4KP - 2P}

    with L/M rounded up to whole cycles. With `summed` shared memory is the sum of base case and rounds as 7.2.2
    derives them,

    .. math:: A_s = \frac{2N}{P} \log^2 w + \frac{4N}{P} \log w \lceil\log K\rceil \lceil\log_K N/w\rceil

    (The printed approximation of this sum has log N where log(N/w) follows.) With `hidden` False M is 1.
    """
    cores, lanes = device.cores, log2(WARP)
    rounds = merge_rounds(n, WARP, ways)
    merging = lanes * ceil(log2(ways)) * rounds if summed else lanes * ceil(log2(n))
    amounts = {"g": 2 * n / cores * (rounds + 1), "s": 4 * n / cores * (merging + lanes**2 / 2)}
    threads = device.shared_words / (cores * (4 * ways - 2)) if hidden else 1.0
    return Sort(amounts, {key: _in_whole_cycles(device, key, threads) for key in amounts}, rounds + 1)


def gpu_mms(device: Gpu, ways: int, n: float = 2.0**28, hidden: bool = True) -> Sort:
    r"""Return GPU-MMS, Karsin's multiway mergesort: blocks of w^2 are sorted, then K = `ways` runs merged (7.3.3).

    .. math::

        A_g &= \frac{2N}{P} \left(\lceil\log_K\frac{N}{w^2}\rceil + 1\right), \quad
        A_s = \frac{4N}{P} \lceil\log\frac{N}{w}\rceil, \\
        A_r &= \frac{6N}{P} \left(\lceil\log\frac{N}{w^2}\rceil \log w + \frac{\log^3 w}{3}\right), \quad
        M = \frac{M}{2KP - P}

    and log K times that for shared memory and registers: merges of the levels of the heap are independent. There are
    no barriers, as a block is a warp. (Section 7.3.2 has N/w for N/w^2 in A_g; the runs begin at w^2.) With `hidden`
    False a core runs one thread at a time, and M is 1 before that factor.
    """
    cores, lanes = device.cores, log2(WARP)
    rounds = merge_rounds(n, WARP**2, ways)
    amounts = {
        "g": 2 * n / cores * (rounds + 1),
        "s": 4 * n / cores * ceil(log2(n / WARP)),
        "r": 6 * n / cores * (ceil(log2(n / WARP**2)) * lanes + lanes**3 / 3),
    }
    threads = device.shared_words / (cores * (2 * ways - 1)) if hidden else 1.0
    levels = log2(ways) * threads
    return Sort(amounts, {"g": threads, "s": levels, "r": levels}, rounds + 1)


def merge_rounds(n: float, block: float, ways: int = 2) -> int:
    """Return the rounds that merge sorted blocks into one run of `n`, `ways` runs at a time.

    Examples
    --------
    >>> merge_rounds(2**28, 32**2, 8), merge_rounds(2**28, 32**2, 16), merge_rounds(1000, 1000)
    (6, 5, 0)
    """
    exact = log2(n / block) / log2(ways)
    return round(exact) if abs(exact - round(exact)) < 1e-9 else ceil(exact)


def bounded_by_latency(device: Gpu, sort: Sort) -> dict[str, bool]:
    """Return whether the latency of each operation takes longer than its bandwidth: L/M > 1/B."""
    return {
        key: device.latency[key] / sort.multiplicity[key] > 1 / device.bandwidth[key] for key in sort.amounts
    }  # fmt: skip


def best(device: Gpu, sort: Callable[[int], Sort], choices: range | tuple[int, ...]) -> int:
    """Return which choice (of E or of K) sorts fastest; of equal ones the first."""
    return min(choices, key=lambda choice: sum(sort_seconds(device, sort(choice)).values()))


def _in_whole_cycles(device: Gpu, key: str, threads: float) -> float:
    """Return the multiplicity at which the latency takes the next whole number of cycles; as it is without a clock."""
    latency = device.latency[key]
    return latency / ceil(latency / threads) if device.clock_hz > 1 and latency > 0 else threads
