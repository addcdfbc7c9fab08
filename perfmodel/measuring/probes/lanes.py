"""The order of lanes: two loops, and each lane makes all its trips in one (:mod:`perfmodel.facts.probed`)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfmodel.facts.probe_run import Point
from perfmodel.facts.probed import LANES
from perfmodel.measuring.probes.probe import DTYPES, Earlier, Instrument, Probe, ProbeSettings

SOURCE = """
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64: enable
#endif
kernel void lanes(global REAL *out, global const int *kind, REAL p, REAL q, int trips)
{
    int lane = get_local_id(0), first = kind[lane] ? trips : 0, second = trips - first;
    REAL x = out[lane];
    for (int k = 0; k < first; k++) x = x*p + q;
    for (int k = 0; k < second; k++) x = x*q - p;
    out[lane] = x;
}
"""
WIDEST = 256
FEWER = (1, 8, 32, 64)
"""Groups of so many lanes of one kind tell whether more of them are free."""


def _points(instrument: Instrument, settings: ProbeSettings, earlier: Earlier) -> Iterator[Point]:
    widest = min(WIDEST, instrument.known("max_work_group_size", WIDEST))
    widest = 2 ** (widest.bit_length() - 1)
    for dtype in instrument.dtypes:
        number = np.dtype(dtype).type
        kernel = instrument.kernel(SOURCE, f"-DREAL={DTYPES[dtype]}")
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


PROBE = Probe(LANES, _points)
