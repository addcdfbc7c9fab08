"""How a device executes: :mod:`perfmodel.facts.probed` makes facts of these four probes.

- **Lanes**: two loops. Each lane makes all its trips in one of the loops. The probe varies which lanes use which loop.
- **Nests**: a chain of operations in each lane, straight, and inside of a loop with one trip. A compiler that runs
  lanes one after the other puts neighbouring lanes into a vector only where no loop is inside.
- **Barriers**: one group loops over a body with 0 to 32 barriers.
- **Overlap**: memory and arithmetic, alone and together. Each work-item loads one number, takes it through a chain of
  operations and stores it. In ``compute`` the groups of a part load the same numbers. In ``memory`` there is no chain.
  In ``both`` there is the chain, and each group loads its own numbers. A kernel with neither memory nor arithmetic
  gives the cost of the launch and its groups.

In nests and overlap, neighbouring groups share the cells of a part of the launch, which stay in the cache of a core.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from perfmodel.facts import probed
from perfmodel.facts.probed import Point
from perfmodel.measuring.probes.probe import DTYPES, Earlier, Instrument, Probe, ProbeSettings

FLOAT64 = """
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64: enable
#endif"""
# a step of a chain, and the end of a kernel of nests and of overlap
STEP, TAIL = "    x = x*p + q;\n", "    (out + part)[lane] = x;\n}\n"

LANES_SOURCE = f"""{FLOAT64}
kernel void lanes(global REAL *out, global const int *kind, REAL p, REAL q, int trips)
{{
    int lane = get_local_id(0), first = kind[lane] ? trips : 0, second = trips - first;
    REAL x = out[lane];
    for (int k = 0; k < first; k++) x = x*p + q;
    for (int k = 0; k < second; k++) x = x*q - p;
    out[lane] = x;
}}
"""
WIDEST = 256
FEWER = (1, 8, 32, 64)  # sizes of groups whose lanes all use one loop; they show whether more lanes take longer

NESTS_HEAD = f"""{FLOAT64}
kernel void nest(global REAL *restrict out, global const REAL *restrict in, REAL p, REAL q, int trips, int share)
{{
    size_t lane = get_local_id(0), part = get_group_id(0)/share*get_local_size(0);
    REAL x = (in + part)[lane];
"""
NESTS_LOOP = "    for (int k = 0; k < trips; k++) {\n"
NESTS_OPERATIONS, NESTS_ITEMS, NESTS_PARTS = (32, 64), 256, 16

BARRIERS_HEAD = """
kernel void barriers(global float *out, float p, float q, int rounds)
{
    int lane = get_local_id(0);
    float x = out[lane];
    for (int k = 0; k < rounds; k++) {
"""
BARRIER = "        barrier(CLK_LOCAL_MEM_FENCE);\n"
BARRIERS_TAIL = "    }\n    out[lane] = x;\n}\n"
BARRIERS_NUMBERS, BARRIERS_ITEMS = (0, 2, 8, 32), (16, 64, 256)

OVERLAP_HEAD = """
kernel void overlap(global float *restrict out, global const float *restrict in, float p, float q)
{
    size_t lane = get_local_id(0), part = get_group_id(0)/SHARE*get_local_size(0);
    float x = FIRST_VALUE;
"""
SEPARATE, SHARED = "in[get_global_id(0)]", "(in + part)[lane]"
FIRST_VALUES = {"launch": "p", "memory": SEPARATE, "compute": SHARED, "both": SEPARATE}
OVERLAP_ITEMS, OVERLAP_PARTS = 4096, 64
OVERLAP_OPERATIONS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
RATIO = 2.5  # chains are used if their time is within this factor of the memory's time
LARGEST = 2**26  # bytes that are loaded, if the device has room and the settings allow it


