r"""The stochastic memory hierarchy model of Baghsorkhi et al., in Kim et al. 2012, section 4.2.3.

The requests of each sub-group and their order are known (:mod:`scripts.lab.kim.trace`). The order in which
requests of different sub-groups and work-groups reach the caches is unknown. It is drawn at random:

1. between two barriers, the requests of the sub-groups of a work-group are merged at random; all merges are equally
   likely;
2. work-groups are dealt in turn to the compute units; the requests of all work-groups that the units hold at once are
   merged at random in the same way;
3. the requests of a unit go through its own first-level cache in that order;
4. those that miss wait for the second-level cache, which all units share. Their order there is drawn anew in the same
   way: the time that a miss takes is unknown either.

A cache is set-associative and replaces the line least recently used (LRU). Each order gives a hit rate of each level.
Their spread shows how much the unknown order matters. Loads and stores are treated alike: both load the line into
the cache.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from perfmodel.counts import KernelCounts
from perfmodel.errors import FactsError
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.quantities.case import missing_fact
from scripts.lab.kim.trace import Trace, trace

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
EMPTY = -1
SAMPLED = 8
"""Work-groups of each launch that are traced."""


@dataclass(frozen=True)
class CacheShape:
    """A cache: its size and line in bytes, and its ways (the lines of a set).

    Lines that do not fill a whole set are left out. It raises FactsError if one of the three is not positive, or
    the cache is smaller than one set.

    Examples
    --------
    >>> CacheShape(16384, 128, 4).sets
    32
    """

    size_bytes: int
    line_bytes: int
    ways: int

    def __post_init__(self) -> None:
        if min(self.size_bytes, self.line_bytes, self.ways) <= 0 or self.sets < 1:
            shape = f"a cache of {self.size_bytes} B with lines of {self.line_bytes} B and {self.ways} ways"
            advice = "give positive numbers, and a size of at least one line for each way"
            raise FactsError(f"{shape} holds no set", advice)

    @property
    def sets(self) -> int:
        """Number of sets; a line's number modulo it is the line's set."""
        return self.size_bytes // (self.line_bytes * self.ways)


def hits(line: Ints, shape: CacheShape, cache: Ints | None = None) -> Bools:
    """Return which requests find their line in the cache; every request loads its line.

    `line` are the numbers of the lines, none negative, in the order of the requests; `cache` is for each request the
    number of its cache, where there are several equal caches. Caches are empty at first.

    Examples
    --------
    >>> hits(np.array([0, 1, 0, 2, 1]), CacheShape(128, 64, 2)).tolist()
    [False, False, True, False, False]
    """
    bank = line % shape.sets + (0 if cache is None else cache * shape.sets)
    order = np.argsort(bank, kind="stable")
    bank, tag = bank[order], line[order]
    again = np.zeros(len(line), dtype=bool)  # the set's last request was for the same line
    again[1:] = (bank[1:] == bank[:-1]) & (tag[1:] == tag[:-1])
    hit = again.copy()
    hit[~again] = _first_hits(bank[~again], tag[~again], shape.ways)
    result: Bools = np.empty(len(hit), dtype=np.bool_)
    result[order] = hit
    return result


def _first_hits(bank: Ints, tag: Ints, ways: int) -> Bools:
    """Return the hits of requests sorted by bank; all banks are simulated together, request by request."""
    hits = np.zeros(len(tag), dtype=bool)
    if not len(tag):
        return hits
    starts = np.flatnonzero(np.diff(bank, prepend=bank[0] - 1))
    lengths = np.diff(np.append(starts, len(bank)))
    longest = np.argsort(-lengths, kind="stable")
    starts, lengths = starts[longest], lengths[longest]
    held = np.full((len(starts), ways), EMPTY, dtype=np.int64)  # the lines of each bank, the last used first
    place = np.arange(1, ways)
    active = np.searchsorted(-lengths, -np.arange(lengths[0]), side="left")
    for turn, banks in enumerate(active):
        at = starts[:banks] + turn
        here, wanted = held[:banks], tag[at]
        same = here == wanted[:, None]
        hit = same.any(axis=1)
        hits[at] = hit
        last = np.where(hit, same.argmax(axis=1), ways - 1)
        here[:, 1:] = np.where(place <= last[:, None], here[:, :-1], here[:, 1:])
        here[:, 0] = wanted
    return hits


SOURCE = "stochastic memory hierarchy model (Kim et al. 2012, 4.2.3)"


@dataclass(frozen=True)
class Hierarchy:
    """The caches between the compute units and memory."""

    l1: CacheShape  # each compute unit's own cache
    l2: CacheShape  # the next cache; its lines have the size of the first's
    units: int = 4  # compute units among which the sampled work-groups are dealt
    resident: int = 2  # work-groups that a unit holds at once
    shared: bool = True  # whether all units share the second level (a GPU); else each has its own (a CPU)

    @classmethod
    def of(
        cls, facts: DeviceFacts | None, units: int | None = None, resident: int = 2,
        ways: tuple[int, int] | None = None,
    ) -> Hierarchy:
        """Return the caches of a device, from its facts l1_bytes, l2_bytes and cache_line_bytes.

        The ways are its l1_ways and l2_ways, else 8 and 16. Its units are compute_units, at most the four that a sample
        of eight work-groups fills, and four where they are unknown.

        It raises FactsError if one of these is unknown, or there can be no such cache.
        """
        def fact(key: str) -> int:
            if facts is None or key not in facts:
                raise missing_fact(key, "stochastic_memory_hierarchy", facts)
            return int(facts.value(key))

        def known(key: str, otherwise: int) -> int:
            return otherwise if facts is None else int(facts.known(key, otherwise))

        if units is None:
            units = min(known("compute_units", SAMPLED), max(SAMPLED // resident, 1))
        if ways is None:
            ways = known("l1_ways", 8), known("l2_ways", 16)
        l1, l2, line = map(fact, ("l1_bytes", "l2_bytes", "cache_line_bytes"))
        cpu = facts is not None and "device_type" in facts and facts.value("device_type") == "cpu"
        return cls(CacheShape(l1, line, ways[0]), CacheShape(l2, line, ways[1]), units, resident, not cpu)


@dataclass(frozen=True)
class HitRates:
    """Hit rates of both caches, one for each order drawn."""

    l1: tuple[float, ...]  # hits over requests
    l2: tuple[float, ...]  # hits over the requests that missed in the first level
    by_array: tuple[tuple[str, float, float], ...]  # name, mean first-level hit rate, mean share that goes to memory
    requests: int  # in the traces
    groups: int  # work-groups traced, of all launches
    drawn: tuple[str, ...] = ()  # arrays whose cells were drawn at random, since the index depends on data
    by_access: tuple[tuple[str, float, float], ...] = ()  # as by_array, of each access of the program

    @property
    def miss_ratio_l1(self) -> float:
        """Mean share of the requests that miss the first-level cache."""
        return 1.0 - float(np.mean(self.l1))

    @property
    def miss_ratio_l2(self) -> float:
        """Mean share of the first level's misses that miss the second-level cache too."""
        return 1.0 - float(np.mean(self.l2))

    def interval(self, which: str, level: float = 0.9) -> tuple[float, float]:
        r"""Return the confidence interval of the mean hit rate, :math:`\bar h \pm t s/\sqrt{N}`, within [0, 1].

        `which` is ``"l1"`` or ``"l2"``, `level` the probability that the interval holds the mean. It covers the random
        order only, not the sample of work-groups nor errors of the model.
        """
        rates = np.asarray(self.l1 if which == "l1" else self.l2)
        if len(rates) < 2:
            return 0.0, 1.0
        half = float(student.ppf((1 + level) / 2, len(rates) - 1) * rates.std(ddof=1) / sqrt(len(rates)))
        return max(0.0, float(rates.mean()) - half), min(1.0, float(rates.mean()) + half)

    def facts(self) -> dict[str, Fact]:
        """Return the miss ratios as facts, for model families: ``l1_miss_ratio`` and ``l2_miss_ratio``."""
        source = f"{SOURCE}: {len(self.l1)} orders of {self.requests} requests"
        return {
            "l1_miss_ratio": Fact(self.miss_ratio_l1, "share", source),
            "l2_miss_ratio": Fact(self.miss_ratio_l2, "share", source),
        }


