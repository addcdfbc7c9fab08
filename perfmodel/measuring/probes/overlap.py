"""Memory and arithmetic, alone and together (:mod:`perfmodel.facts.probed`).

Each work-item loads one number, takes it through a chain of operations and stores it in a cell that neighbouring
groups share, so that it stays in the cache of a core. In ``compute`` these groups load the same numbers; in ``memory``
there is no chain; in ``both`` there is the chain, and each group loads its own numbers. A kernel without both gives the
cost of the launch and of its groups.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfmodel.facts.probe_run import Point
from perfmodel.facts.probed import OVERLAP, triples
from perfmodel.measuring.probes.probe import Earlier, Instrument, Probe, ProbeSettings

HEAD = """
kernel void overlap(global float *restrict out, global const float *restrict in, float p, float q)
{
    size_t lane = get_local_id(0), part = get_group_id(0)/SHARE*get_local_size(0);
    float x = PLACE;
"""
STEP = "    x = x*p + q;\n"
TAIL = "    (out + part)[lane] = x;\n}\n"
OWN, SHARED = "in[get_global_id(0)]", "(in + part)[lane]"
PLACES = {"launch": "p", "memory": OWN, "compute": SHARED, "both": OWN}
ITEMS = 4096
PARTS = 64
"""Parts of the launch whose groups share their cells."""
OPERATIONS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
RATIO = 2.5
"""Chains are taken whose time is within this factor of that of memory."""
LARGEST = 2**26
"""Bytes that are loaded, if the device has room and the settings allow it."""


def source(part: str, operations: int) -> str:
    """Return the kernel of a part, with a chain of so many operations."""
    return HEAD.replace("PLACE", PLACES[part]) + STEP * operations + TAIL


def _points(instrument: Instrument, settings: ProbeSettings, earlier: Earlier) -> Iterator[Point]:
    items = min(ITEMS, instrument.known("max_work_group_size", ITEMS))
    memory = min(instrument.known("global_memory_bytes", LARGEST) // 4, instrument.known("max_alloc_bytes", LARGEST))
    groups = min(LARGEST, settings.most_bytes, memory) // (4 * items)
    share = -(-groups // PARTS)
    with instrument.memory(np.ones(groups * items, np.float32), 4 * PARTS * items) as (numbers, out):

        def timed(part: str, operations: int = 0) -> Point:
            kernel = instrument.kernel(source(part, operations), f"-DSHARE={share}")
            kernel.set_args(out, numbers, np.float32(0.5), np.float32(0.25))
            runs = instrument.times(kernel, groups, items, 2 * settings.runs)
            return Point({"part": part, "operations": operations}, 0 if part == "launch" else 1, runs)

        yield timed("launch")
        moved = timed("memory")
        yield moved
        chosen = sorted(triples(earlier))
        alone, quickest = 0.0, min(moved.host_s)
        for operations in chosen or OPERATIONS:
            if alone > RATIO * quickest and not chosen:
                return
            computed = timed("compute", operations)
            yield computed
            alone = min(computed.host_s)
            if chosen or quickest / RATIO <= alone <= RATIO * quickest:
                yield timed("both", operations)


PROBE = Probe(OVERLAP, _points)
