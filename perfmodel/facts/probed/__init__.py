"""Facts of a device from its probes: small microbenchmarks, each with a curve that tells one property.

The times are taken by :mod:`perfmodel.measuring.probes` and kept in a store's ``probes.jsonl``. Here they become facts,
with no device. What a curve does not tell clearly gives no fact. ``docs/facts.md`` states each rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from perfmodel.facts.device_facts import DeviceFacts
from perfmodel.facts.fact import Fact
from perfmodel.facts.probed.caches import LEVELS, cache_facts
from perfmodel.facts.probed.execution import barrier_facts, lane_facts, overlap_facts
from perfmodel.facts.probed.run import ProbeRun

DERIVATIONS = (cache_facts, lane_facts, barrier_facts, overlap_facts)


def probed_facts(runs: Iterable[ProbeRun]) -> dict[str, Fact]:
    """Return what the runs of one device tell clearly, by key; each source begins with "measured"."""
    runs = tuple(runs)
    return {key: fact for derive in DERIVATIONS for key, fact in derive(runs).items()}


def with_probed_facts(facts: DeviceFacts, runs: Iterable[ProbeRun]) -> DeviceFacts:
    """Return a device with the facts of its probes; those that it has under the same keys stay.

    The ways of a cache that no probe could tell are those that the operating system tells, if its size is told too.
    """
    known: Mapping[str, Fact] = dict(facts.facts)
    found = probed_facts(run for run in runs if (run.device, run.platform) == (facts.name, facts.platform))
    for level in LEVELS:
        told = known.get(f"{level}_told_ways")
        if told is not None and f"{level}_bytes" in {**found, **known}:
            found.setdefault(f"{level}_ways", told)
    return facts.updated({**found, **known})
