"""Caches: one work-item follows a cycle through the lines of a buffer, and each load waits for the one before.

- The **chase** gives the time of a load over the footprint. Its cycle goes through blocks of 128 KiB, one after the
  other in random order, and through the lines of a block in random order. The pages of a block therefore stay in the
  processor's TLB, and prefetchers find no pattern. Each footprint begins at a random page of the buffer. Some
  processors select a way of their first cache by a hash of the address, and two pages may share this hash. Each run
  continues where the previous one stopped.
- **Conflicts** give the ways: a chase over a few lines that are a power of two apart. Such lines share a set.
- **Pages**: a chase over one line of each page, and a chase over as many lines side by side. The difference is the time
  of page look-ups.
- **Stream**: all compute units of a CPU read their parts of a footprint again and again.
- The **line** of the first cache: pairs of loads, some bytes apart, in a footprint that the next cache holds.
"""

from collections.abc import Iterator
from math import sqrt
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perfmodel.facts import probed
from perfmodel.facts.probed import Point
from perfmodel.measuring.probes.probe import Earlier, Instrument, Probe, ProbeSettings
from perfmodel.values import grouped

SOURCE = """
kernel void chase(global const uint *next, global uint *place, int loads)
{
    uint at = place[0];
    for (int k = 0; k < loads; k++) at = next[at];
    place[0] = at;
}
"""
LINK = """
kernel void link(global uint *next, global const uint *order, uint lines, uint cells)
{
    uint k = get_global_id(0);
    if (k < lines) next[order[k]*cells] = order[k + 1 < lines ? k + 1 : 0]*cells;
}
"""
STREAM = """
kernel void stream(global const float8 *numbers, global float *out, int cells, int rounds)
{
    numbers += (size_t)get_group_id(0)*cells;
    float8 a = 0, b = 0, c = 0, d = 0;
    for (int round = 0; round < rounds; round++)
        for (int k = 0; k < cells; k += 4) {
            a += numbers[k];
            b += numbers[k + 1];
            c += numbers[k + 2];
            d += numbers[k + 3];
        }
    a += b + c + d;
    out[get_group_id(0)] = a.s0 + a.s1 + a.s2 + a.s3 + a.s4 + a.s5 + a.s6 + a.s7;
}
"""
LEAST_BYTES = 2**12
STEPS = (4, 5, 6, 7)  # footprints are these, times powers of two: all usual sizes of caches are among them
LARGE_BYTES, LARGE_STEPS = 2**25, (4, 4 * sqrt(2))  # from here on, footprints are further apart
LINE_BYTES, PAGE_LINES, BLOCK_LINES, SLACK_PAGES = 64, 64, 2048, 1024
CELL = 4  # bytes
LINKED = 64  # work-items of a group that links lines
WARM_S = 0.4  # longest time that one footprint is visited before it is timed [s]
MORE, AGREEMENT = 2, 0.1  # further visits to the footprints whose two lowest visits differ by more than this share
STRIDES = (2**12, 2**14, 2**16, 2**18)
LINES = (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 20, 22, 24, 28, 32, 36, 40)
"""Distances of lines that may share a set [B], and numbers of such lines."""
PAGES = tuple(2**power * step // 4 for power in range(6, 14) for step in STEPS)  # numbers of pages
STREAMED, STREAMS = 2**26, (
    *(2**power * step // 4 for power in range(20, 27) for step in STEPS),
    *(int(2 ** (power / 2)) // 2**20 * 2**20 for power in range(54, 61)),
)
"""Least bytes that a run reads, and footprints; a virtual machine may use much of its host's last-level cache."""
FARTHER = 4  # largest footprint of a stream over the largest footprint of a chase
STREAM_PART = 128  # bytes that a unit reads in a step
PAIR_BYTES, APART = 512, (4, 8, 16, 32, 64, 128, 256)  # distance of pairs of loads, and of the two loads of a pair [B]
LONGEST = 8.0  # footprint of pairs over the first cache's capacity, without a second cache

Cells = NDArray[np.uint32]


def footprints(most_bytes: int) -> tuple[int, ...]:
    """Return the footprints [B] from 4 KiB up to the largest."""
    octaves = [2**power for power in range(LEAST_BYTES.bit_length() - 1, most_bytes.bit_length())]
    every = [
        int(octave * step / STEPS[0]) // LINE_BYTES * LINE_BYTES
        for octave in octaves for step in (STEPS if octave < LARGE_BYTES else LARGE_STEPS)
    ]  # fmt: skip
    return tuple(octets for octets in every if octets <= most_bytes)


def disagreeing(visited: Earlier) -> tuple[int, ...]:
    """Return the footprints [B] whose two shortest times of visits differ by more than :data:`AGREEMENT`."""
    several = grouped(
        (int(octets), seconds) for visit in visited for (octets,), seconds in probed.times([visit], "bytes").items()
    )
    lowest = {octets: sorted(seconds)[:2] for octets, seconds in several.items()}
    return tuple(octets for octets, two in lowest.items() if two[-1] > (1 + AGREEMENT) * two[0])


def cycle(lines: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Return the order in which the lines are visited, each line once."""
    blocks = generator.permutation(-(-lines // BLOCK_LINES)) * BLOCK_LINES
    return np.concatenate([first + generator.permutation(min(BLOCK_LINES, lines - first)) for first in blocks.tolist()])


def linked(positions: NDArray[np.int64], cells: int) -> Cells:
    """Return cells that form a cycle. Each of the positions holds the next position, and the last holds the first."""
    buffer = np.zeros(cells, np.uint32)
    buffer[positions] = np.roll(positions, -1)
    return buffer


def follow(instrument: Instrument, settings: ProbeSettings, at: dict[str, Any], length: int) -> Point:
    """Time a chase whose buffers are set. First go through the `length` loads once, as far as time allows."""
    kernel, part = instrument.kernel(SOURCE), min(length, 2**14)
    done, began = 0, monotonic()
    kernel.set_arg(2, np.int32(part))
    while done < length and monotonic() - began < WARM_S:
        instrument.times(kernel, 1, 1, 1)
        done += part
    return Point(at, instrument.amount(kernel, 2, 1, settings.run_s), instrument.times(kernel, 1, 1, settings.runs))


def launch(instrument: Instrument, settings: ProbeSettings, at: dict[str, Any]) -> Point:
    """Time the kernel without loads."""
    kernel = instrument.kernel(SOURCE)
    kernel.set_arg(2, np.int32(0))
    return Point(at, 0, instrument.times(kernel, 1, 1, settings.runs + 10))


def _chase(instrument: Instrument, settings: ProbeSettings, earlier: Earlier) -> Iterator[Point]:
    generator, began = np.random.default_rng(len(earlier)), monotonic()
    most = instrument.most_bytes(settings.most_bytes)
    visited = probed.newest(earlier, probed.CHASE)
    every = footprints(most) if len(visited) < settings.visits else disagreeing(visited)
    slack = SLACK_PAGES * PAGE_LINES
    with instrument.memory(max(every, default=CELL) + slack * LINE_BYTES, np.zeros(1, np.uint32)) as (buffer, start):
        instrument.kernel(SOURCE).set_args(buffer, start, np.int32(0))
        if every:
            yield launch(instrument, settings, {"bytes": every[0]})
        for octets in every:
            if monotonic() - began > settings.most_s:
                return
            first = int(generator.integers(SLACK_PAGES)) * PAGE_LINES
            order = (first + cycle(octets // LINE_BYTES, generator)).astype(np.uint32)
            _link(instrument, buffer, order)
            instrument.write(start, order[:1] * np.uint32(LINE_BYTES // CELL))
            yield follow(instrument, settings, {"bytes": octets}, len(order))


def _link(instrument: Instrument, buffer: Any, order: Cells) -> None:
    kernel = instrument.kernel(LINK)
    with instrument.memory(order) as (lines,):
        kernel.set_args(buffer, lines, np.uint32(len(order)), np.uint32(LINE_BYTES // CELL))
        instrument.times(kernel, -(-len(order) // LINKED), LINKED, 1)


def _conflicts(instrument: Instrument, settings: ProbeSettings, earlier: Earlier) -> Iterator[Point]:
    generator, kernel = np.random.default_rng(len(earlier)), instrument.kernel(SOURCE)
    with instrument.memory(STRIDES[-1] * LINES[-1], np.zeros(1, np.uint32)) as (buffer, start):
        kernel.set_args(buffer, start, np.int32(0))
        instrument.write(buffer, np.zeros(1, np.uint32))
        yield launch(instrument, settings, {"stride": STRIDES[0], "lines": 1})
        for stride in STRIDES:
            for lines in LINES:
                cells = generator.permutation(lines) * (stride // CELL)
                for cell, following in zip(cells.tolist(), np.roll(cells, -1).tolist(), strict=True):
                    instrument.write(buffer, np.array([following], np.uint32), cell * CELL)
                instrument.write(start, cells[:1].astype(np.uint32))
                yield follow(instrument, settings, {"stride": stride, "lines": lines}, lines)


def _line(instrument: Instrument, settings: ProbeSettings, earlier: Earlier) -> Iterator[Point]:
    level = probed.capacities(earlier)
    if not level:
        return
    beyond = level[1].last / level[0].first if len(level) > 1 else LONGEST**2
    octets = int(level[0].first * sqrt(beyond)) // PAIR_BYTES * PAIR_BYTES
    generator, kernel = np.random.default_rng(len(earlier)), instrument.kernel(SOURCE)
    pairs = generator.permutation(octets // PAIR_BYTES) * (PAIR_BYTES // CELL)
    for apart in APART:
        positions = np.column_stack((pairs, pairs + apart // CELL)).ravel()
        with instrument.memory(linked(positions, octets // CELL), np.zeros(1, np.uint32)) as (buffer, start):
            instrument.write(start, pairs[:1].astype(np.uint32))
            kernel.set_args(buffer, start, np.int32(0))
            if apart == APART[0]:
                yield launch(instrument, settings, {"apart": apart})
            yield follow(instrument, settings, {"apart": apart}, len(positions))


def _is_cpu(instrument: Instrument) -> bool:
    return bool(instrument.device.facts.known("device_type") == "cpu")


def _pages(instrument: Instrument, settings: ProbeSettings, earlier: Earlier) -> Iterator[Point]:
    if not _is_cpu(instrument):
        return
    generator, page_bytes = np.random.default_rng(len(earlier)), PAGE_LINES * LINE_BYTES
    most = instrument.most_bytes(settings.most_bytes) // page_bytes
    counts = [pages for pages in PAGES if pages <= most]
    with instrument.memory(max(counts, default=1) * page_bytes, np.zeros(1, np.uint32)) as (buffer, start):
        instrument.kernel(SOURCE).set_args(buffer, start, np.int32(0))
        yield launch(instrument, settings, {"pages": PAGES[0], "lines": "packed"})
        for pages in counts:
            order = generator.permutation(pages).astype(np.uint32)
            for kind, lines in (("packed", order), ("spread", order * PAGE_LINES + order % PAGE_LINES)):
                _link(instrument, buffer, lines)
                instrument.write(start, lines[:1] * np.uint32(LINE_BYTES // CELL))
                yield follow(instrument, settings, {"pages": pages, "lines": kind}, pages)


def _stream(instrument: Instrument, settings: ProbeSettings, earlier: Earlier) -> Iterator[Point]:
    if not _is_cpu(instrument):
        return
    units, kernel = instrument.known("compute_units", 1), instrument.kernel(STREAM)
    most = instrument.most_bytes(FARTHER * settings.most_bytes)
    with instrument.memory(np.zeros(most // CELL, np.float32), units * CELL) as (numbers, out):
        for octets in (octets for octets in STREAMS if octets <= most):
            part = octets // units // STREAM_PART * STREAM_PART
            rounds = max(1, STREAMED // octets)
            kernel.set_args(numbers, out, np.int32(part // (8 * CELL)), np.int32(rounds))
            at = {"bytes": octets, "units": units}
            yield Point(at, rounds * part * units, instrument.times(kernel, units, 1, settings.runs))


CHASE = Probe(probed.CHASE, _chase, MORE)
CONFLICTS, LINE = Probe(probed.CONFLICTS, _conflicts), Probe(probed.LINE, _line)
PAGE, LAST = Probe(probed.PAGES, _pages), Probe(probed.STREAM, _stream)