def _lanes(instrument: Instrument, settings: ProbeSettings, earlier: Earlier) -> Iterator[Point]:
    widest = min(WIDEST, instrument.known("max_work_group_size", WIDEST))
    widest = 2 ** (widest.bit_length() - 1)
    for dtype in instrument.dtypes:
        number = np.dtype(dtype).type
        kernel = instrument.kernel(LANES_SOURCE, f"-DREAL={DTYPES[dtype]}")
        with instrument.memory(np.ones(WIDEST, dtype), np.ones(WIDEST, np.int32)) as (out, kind):
            kernel.set_args(out, kind, number(0.5), number(0.25), np.int32(0))
            yield Point({"block": widest, "lanes": widest, "dtype": dtype}, 0,
                        instrument.times(kernel, 1, widest, settings.runs + 10))  # fmt: skip
            trips = instrument.amount(kernel, 4, widest, settings.run_s)
            for block in (2**power for power in range(widest.bit_length())):
                instrument.write(kind, (np.arange(WIDEST) // block % 2).astype(np.int32))
                at = {"block": block, "lanes": widest, "dtype": dtype}
                yield Point(at, trips, instrument.times(kernel, 1, widest, settings.runs))
            instrument.write(kind, np.zeros(WIDEST, np.int32))
            for lanes in FEWER if dtype == "float32" else ():
                trips = instrument.amount(kernel, 4, lanes, settings.run_s)
                at = {"block": lanes, "lanes": lanes, "dtype": dtype}
                yield Point(at, trips, instrument.times(kernel, 1, lanes, settings.runs))


def nest_source(nest: str, operations: int) -> str:
    """Return the kernel with a chain of `operations` multiplications and additions, ``straight`` or ``looped``."""
    chain = STEP * operations
    return NESTS_HEAD + (f"{NESTS_LOOP}{chain}    }}\n" if nest == "looped" else chain) + TAIL


def _nests(instrument: Instrument, settings: ProbeSettings, earlier: Earlier) -> Iterator[Point]:
    items = min(NESTS_ITEMS, instrument.known("max_work_group_size", NESTS_ITEMS))
    cells = NESTS_PARTS * NESTS_ITEMS
    for dtype in instrument.dtypes:
        number = np.dtype(dtype).type
        with instrument.memory(np.ones(cells, dtype), cells * 8) as (values, out):
            for nest in ("straight", "looped"):
                for operations in NESTS_OPERATIONS:
                    kernel = instrument.kernel(nest_source(nest, operations), f"-DREAL={DTYPES[dtype]}")
                    kernel.set_args(out, values, number(0.5), number(0.25), np.int32(1), np.int32(1))
                    at = {"nest": nest, "operations": operations, "dtype": dtype}
                    groups = _groups(instrument, kernel, items, settings.run_s)
                    yield Point(at, groups * items, instrument.times(kernel, groups, items, settings.runs))


def _groups(instrument: Instrument, kernel: Any, items: int, aim_s: float) -> int:
    groups, seconds = NESTS_PARTS, 0.0
    while seconds < aim_s / 2 and groups < 2**20:
        groups *= 4
        kernel.set_arg(5, np.int32(groups // NESTS_PARTS))
        seconds = min(instrument.times(kernel, groups, items, 2))
    return groups


def barrier_source(barriers: int) -> str:
    """Return the kernel whose loop has `barriers` barriers, each after a step of arithmetic. For 0, it is one step."""
    step = f"    {STEP}"
    return BARRIERS_HEAD + ((step + BARRIER) * barriers or step) + BARRIERS_TAIL


def _barriers(instrument: Instrument, settings: ProbeSettings, earlier: Earlier) -> Iterator[Point]:
    most = BARRIERS_ITEMS[-1]
    largest = instrument.known("max_work_group_size", most)
    with instrument.memory(np.ones(most, np.float32)) as (out,):
        for barriers in BARRIERS_NUMBERS:
            kernel = instrument.kernel(barrier_source(barriers))
            kernel.set_args(out, np.float32(0.5), np.float32(0.25), np.int32(0))
            for items in (items for items in BARRIERS_ITEMS if items <= largest):
                at = {"barriers": barriers, "items": items}
                if barriers == 0:
                    kernel.set_arg(3, np.int32(0))
                    yield Point(at, 0, instrument.times(kernel, 1, items, settings.runs + 10))
                rounds = instrument.amount(kernel, 3, items, settings.run_s)
                yield Point(at, rounds, instrument.times(kernel, 1, items, settings.runs))


def overlap_source(part: str, operations: int) -> str:
    """Return the kernel of a part, with a chain of `operations` operations."""
    return OVERLAP_HEAD.replace("FIRST_VALUE", FIRST_VALUES[part]) + STEP * operations + TAIL


def _overlap(instrument: Instrument, settings: ProbeSettings, earlier: Earlier) -> Iterator[Point]:
    items = min(OVERLAP_ITEMS, instrument.known("max_work_group_size", OVERLAP_ITEMS))
    groups = instrument.most_bytes(min(LARGEST, settings.most_bytes)) // (4 * items)
    share = -(-groups // OVERLAP_PARTS)
    with instrument.memory(np.ones(groups * items, np.float32), 4 * OVERLAP_PARTS * items) as (numbers, out):

        def timed(part: str, operations: int = 0) -> Point:
            kernel = instrument.kernel(overlap_source(part, operations), f"-DSHARE={share}")
            kernel.set_args(out, numbers, np.float32(0.5), np.float32(0.25))
            runs = instrument.times(kernel, groups, items, 2 * settings.runs)
            return Point({"part": part, "operations": operations}, 0 if part == "launch" else 1, runs)

        yield timed("launch")
        moved = timed("memory")
        yield moved
        chosen = sorted(probed.triples(earlier))
        alone, quickest = 0.0, min(moved.host_s)
        for operations in chosen or OVERLAP_OPERATIONS:
            if alone > RATIO * quickest and not chosen:
                return
            computed = timed("compute", operations)
            yield computed
            alone = min(computed.host_s)
            if chosen or quickest / RATIO <= alone <= RATIO * quickest:
                yield timed("both", operations)


LANES, NESTS = Probe(probed.LANES, _lanes), Probe(probed.NESTS, _nests)
BARRIERS, OVERLAP = Probe(probed.BARRIERS, _barriers), Probe(probed.OVERLAP, _overlap)