def hit_rates(
    counts: KernelCounts, sizes: Mapping[str, int], hierarchy: Hierarchy,
    groups: int = SAMPLED, orders: int = 20, seed: int = 0,
) -> HitRates:
    """Trace a sample of work-groups and send it through the caches in random orders.

    `groups` work-groups of each launch are traced. The caches are empty when a launch begins. Equal seeds give
    equal rates. Raises what :func:`scripts.lab.kim.trace.trace` raises.
    """
    return traced_hit_rates(trace(counts, sizes, groups, hierarchy.l1.line_bytes, seed), hierarchy, orders, seed)


def traced_hit_rates(traces: Sequence[Trace], hierarchy: Hierarchy, orders: int = 20, seed: int = 0) -> HitRates:
    """Send the traces of some launches through the caches in random orders, drawn for each level."""
    generator = np.random.default_rng(seed)
    levels = [[levels_of(launch, hierarchy, generator) for launch in traces] for _ in range(orders)]
    level = np.array([np.concatenate([np.zeros(0, np.int64), *drawn]) for drawn in levels])
    missed = (level > 1).sum(axis=1)
    requests = level.shape[1]
    return HitRates(
        tuple((1.0 - missed / max(requests, 1)).tolist()),
        tuple((1.0 - (level > 2).sum(axis=1) / np.maximum(missed, 1)).tolist()),
        _shares(level, [(launch.arrays, launch.array) for launch in traces]),
        requests, sum(len(launch.groups) for launch in traces),
        tuple(sorted({name for launch in traces for name in launch.drawn})),
        _shares(level, [(_sites(launch, len(traces) > 1), launch.access) for launch in traces]),
    )  # fmt: skip


