"""A device for the family ``bottleneck``, and the cache lines that its levels fetch.

The levels::

    first level   32 KiB, per unit          near: lines fetched for the first time in a launch, and again
    second level  1 MiB, per unit           far:  lines that the second level fetches
    last level    32 MiB, of all units      far:  lines read from memory and written back
    TLB           2048 pages, per unit      far:  pages that are looked up again
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import exp, gcd, inf
from typing import Any

from perfmodel.counts import Count, KernelCounts
from perfmodel.counts.traffic.footprints import Cache
from perfmodel.counts.traffic.traffic import MovedLines, TrafficAt
from perfmodel.facts import DeviceFacts, vector_registers
from perfmodel.facts.doubts import X86_ONLY
from perfmodel.quantities.bottleneck.compiled import CompiledLaunch, compiled_kernel
from perfmodel.quantities.bottleneck.execution import packs_items
from perfmodel.quantities.case import Case
from perfmodel.quantities.traffic import LAST_LEVEL, UNBOUNDED, cold_share
from perfmodel.values import FrozenValue

ASSUMED: Mapping[str, Any] = {
    "lane_order": "lockstep", "odd_pitch_access": "vector", "compute_units": 1, "cache_line_bytes": 64,
    "l1_bytes": 32768, "l1_ways": 8, "l2_bytes": 1 << 20, "l2_ways": 16, "l3_bytes": 1 << 25, "l3_ways": 16,
    "page_told_bytes": 4096, "tlb_pages": 2048,
}  # fmt: skip
"""Facts that are assumed if the device does not have them."""
OPERANDS = 8
"""Vector registers of a core that hold operands, not carried values.

With 2 operands the product chosen among those of docs/lab/experiments/gemm.md takes 1.31 times the best time on the
Xeon with Intel's runtime, with 4 and with 8 it takes 1.05 times; on the three other devices all three are alike.
"""
MEMORY_UNITS = 4.0
"""Most cores of a CPU that together move more lines of memory than one alone.

