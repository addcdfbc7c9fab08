"""A device with the facts of its probes, and what is doubtful of them: impossible answers, and contradicting ones.

A probe whose times cannot be (:mod:`perfmodel.facts.probe_bounds`) gives no fact. Two facts contradict each other where
they are of one property and differ by :data:`APART` or more. One of them is assumed; predictions for which that matters
have an interval that covers both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from math import log
from typing import TypeAlias

from perfmodel.display import bytes_text
from perfmodel.errors import ContradictingFacts, DisturbedProbe
from perfmodel.facts import probed
from perfmodel.facts.device_facts import DeviceFacts
from perfmodel.facts.fact import KEYS, Fact
from perfmodel.facts.probe_bounds import disturbed, undisturbed
from perfmodel.facts.probe_run import ProbeRun

APART = 1.9
"""Facts of one property that differ by this factor contradict each other: sizes of caches and vectors come in twos."""
PIPES, BOOST = 2, 2.0
"""Most fused multiply-adds of a lane in a cycle, and most of a clock over the rate that is told."""
DISTURBED = "disturbed: "
"""The message of a visit whose times cannot be begins so."""
PROBED = ("measured", "told by the operating system")
"""First words of the source of a fact that may be in doubt; what a user writes is not."""


def with_probed_facts(facts: DeviceFacts, runs: Iterable[ProbeRun]) -> DeviceFacts:
    """Return a device with the facts of its probes; those that it has under the same keys stay.

    Where no probe finds the ways of a cache, they are those that the operating system reports, if its size is known.
    """
    known: Mapping[str, Fact] = dict(facts.facts)
    told_by_probes = probed.probed_facts(undisturbed(_of_device(facts, runs)))
    if _hides_lanes_on_a_cpu(facts, told_by_probes):
        del told_by_probes["lane_order"]
    for level in probed.LEVELS:
        told = known.get(f"{level}_told_ways")
        if told is not None and f"{level}_bytes" in {**told_by_probes, **known}:
            told_by_probes.setdefault(f"{level}_ways", told)
    return facts.updated({**told_by_probes, **known})


def _of_device(facts: DeviceFacts, runs: Iterable[ProbeRun]) -> tuple[ProbeRun, ...]:
    return tuple(run for run in runs if (run.device, run.platform) == (facts.name, facts.platform))


def _hides_lanes_on_a_cpu(facts: DeviceFacts, told_by_probes: Mapping[str, Fact]) -> bool:
    order = told_by_probes.get("lane_order")
    cpu = "device_type" in facts and facts.value("device_type") == "cpu"
    return cpu and order is not None and order.value == "multithreaded"


def disturbed_probes(facts: DeviceFacts, runs: Iterable[ProbeRun]) -> tuple[DisturbedProbe, ...]:
    """Return the probes of the newest series that give no fact, for all of their times cannot be."""
    runs = _of_device(facts, runs)
    newest = max((run.series for run in runs), default=0)
    reasons: dict[str, str] = {}
    for run in (run for run in runs if run.series == newest):
        reason = run.message.removeprefix(DISTURBED) if run.message.startswith(DISTURBED) else disturbed(run)
        if reason:
            reasons[run.probe] = reason
    good = {run.probe for run in undisturbed(runs) if run.series == newest and run.status == "ok"}
    doubts = [DisturbedProbe(probe, reason, _assumed(probe, facts))
              for probe, reason in reasons.items() if probe not in good]  # fmt: skip
    told_by_probes = probed.probed_facts(undisturbed(runs))
    if _hides_lanes_on_a_cpu(facts, told_by_probes):
        reason = told_by_probes["lane_order"].source.partition("and ")[2]
        doubts.append(DisturbedProbe(probed.LANES, reason, _assumed(probed.LANES, facts)))
    return tuple(doubts)


def _assumed(probe: str, facts: DeviceFacts) -> str:
    """Return what is assumed in place of a probe, in words."""
    if probe == probed.LANES and "device_type" in facts and facts.value("device_type") == "cpu":
        return "as on every CPU, no work-items hide others; the fit finds whether they run in step"
    return "what the system tells, else usual numbers"


# {{{ contradictions

@dataclass(frozen=True)
class _Witness:
    """A number of a device, and who says it; `key` is empty where it is a bound by other facts that is broken."""

    who: str
    value: float
    key: str = ""


def contradictions(facts: DeviceFacts) -> tuple[ContradictingFacts, ...]:
    """Return the facts of a device that contradict each other; none where a user wrote the fact that is assumed.

    Compared are the last-level cache by a stream and by a pointer chase; the other caches by the chase and by the
    operating system; pages and lanes of vectors by probes and as they are told; the measured peak of operations with
    the most that units, lanes and clock allow; and the measured bandwidth with the least that one load at a time gives.

    Examples
    --------
    >>> facts = DeviceFacts("a", "b", "1", (("l1_bytes", Fact(8192, "B", "measured, pointer chase")),
    ...                     ("l1_told_bytes", Fact(32768, "B", "told by the operating system: index0"))))
    >>> [(each.key, each.assumed, each.other) for each in contradictions(facts)]
    [('l1_bytes', 8192.0, 32768.0)]
    """
    return tuple(_contradictions(facts))


def doubted_facts(facts: DeviceFacts) -> Iterator[tuple[ContradictingFacts, Fact]]:
    """Yield each contradiction with the fact that would hold if the other number were right."""
    for each in contradictions(facts):
        value = int(each.other) if each.other.is_integer() else each.other
        yield each, Fact(value, KEYS[each.key].unit, f"in doubt: of {each.what} {', '.join(each.said)}")


def _contradictions(facts: DeviceFacts) -> Iterator[ContradictingFacts]:
    for what, witnesses, also, why in (*_properties(facts), *_rates(facts)):
        if len(witnesses) < 2 or not facts.fact(witnesses[0].key).source.startswith(PROBED):
            continue
        first, other = witnesses[0], max(witnesses[1:], key=lambda w: abs(log(w.value / witnesses[0].value)))
        if not other.key or max(other.value / first.value, first.value / other.value) >= APART:
            unit = KEYS[first.key].unit
            said = tuple(f"{w.who} {_text(w.value, unit)}" for w in (*witnesses, *also))
            yield ContradictingFacts(what, said, _text(first.value, unit), why, first.key, first.value, other.value)


def _text(value: float, unit: str) -> str:
    return bytes_text(int(value)) if unit == "B" else f"{value:.3g} {unit}".strip()


_Property: TypeAlias = tuple[str, list[_Witness], list[_Witness], str]
"""A property, what is said of it, the number that is assumed first, who else is named, and why the first is assumed."""


def _said(facts: DeviceFacts, **who: str) -> list[_Witness]:
    """Return the facts that are known and above zero, each with who says it."""
    every = (_Witness(words, float(facts.value(key)), key) for key, words in who.items() if key in facts)
    return [witness for witness in every if witness.value > 0]


def _properties(facts: DeviceFacts) -> Iterator[_Property]:
    """Yield the properties that several facts tell."""
    said, system, chase = partial(_said, facts), "the system tells", "a pointer chase measures"
    yield (
        "the last-level cache", said(last_level_bytes="a stream measures", l3_bytes=chase), said(l3_told_bytes=system),
        "a chase takes so long that other programs replace its lines in the cache",
    )  # fmt: skip
    for name, level in (("first", "l1"), ("second", "l2")):
        witnesses = said(**{f"{level}_bytes": chase, f"{level}_told_bytes": system})
        yield f"the {name}-level cache", witnesses, [], "a kernel has what is measured, however large the cache is"
    pages = said(page_bytes="a probe measures", page_told_bytes=system)
    yield "a page of memory", pages, [], "the probe has seen what the TLB knows"
    lanes = said(vector_lanes="a probe measures", subgroup_size="the runtime tells")
    yield "the float32 lanes of a vector", lanes, [], "the probe has seen what the compiler makes"


def _rates(facts: DeviceFacts) -> Iterator[_Property]:
    """Yield the measured rates that are beyond what follows from other facts."""
    known = dict.fromkeys(("clock_hz", "clock_mhz", "compute_units", "vector_lanes", "memory_load_s"), "")
    numbers = {witness.key: witness.value for witness in _said(facts, **known)}
    units, clock = numbers.get("compute_units", 0.0), numbers.get("clock_hz", 1e6 * numbers.get("clock_mhz", 0.0))
    most = 2 * PIPES * BOOST * units * clock * numbers.get("vector_lanes", 0.0)
    for peak in _said(facts, peak_flops_float32="kernels measure"):
        if 0 < most < peak.value:
            bound = _Witness("units, lanes and clock allow", most)
            yield "the peak of float32 operations", [peak, bound], [], "kernels did reach it, unless times are wrong"
    line = float(facts.known("cache_line_bytes", 64.0))
    least = units * line / numbers["memory_load_s"] if "memory_load_s" in numbers else 0.0
    for bandwidth in _said(facts, memory_bandwidth_bytes_per_s="streams measure"):
        if bandwidth.value < least:
            bound = _Witness("one load at a time gives", least)
            yield "the bandwidth of memory", [bandwidth, bound], [], "a kernel streams as those did"

# }}}
