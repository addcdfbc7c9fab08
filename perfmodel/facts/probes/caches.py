r"""Capacities, lines and ways of caches, from pointer chases of one work-item.

Each load of a chase gives the address of the next one, so that its time is the latency of a load. The chase visits
all lines of a footprint in a random cycle. While the footprint fits into a cache, that cache answers; the curve over
the footprint has a step at each capacity (:mod:`perfmodel.facts.probes.steps`). It is the capacity that one work-item
sees: on a machine that others share, that may be less than the cache has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import log2, sqrt

import numpy as np

from perfmodel.facts.fact import Fact
from perfmodel.facts.probes.run import ProbeRun, newest, times
from perfmodel.facts.probes.steps import Step, steps

CHASE, CONFLICTS, LINE = "chase", "conflicts", "line"
LEVELS = ("l1", "l2", "l3")
CLEAR = 1.2
"""Times that differ by less than this factor are taken for equal."""


def capacities(runs: Iterable[ProbeRun]) -> tuple[Step, ...]:
    """Return the steps of the time of a load over the footprint, in bytes and seconds."""
    curve = times(newest(runs, CHASE), "bytes")
    return steps([float(key[0]) for key in curve], list(curve.values()))


def cache_facts(runs: Iterable[ProbeRun]) -> dict[str, Fact]:
    """Return the capacities and load times of up to three levels, and of what lies behind them.

    ``l1_bytes`` to ``l3_bytes`` [B] are the first to the third step, ``l1_load_s`` to ``l3_load_s`` and
    ``memory_load_s`` [s] the plateaus between them. Without any step there is no fact.
    """
    runs = tuple(runs)
    found: dict[str, Fact] = {}
    level = capacities(runs)
    for name, step in zip(LEVELS, level, strict=False):
        between = f"the time of a load steps up between {bytes_text(step.last)} and {bytes_text(step.first)}"
        found[f"{name}_bytes"] = Fact(int(step.last), "B", f"measured, pointer chase: {between}")
        below = f"measured, pointer chase: plateau below {bytes_text(step.last)}"
        found[f"{name}_load_s"] = Fact(step.before, "s", below)
    if level:
        beyond = bytes_text(level[-1].first)
        found["memory_load_s"] = Fact(level[-1].after, "s", f"measured, pointer chase: plateau above {beyond}")
        found.update(_line(runs))
        found.update(_ways(runs, level))
    return found


def _line(runs: tuple[ProbeRun, ...]) -> dict[str, Fact]:
    r"""Return the first-level cache's line from pairs of loads that are some bytes apart.

    The first load of a pair misses; the second hits if it is in the same line. The line is the least distance at
    which a pair takes more than half of the way, :math:`\sqrt{t_{near} t_{far}}`, from the nearest to the farthest one.
    """
    pairs = times(newest(runs, LINE), "apart")
    if len(pairs) < 3:
        return {}
    apart, seconds = [int(key[0]) for key in pairs], list(pairs.values())
    near, far = seconds[0], max(seconds)
    line = next((a for a, s in zip(apart, seconds, strict=True) if s > sqrt(near * far)), 0)
    if far < CLEAR * near or not line:
        return {}
    source = f"measured, pairs of loads: the second is free up to {line // 2} B from the first, not at {line} B"
    return {"l1_line_bytes": Fact(line, "B", source)}


def _ways(runs: tuple[ProbeRun, ...], level: tuple[Step, ...]) -> dict[str, Fact]:
    """Return the ways of the first two caches, from chases over lines a power of two apart.

    Lines that far apart share a set. The ways are the most lines before the time of a load has risen half of the way
    to the next level's, at the stride where these are fewest. They count only if at least two strides agree, and if
    capacity / (ways x line) is a power of two as far as the capacity is known.
    """
    found: dict[str, Fact] = {}
    line = next((int(fact.value) for fact in _line(runs).values() if isinstance(fact.value, int)), 64)
    for name, step in zip(LEVELS[:2], level, strict=False):
        fewest = _fewest_lines(runs, sqrt(step.before * step.after))
        ways = min(fewest.values(), default=0)
        strides = [stride for stride, lines in fewest.items() if lines == ways]
        if ways and len(strides) > 1 and _power_of_two(step.last / (ways * line), step.first / step.last):
            kept = f"up to {ways} lines at strides from {bytes_text(min(strides))} stay in the cache"
            found[f"{name}_ways"] = Fact(ways, "", f"measured, lines in one set: {kept}")
    return found


def _fewest_lines(runs: tuple[ProbeRun, ...], bound_s: float) -> Mapping[int, int]:
    """Return for each stride [B] the most lines whose loads stay below a time; strides that stay below are left out."""
    curve = times(newest(runs, CONFLICTS), "stride", "lines")
    found = {}
    for stride in sorted({int(key[0]) for key in curve}):
        lines = [(int(key[1]), seconds) for key, seconds in curve.items() if key[0] == stride]
        above = [count for count, seconds in lines if seconds > bound_s]
        below = [count for count, _ in lines if above and count < min(above)]
        if above and below and np.median([s for n, s in lines if n >= min(above)]) > bound_s:
            found[stride] = max(below)
    return found


def _power_of_two(sets: float, tolerance: float) -> bool:
    """Return whether a number is a power of two, within a factor."""
    return sets >= 1 and abs(log2(sets) - round(log2(sets))) <= log2(tolerance)


def bytes_text(octets: float) -> str:
    """Write a number of bytes.

    >>> bytes_text(49152), bytes_text(2**21), bytes_text(64)
    ('48 KiB', '2 MiB', '64 B')
    """
    for unit, name in ((2**20, "MiB"), (2**10, "KiB")):
        if octets >= unit:
            return f"{octets / unit:.4g} {name}"
    return f"{octets:.4g} B"