One core waits for about a dozen lines at a time, and the memory delivers the lines of a few cores. On a machine with
two cores, PoCL and Intel's runtime copy, add and sum arrays of 64 MiB at 19 to 30 GB/s on one core, and at 36 to 73
GB/s on both. The number for more cores is assumed.
"""
GATHERED_LINES = 4.0  # jumps that a line counts as if vectors gather neighbours: fewer lines are in flight
STRIDED_LINES = 1.0  # the same if the neighbours are at a stride, or are complex numbers of two float64
WIDEST_NUMBER = 64  # bits that vectors load together; wider complex numbers are gathered
POCL = "Portable Computing Language"
STEPS = 30  # of Newton's method


@dataclass(frozen=True)
class DeviceUnits(FrozenValue):
    """The facts of a device that the quantities use. The order is ``serial`` or ``lockstep``, as in :mod:`.work`."""

    order: str
    odd_pitches: bool  # whether vectors access local arrays with odd pitches
    lanes: int  # float32 lanes of a vector
    units: int  # compute units
    takes_shares: bool  # whether a unit takes a share of the groups that are left, not one (`busiest_over_mean`)
    line: int  # bytes of a cache line
    levels: tuple[Cache, Cache, Cache]  # first and second per unit, last of all units
    kept_in_registers: float  # most values that a loop carries in vector registers
    memory_units: float  # most units that together move more lines of memory than one
    pages: Cache | None  # in a unit's TLB; None if the device is not a CPU
    reorders_sums: bool = False  # whether the compiler unrolls short loops and makes vectors in a lone work-item's loop
    masks_gathers: bool = True  # whether an instruction gathers by a mask; AVX-512 has such instructions, AVX2 does not
    loses_neighbours: bool = False  # whether its compiler does not see neighbours in lid + G*gid, G no power of two
    masks_stores: bool = True  # whether a masked store is one fast instruction, not one for each element

    @cached_property
    def for_lines(self) -> "DeviceUnits":
        """The device without the fact on which lines do not depend: odd pitches."""
        return replace(self, odd_pitches=True)

    @cached_property
    def for_work(self) -> "DeviceUnits":
        """The device without facts on which work does not depend: outer caches and memory."""
        return replace(self, levels=(self.levels[0],) * 3, memory_units=1.0, pages=None)

    def lanes_of(self, bits: int) -> float:
        """Return how many values of ``bits`` bits a vector holds, at least 1."""
        return max(self.lanes * 32 / bits, 1.0)


def device_of(case: Case) -> DeviceUnits:
    """Return the device of a case. Unknown facts are taken from :data:`ASSUMED`."""
    return _device(case.facts, case.counts.subgroup_size)


@lru_cache(maxsize=64)
def _device(facts: DeviceFacts | None, subgroup_size: int) -> DeviceUnits:
    def known(key: str, otherwise: Any = None) -> Any:
        otherwise = ASSUMED.get(key, otherwise)
        return otherwise if facts is None else facts.known(key, otherwise)

    line, is_cpu = int(known("cache_line_bytes")), known("device_type", "cpu") == "cpu"
    pages = None
    if is_cpu:  # of the size that a probe found or that the system reports
        pages = Cache(int(known("tlb_pages")), int(known("page_bytes", known("page_told_bytes"))), 0)
    last = (key for key in LAST_LEVEL if facts is not None and facts.known(key, None) is not None)
    sizes = int(known("l1_bytes")), int(known("l2_bytes")), int(known(next(last, "l3_bytes")))
    most_sets = pages.line_bytes // line if pages else UNBOUNDED
    first, second, third = (
        _level(size, int(known(f"l{number}_ways")), line, most_sets) for number, size in enumerate(sizes, 1)
    )
    registers = int(vector_registers(facts).value)  # type: ignore[arg-type]  # checked where it was read
    name = "" if facts is None else facts.name
    lacks_masks = is_cpu and registers < 32  # AVX2 and SSE have neither registers for masks nor 32 for vectors
    order = "serial" if known("lane_order") == "serial" else "lockstep"
    return DeviceUnits(
        order, known("odd_pitch_access") == "vector", int(known("vector_lanes", subgroup_size)),
        int(known("compute_units")),
        facts is not None and facts.platform == POCL and is_cpu, line, (first, second, third),
        max(registers - OPERANDS, 0) if is_cpu else inf, MEMORY_UNITS if is_cpu else 1.0, pages,
        reorders_sums=is_cpu and order == "lockstep", masks_gathers=not lacks_masks,
        loses_neighbours=is_cpu and facts is not None and facts.platform.startswith(X86_ONLY),
        masks_stores=not (lacks_masks and "AMD" in name),
    )  # fmt: skip


def _level(size: int, ways: int, line: int, most_sets: int) -> Cache:
    """Return a cache level of whole lines. The level is fully associative if its ways do not divide its lines.

    The system places pages anywhere, so that only address bits within a page decide which lines share a set. A page has
    lines for ``most_sets`` sets. The other sets count as further ways.
    """
    lines = max(size // line, 1)
    return Cache(lines, line, min(lines // ways, most_sets) if gcd(lines, ways) == ways else 0)


def moved_lines(counts: KernelCounts, sizes: tuple[tuple[str, int], ...], device: DeviceUnits) -> dict[str, float]:
    r"""Return the quantities of the resources ``near`` and ``far``.

    A level fetches :math:`F` lines in a launch (``counts.traffic``). A cache that keeps everything would fetch
    :math:`F_1` lines. The other lines are fetched *again*. Kernels run often, so that the last lines of a run are still
    in the cache when the next run starts. Let a kernel touch B bytes, and let the caches of all units hold C bytes.
    Then :math:`F_1` counts by the share :math:`\min(1, \max(0, \log_2(4 B / C)/2))` in the second level, and by
    :func:`evicted_share` in the last level.

    A TLB is a cache of pages. Only pages that it looks up *again* count: the next page of a stream costs little.
    """
    launches = compiled_kernel(counts).tree.launches
    traffic = [_traffic(counts, sizes, device.line, order) for order in _orders(launches, device)]
    first, second, last = device.levels
    touched = traffic[-1].lines(Cache(UNBOUNDED // device.line, device.line, 0))
    return {
        **_near(touched, traffic[-1].lines(first)),
        **_far("second_level", traffic, second, device.units, touched),
        **_far("memory", traffic, last, 1, touched),
        "page_walks": _page_walks(traffic, device.pages, touched) if device.pages else 0.0,
    }


@lru_cache(maxsize=2)  # in each order, for devices that differ in one level
def _traffic(counts: KernelCounts, sizes: tuple[tuple[str, int], ...], line: int, order: str) -> TrafficAt:
    return counts.traffic(line_bytes=line, order=order).at(dict(sizes))


def _orders(launches: Sequence[CompiledLaunch[Count]], device: DeviceUnits) -> tuple[str, ...]:
    if device.order == "lockstep":
        return ("vectors",) if any(launch.row_items >= device.lanes for launch in launches) else ("serial",)
    # a compiler joins several vectors: the outer levels fetch at most as many lines as in either order
    in_vectors = all(launch.packs_items(device.masks_gathers) for launch in launches)
    return ("serial", "lockstep") if in_vectors else ("serial",)


def _near(touched: MovedLines, fetched: MovedLines) -> dict[str, float]:
    touched_lines, stored = float(touched.fetched), float(touched.stores)
    stored_jumps = min(float(touched.stored_jumps), stored)
    loaded = max(touched_lines - stored, 0.0)
    loaded_jumps = min(max(float(touched.jumps) - stored_jumps, 0.0), loaded)
    return {
        "again_loaded": max(float(fetched.loads) - float(touched.loads), 0.0),
        "again_stored": max(float(fetched.stores) - stored, 0.0),
        "first_loaded": loaded - loaded_jumps, "first_loaded_jumping": loaded_jumps,
        "first_stored": stored - stored_jumps, "first_stored_jumping": stored_jumps,
    }  # fmt: skip


def gathered_share(launches: Sequence[CompiledLaunch[float]], device: DeviceUnits) -> tuple[float, float]:
    """Return the share of accesses that gather or scatter, and the jumps that their lines count as.

    Widened accesses, and cells of rows if vectors run along a lone work-item's loop, count :data:`GATHERED_LINES`.
    Cells at a stride count :data:`STRIDED_LINES`, but on PoCL not if vectors load whole rows and shuffle them, without
    a test. A processor prefetches for loads of one address, and the instructions of a gather fill its window.
    """
    share = jumps = total = 0.0
    serial = device.order == "serial"
    for launch in launches:
        # without AVX-512, PoCL's vectors load such cells one by one, and the processor prefetches for these loads
        packs = serial and device.masks_gathers and packs_items(launch, wide=True)
        nests = launch.nests if serial else launch.unrolled
        accesses = ((nest, access) for nest in nests for access in nest.accesses)
        for nest, access in (each for each in accesses if each[1].space != "local" and not each[1].invariant):
            total += access.executions
            far = max(map(abs, access.lane_strides), default=0.0) > 1
            if serial:
                lines = STRIDED_LINES * (packs and far and (access.guarded or not access.fills_stride))
            elif launch.group_items == 1:
                gathered = access.load and not (access.contiguous or nest.calls) and nest.loops > 0
                # a loop that would scatter stays scalar
                lines = GATHERED_LINES * (gathered and all(each.load or each.contiguous for each in nest.accesses))
            elif launch.row_items < device.lanes:
                lines = 0.0
            else:
                wide = access.parts > 1 and access.bits > WIDEST_NUMBER and len(nest.operations) > 0
                lines = GATHERED_LINES if access.widened else STRIDED_LINES * (far or wide)
            share += access.executions * (lines > 0)
            jumps += access.executions * lines
    return share / max(total, 1.0), jumps / max(total, 1.0)


def _far(name: str, traffic: list[TrafficAt], level: Cache, units: int, touched: MovedLines) -> dict[str, float]:
    """Return the lines that an outer level of ``units`` caches fetches and does not hold already."""
    fetched = min((order.lines(level) for order in traffic), key=lambda lines: float(lines.fetched))
    touched_lines = float(touched.fetched)
    absent = cold_share(touched_lines * level.line_bytes, level.bytes * units)
    if name == "memory":
        absent = evicted_share(touched_lines / level.lines)
    warm = 1 - absent
    lines = max(float(fetched.fetched) - touched_lines * warm, 0.0)
    jumping = float(fetched.jumps) / float(fetched.fetched) if fetched.fetched else 0.0
    quantities = {f"{name}_streams": lines * (1 - jumping), f"{name}_jumps": lines * jumping}
    if name == "memory":
        quantities["memory_stores"] = max(float(fetched.stores) - float(touched.stores) * warm, 0.0)
    return quantities


def evicted_share(ratio: float) -> float:
    r"""Return the share s of lines that the last level loses between two runs which touch the same B = r C bytes.

    A last level does not replace the least recently used line. Let each fetched line replace a random line of the C
    bytes. Between two uses of a line :math:`s B` bytes are replaced, so that :math:`s = 1 - e^{-s r}`. Up to r = 1 all
    lines stay.
    """
    if ratio <= 1:
        return 0.0
    share = 1.0
    for _ in range(STEPS):  # 1 - e^(-s r) - s is concave: Newton's method converges from above
        stay = exp(-share * ratio)
        share -= (share - 1 + stay) / (1 - ratio * stay)
    return share


def _page_walks(traffic: list[TrafficAt], pages: Cache, touched: MovedLines) -> float:
    """Return the pages that a TLB looks up again. The result is 0 if the TLB holds a page for each line."""
    if float(touched.fetched) <= pages.lines:
        return 0.0
    all_pages = Cache(UNBOUNDED // pages.line_bytes, pages.line_bytes, 0)
    by_order = [order.in_lines(pages.line_bytes) for order in traffic]
    if any(order.holds(pages) for order in by_order):
        return 0.0
    return max(min(float(order.lines(pages).fetched - order.lines(all_pages).fetched) for order in by_order), 0.0)