def _sites(launch: Trace, several: bool) -> tuple[str, ...]:
    """Return the names of a launch's accesses; if there are several launches, with the launch's name."""
    return tuple(f"{launch.launch}: {name}" for name in launch.sites) if several else launch.sites


def _shares(
    level: Ints, requests: Sequence[tuple[tuple[str, ...], Ints]]
) -> tuple[tuple[str, float, float], ...]:
    """Return for each name the mean share of its requests that the first level answers, and that go to memory.

    `level` has shape (orders, requests); of each launch the names are given, and each request's place among them.
    """
    names = list(dict.fromkeys(name for own, _ in requests for name in own))
    places = [np.array([names.index(name) for name in own], np.int64)[place] for own, place in requests]
    place = np.concatenate([np.zeros(0, np.int64), *places])
    total, first, memory = (
        np.bincount(place, weights=part, minlength=len(names))
        for part in (np.ones(len(place)), (level == 1).mean(axis=0), (level > 2).mean(axis=0))
    )
    return tuple(
        (name, float(first[k] / total[k]), float(memory[k] / total[k])) for k, name in enumerate(names) if total[k]
    )


def levels_of(launch: Trace, hierarchy: Hierarchy, generator: np.random.Generator) -> Ints:
    """Return the level that answers each request, 1 or 2 (a cache), or 3 (memory), in a random order at each level."""
    level, waiting = np.ones(len(launch), np.int64), np.arange(len(launch))
    for number, shape, shared in ((2, hierarchy.l1, False), (3, hierarchy.l2, hierarchy.shared)):
        order = waiting[drawn_order(launch, hierarchy.units, hierarchy.resident, generator, waiting)]
        unit = None if shared else launch.group[order] % hierarchy.units
        waiting = np.sort(order[~hits(launch.line[order], shape, unit)])
        level[waiting] = number
    return level


def drawn_order(
    launch: Trace, units: int, resident: int, generator: np.random.Generator, waiting: Ints | None = None
) -> Ints:
    """Return places of requests in a random order that the program allows.

    `waiting` are the rising positions of the requests, all by default; the places are in it. Sorting drawn numbers
    within each stream, and then all of them, makes every merge of the streams as likely as any other.
    """
    pool = slice(None) if waiting is None else waiting
    subgroup, phase, group = (column[pool] for column in (launch.subgroup, launch.phase, launch.group))
    moment = _sorted_within((subgroup, phase, group), generator)
    inside = np.lexsort((moment, phase, group))
    wave = group[inside] // (units * resident)
    return inside[np.lexsort((_sorted_within((group[inside],), generator), wave))]


def _sorted_within(keys: tuple[Ints, ...], generator: np.random.Generator) -> NDArray[np.float64]:
    """Return random numbers, rising within each stream of requests with equal keys."""
    drawn = generator.random(len(keys[0]))
    result = np.empty_like(drawn)
    result[np.lexsort(keys)] = drawn[np.lexsort((drawn, *keys))]
    return result

