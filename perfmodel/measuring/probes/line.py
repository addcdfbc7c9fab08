"""The line of the first-level cache: pairs of loads, some bytes apart, in a footprint that the next cache holds."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

import numpy as np

from perfmodel.facts.probe_run import Point
from perfmodel.facts.probed import LINE, capacities
from perfmodel.measuring.probes.chase import CELL, SOURCE, follow, launch, linked
from perfmodel.measuring.probes.probe import Earlier, Instrument, Probe, ProbeSettings

BLOCK_BYTES = 512
APART = (4, 8, 16, 32, 64, 128, 256)
LONGEST = 8.0
"""Without a second cache, the footprint is so many times the first one's capacity."""


def _points(instrument: Instrument, settings: ProbeSettings, earlier: Earlier) -> Iterator[Point]:
    level = capacities(earlier)
    if not level:
        return
    beyond = level[1].last / level[0].first if len(level) > 1 else LONGEST**2
    octets = int(level[0].first * sqrt(beyond)) // BLOCK_BYTES * BLOCK_BYTES
    generator, kernel = np.random.default_rng(len(earlier)), instrument.kernel(SOURCE)
    blocks = generator.permutation(octets // BLOCK_BYTES) * (BLOCK_BYTES // CELL)
    for apart in APART:
        places = np.column_stack((blocks, blocks + apart // CELL)).ravel()
        with instrument.memory(linked(places, octets // CELL), np.zeros(1, np.uint32)) as (buffer, place):
            instrument.write(place, blocks[:1].astype(np.uint32))
            kernel.set_arg(0, buffer)
            kernel.set_arg(1, place)
            if apart == APART[0]:
                yield launch(instrument, settings, {"apart": apart})
            yield follow(instrument, settings, {"apart": apart}, len(places))


PROBE = Probe(LINE, _points)
