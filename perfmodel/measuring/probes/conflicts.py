"""The ways of the caches: a chase over a few lines that are a power of two apart, and so share a set."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfmodel.facts.probe_run import Point
from perfmodel.facts.probed import CONFLICTS
from perfmodel.measuring.probes.chase import CELL, SOURCE, follow, launch
from perfmodel.measuring.probes.probe import Earlier, Instrument, Probe, ProbeSettings

STRIDES = (2**12, 2**14, 2**16, 2**18)
LINES = (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 20, 22, 24, 28, 32, 36, 40)


def _points(instrument: Instrument, settings: ProbeSettings, earlier: Earlier) -> Iterator[Point]:
    generator, kernel = np.random.default_rng(len(earlier)), instrument.kernel(SOURCE)
    with instrument.memory(STRIDES[-1] * LINES[-1], np.zeros(1, np.uint32)) as (buffer, place):
        kernel.set_arg(0, buffer)
        kernel.set_arg(1, place)
        instrument.write(buffer, np.zeros(1, np.uint32))
        yield launch(instrument, settings, {"stride": STRIDES[0], "lines": 1})
        for stride in STRIDES:
            for lines in LINES:
                cells = generator.permutation(lines) * (stride // CELL)
                for cell, following in zip(cells.tolist(), np.roll(cells, -1).tolist(), strict=True):
                    instrument.write(buffer, np.array([following], np.uint32), cell * CELL)
                instrument.write(place, cells[:1].astype(np.uint32))
                yield follow(instrument, settings, {"stride": stride, "lines": lines}, lines)


PROBE = Probe(CONFLICTS, _points)
