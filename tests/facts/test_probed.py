"""All facts of a device's probes, beside those that it has."""

from __future__ import annotations

from perfmodel.facts import KEYS, DeviceFacts, Fact
from perfmodel.facts.doubts import with_probed_facts
from perfmodel.facts.probed import probed_facts
from tests.facts.test_probed_caches import capacity, conflicts, pairs
from tests.facts.test_probed_execution import barriers, nests, overlap
from tests.probed import lanes

RUNS = (capacity(), pairs(64), conflicts(12, 4096), lanes(1), nests(8.0), barriers(1e-9, 1e-10), overlap(3.0))


def device(**facts):
    known = {key: Fact(value, KEYS[key].unit, "told") for key, value in facts.items()}
    return DeviceFacts.from_mapping("a device", "a platform", "1", known)


def test_every_fact_has_a_key_with_its_unit_and_survives_a_file():
    found = probed_facts(RUNS)
    assert {"l1_bytes", "l1_ways", "lane_order", "vector_lanes", "barrier_s", "overlap_exponent"} < set(found)
    assert {key: KEYS[key].unit for key in found} == {key: fact.unit for key, fact in found.items()}
    known = with_probed_facts(device(), RUNS)
    assert known == DeviceFacts.from_json(known.to_json())


def test_facts_that_the_device_has_stay():
    assert 32768 == with_probed_facts(device(l1_bytes=32768), RUNS).value("l1_bytes")


def test_ways_that_no_probe_tells_are_those_that_the_system_tells():
    known = with_probed_facts(device(l1_told_ways=8, l2_told_ways=16, l3_told_ways=11), RUNS)
    assert (12, 16) == (known.value("l1_ways"), known.value("l2_ways"))
    assert "l3_ways" not in known  # there was no third step
    assert "told" == known.fact("l2_ways").source


def test_probes_of_another_device_do_not_count():
    other = DeviceFacts("another", "a platform", "1", ())
    assert other == with_probed_facts(other, RUNS)
