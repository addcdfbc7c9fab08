"""What vectors gain: a chain of operations in each lane, straight, and inside of a loop with one trip.

A compiler that runs lanes one after the other puts neighbouring lanes into a vector only where no loop is inside.
Neighbouring groups share their cells, which stay in the cache of a core, so that no memory is waited for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from perfmodel.facts.probe_run import Point
from perfmodel.facts.probed import NESTS
from perfmodel.measuring.probes.probe import DTYPES, Earlier, Instrument, Probe, ProbeSettings

HEAD = """
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64: enable
#endif
kernel void nest(global REAL *restrict out, global const REAL *restrict in, REAL p, REAL q, int trips, int share)
{
    size_t lane = get_local_id(0), part = get_group_id(0)/share*get_local_size(0);
    REAL x = (in + part)[lane];
"""
STEP = "    x = x*p + q;\n"
TAIL = "    (out + part)[lane] = x;\n}\n"
LOOP = "    for (int k = 0; k < trips; k++) {\n"
OPERATIONS = (32, 64)
ITEMS = 256
PARTS = 16
"""Parts of the launch whose groups share their cells."""


def source(nest: str, operations: int) -> str:
    """Return the kernel with a chain of so many multiplications and additions, ``straight`` or ``looped``."""
    chain = STEP * operations
    return HEAD + (f"{LOOP}{chain}    }}\n" if nest == "looped" else chain) + TAIL


def _points(instrument: Instrument, settings: ProbeSettings, earlier: Earlier) -> Iterator[Point]:
    items = min(ITEMS, instrument.known("max_work_group_size", ITEMS))
    for dtype in instrument.dtypes:
        number = np.dtype(dtype).type
        with instrument.memory(np.ones(PARTS * ITEMS, dtype), PARTS * ITEMS * 8) as (values, out):
            for nest in ("straight", "looped"):
                for operations in OPERATIONS:
                    kernel = instrument.kernel(source(nest, operations), f"-DREAL={DTYPES[dtype]}")
                    kernel.set_args(out, values, number(0.5), number(0.25), np.int32(1), np.int32(1))
                    at = {"nest": nest, "operations": operations, "dtype": dtype}
                    groups = _groups(instrument, kernel, items, settings.run_s)
                    yield Point(at, groups * items, instrument.times(kernel, groups, items, settings.runs))


def _groups(instrument: Instrument, kernel: Any, items: int, aim_s: float) -> int:
    """Return how many groups take about a time."""
    groups, seconds = PARTS, 0.0
    while seconds < aim_s / 2 and groups < 2**20:
        groups *= 4
        kernel.set_arg(5, np.int32(groups // PARTS))
        seconds = min(instrument.times(kernel, groups, items, 2))
    return groups


PROBE = Probe(NESTS, _points)
