"""Facts that contradict each other, and probes that were disturbed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from perfmodel.facts import DeviceFacts, Fact
from perfmodel.facts.doubts import DISTURBED, contradictions, disturbed_probes, doubted_facts, with_probed_facts
from tests.facts.test_probe_bounds import changed
from tests.probed import lanes

UNITS = {"vector_lanes": "work-items", "subgroup_size": "work-items", "clock_hz": "Hz", "clock_mhz": "MHz",
         "memory_load_s": "s", "memory_bandwidth_bytes_per_s": "B/s", "peak_flops_float32": "operation/s",
         "compute_units": "", "device_type": ""}  # fmt: skip
MIB = 2**20


def device(source="measured, by hand", **values):
    facts = {key: Fact(value, UNITS.get(key, "B"), source) for key, value in values.items()}
    return DeviceFacts.from_mapping("a device", "a platform", "1", facts)


def test_a_stream_and_a_chase_that_tell_two_last_levels():
    (doubt,) = contradictions(device(last_level_bytes=32 * MIB, l3_bytes=3 * MIB, l3_told_bytes=32 * MIB))
    assert ("last_level_bytes", 32 * MIB, 3 * MIB) == (doubt.key, doubt.assumed, doubt.other)
    text = str(doubt)
    for said in ("a stream measures 32 MiB", "a pointer chase measures 3 MiB", "the system tells 32 MiB"):
        assert said in text
    for said in ("32 MiB is assumed, for", "intervals cover the other", "perfmodel calibrate --probes", "facts.yaml"):
        assert said in text


@pytest.mark.parametrize(("values", "expected"), [
    ({"last_level_bytes": 32 * MIB, "l3_bytes": 20 * MIB}, None),
    ({"last_level_bytes": 32 * MIB, "l3_told_bytes": 480 * MIB}, None),  # what others have is not had here
    ({"l1_bytes": 49152, "l1_told_bytes": 32768}, None),
    ({"l1_bytes": 8192, "l1_told_bytes": 32768}, ("l1_bytes", 32768)),
    ({"l2_bytes": MIB // 4, "l2_told_bytes": MIB}, ("l2_bytes", MIB)),
    ({"l2_bytes": MIB}, None),
    ({"page_bytes": 4096, "page_told_bytes": 2 * MIB}, ("page_bytes", 2 * MIB)),
    ({"vector_lanes": 4, "subgroup_size": 8}, ("vector_lanes", 8)),
    ({"vector_lanes": 8, "subgroup_size": 8}, None),
    # 2 units x 1 GHz, twice that with boost, x 8 lanes x 2 pipes x 2 operations: 128 GFLOP/s
    ({"peak_flops_float32": 2e11, "compute_units": 2, "clock_mhz": 1000, "vector_lanes": 8},
     ("peak_flops_float32", pytest.approx(1.28e11))),
    ({"peak_flops_float32": 1e11, "compute_units": 2, "clock_hz": 1e9, "vector_lanes": 8}, None),
    ({"peak_flops_float32": 2e11, "compute_units": 2, "clock_mhz": 0, "vector_lanes": 8}, None),
    # 2 units, each with a line of 64 B in 100 ns: 1.28 GB/s
    ({"memory_bandwidth_bytes_per_s": 5e8, "compute_units": 2, "memory_load_s": 1e-7, "cache_line_bytes": 64},
     ("memory_bandwidth_bytes_per_s", pytest.approx(1.28e9))),
    ({"memory_bandwidth_bytes_per_s": 1e10, "compute_units": 2, "memory_load_s": 1e-7, "cache_line_bytes": 64}, None),
])  # fmt: skip
def test_each_pair(values, expected):
    doubts = [(doubt.key, doubt.other) for doubt in contradictions(device(**values))]
    assert ([] if expected is None else [expected]) == doubts


def test_what_a_user_wrote_is_in_no_doubt():
    values = {"last_level_bytes": 32 * MIB, "l3_bytes": 3 * MIB}
    measured, written = device(**values), device(source="data sheet", last_level_bytes=32 * MIB)
    assert 1 == len(contradictions(measured))
    assert () == contradictions(measured.updated(dict(written.facts)))


def test_the_other_fact_has_the_unit_and_says_why():
    ((doubt, other),) = doubted_facts(device(last_level_bytes=32 * MIB, l3_bytes=3 * MIB))
    assert ("last_level_bytes", 3 * MIB, "B") == (doubt.key, other.value, other.unit)
    assert isinstance(other.value, int)
    assert "a pointer chase measures 3 MiB" in other.source


CPU = device(source="CL_DEVICE_TYPE", device_type="cpu")
GPU = device(source="CL_DEVICE_TYPE", device_type="gpu")


def test_a_disturbed_probe_gives_no_fact_and_is_said():
    slow = changed(lanes(1), 941.0, lanes=1)
    assert "lane_order" not in with_probed_facts(CPU, [slow])
    (doubt,) = disturbed_probes(CPU, [slow])
    assert "lanes" == doubt.probe
    for said in ("8 lanes take 0.0085 times as long as 1", "as on every CPU, no work-items hide others",
                 "perfmodel calibrate --probes"):  # fmt: skip
        assert said in str(doubt)
    recorded = replace(slow, status="failed", message=f"{DISTURBED}8 lanes take 0.0085 times as long as 1")
    assert "8 lanes take" in str(disturbed_probes(CPU, [recorded])[0])


def test_a_second_visit_that_can_be_replaces_a_disturbed_one():
    runs = [changed(lanes(1), 941.0, lanes=1), replace(lanes(1), visit=1)]
    assert "serial" == with_probed_facts(CPU, runs).value("lane_order")
    assert () == disturbed_probes(CPU, runs)


def test_no_cpu_hides_lanes():
    """All lanes of a group in the time of one: a GPU does it, and a CPU was disturbed."""
    runs = [lanes(4, hidden=True)]
    assert "multithreaded" == with_probed_facts(GPU, runs).value("lane_order")
    assert "lane_order" not in with_probed_facts(CPU, runs)
    assert () == disturbed_probes(GPU, runs)
    (doubt,) = disturbed_probes(CPU, runs)
    assert "64 lanes take 1 times as long as 8" in str(doubt)
