"""What the times of a probe can be. A visit with others was disturbed: it is measured again, and gives no fact.

Bounds are wide: no device that runs kernels comes near to them, and only a machine that does something else goes
beyond them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations
from types import MappingProxyType

from perfmodel.facts import probed
from perfmodel.facts.probe_run import ProbeRun, times

LOAD_S = (5e-11, 1e-5)
"""A load whose address waits for another takes a cycle of a clock at least, and less than a page from a disk [s]."""
BYTE_S = (1e-14, 1e-7)
"""A byte of a stream [s]."""
BARRIER_S = 1e-3
"""Most time of a barrier [s]."""
NOISE = 2.0
"""Times of two kernels may be off by this factor."""
WIDEST = 64
"""Most lanes of a vector."""


def disturbed(run: ProbeRun) -> str:
    """Return what cannot be among the times of a visit, in words; "" where all can be.

    Examples
    --------
    >>> from perfmodel.facts.probe_run import Point
    >>> points = (Point({"bytes": 64}, 1000, (1e-9,)), Point({"bytes": 128}, 1000, (2e-6,)))
    >>> disturbed(ProbeRun("chase", "quick", 0, 0, "d", "p", "1", {}, "", 1.0, 0, points))
    'a load takes 1e-12 s, and can take 5e-11 to 1e-05 s'
    """
    check = _CHECKS.get(run.probe)
    return next(check(run), "") if check else ""


def undisturbed(runs: Iterable[ProbeRun]) -> tuple[ProbeRun, ...]:
    """Return the visits whose times can be."""
    return tuple(run for run in runs if not disturbed(run))


def _within(what: str, seconds: Iterable[float], bounds: tuple[float, float]) -> Iterator[str]:
    low, high = bounds
    for value in seconds:
        if not low <= value <= high:
            yield f"{what} takes {value:.2g} s, and can take {low:g} to {high:g} s"


def _loads(run: ProbeRun) -> Iterator[str]:
    return _within("a load", (s for s in run.seconds().values() if s > 0), LOAD_S)


def _stream(run: ProbeRun) -> Iterator[str]:
    return _within("a byte", (s for s in run.seconds().values() if s > 0), BYTE_S)


def _lanes(run: ProbeRun) -> Iterator[str]:
    """Check the times of more lanes of one kind over those of fewer, and of two kinds over one.

    Many lanes may run one by one, and then take longer by as much as there are more of them. Few may, too, where only
    whole vectors run in step; many lanes take no less than one of them.
    """
    curve = times([run], "block", "lanes", dtype="float32")
    alone = sorted((int(lanes), seconds) for (block, lanes), seconds in curve.items() if block == lanes)
    for (few, quick), (many, slow) in combinations(alone, 2):
        least, most = 1 / few, many / few
        if not least / NOISE <= slow / quick <= NOISE * most:
            yield f"{many} lanes take {slow / quick:.2g} times as long as {few}: {least:.2g} to {most:g} can be"
    widest = max((lanes for lanes, _ in alone), default=0)
    for (block, lanes), seconds in curve.items():
        ratio = seconds / dict(alone)[widest] if lanes == widest else 1.0
        if not 1 / NOISE <= ratio <= 2 * NOISE:
            yield f"lanes of two kinds in blocks of {block} take {ratio:.2g} times as long as of one: 1 to 2 can be"


def _nests(run: ProbeRun) -> Iterator[str]:
    for dtype in probed.DTYPES:
        gain = probed.vector_gain([run], dtype)
        if gain > NOISE * WIDEST:
            yield f"{dtype} without a loop is {gain:.3g} times as fast as with one, and can be up to {WIDEST} times"


def _barriers(run: ProbeRun) -> Iterator[str]:
    return _within("a barrier", probed.barrier_slopes([run]).values(), (0.0, BARRIER_S))


def _overlap(run: ProbeRun) -> Iterator[str]:
    """Both take as long as the longer one at least, and as both one after the other at most."""
    for memory, computing, both in probed.triples([run]).values():
        low, high = max(memory, computing), memory + computing
        if not low / NOISE <= both <= NOISE * high:
            yield f"memory and computing take {both:.2g} s together, and can take {low:.2g} to {high:.2g} s"


_CHECKS: Mapping[str, Callable[[ProbeRun], Iterator[str]]] = MappingProxyType({
    probed.CHASE: _loads, probed.CONFLICTS: _loads, probed.LINE: _loads, probed.PAGES: _loads, probed.STREAM: _stream,
    probed.LANES: _lanes, probed.NESTS: _nests, probed.BARRIERS: _barriers, probed.OVERLAP: _overlap,
})  # fmt: skip
