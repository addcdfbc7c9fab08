"""The cost of barriers: one group loops over a body with 0 to 32 of them (:mod:`perfmodel.facts.probed`)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfmodel.facts.probe_run import Point
from perfmodel.facts.probed import BARRIERS
from perfmodel.measuring.probes.probe import Earlier, Instrument, Probe, ProbeSettings

HEAD = """
kernel void barriers(global float *out, float p, float q, int rounds)
{
    int lane = get_local_id(0);
    float x = out[lane];
    for (int k = 0; k < rounds; k++) {
"""
STEP = "        x = x*p + q;\n"
BARRIER = "        barrier(CLK_LOCAL_MEM_FENCE);\n"
TAIL = "    }\n    out[lane] = x;\n}\n"
NUMBERS = (0, 2, 8, 32)
ITEMS = (16, 64, 256)


def source(barriers: int) -> str:
    """Return the kernel with so many barriers in its loop, each after a step of arithmetic; with none, one step."""
    return HEAD + ((STEP + BARRIER) * barriers or STEP) + TAIL


def _points(instrument: Instrument, settings: ProbeSettings, earlier: Earlier) -> Iterator[Point]:
    largest = instrument.known("max_work_group_size", ITEMS[-1])
    with instrument.memory(np.ones(ITEMS[-1], np.float32)) as (out,):
        for barriers in NUMBERS:
            kernel = instrument.kernel(source(barriers))
            kernel.set_args(out, np.float32(0.5), np.float32(0.25), np.int32(0))
            for items in (items for items in ITEMS if items <= largest):
                at = {"barriers": barriers, "items": items}
                if barriers == 0:
                    kernel.set_arg(3, np.int32(0))
                    yield Point(at, 0, instrument.times(kernel, 1, items, settings.runs + 10))
                rounds = instrument.amount(kernel, 3, items, settings.run_s)
                yield Point(at, rounds, instrument.times(kernel, 1, items, settings.runs))


PROBE = Probe(BARRIERS, _points)
