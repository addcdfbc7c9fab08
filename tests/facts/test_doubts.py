"""Impossible times of probes, and facts that contradict each other."""

from dataclasses import replace

import pytest

from perfmodel.facts import DeviceFacts, Fact, doubts
from perfmodel.store.files import read_probes
from tests.probed import chase, lanes, probe
from tests.recorded import PROBED


@pytest.mark.parametrize(("width", "hidden"), [(1, False), (8, False), (16, False), (4, True), (32, True), (64, True)])
def test_devices_of_every_order_are_undisturbed(width, hidden):
    assert "" == doubts.disturbed(lanes(width, hidden))


def test_committed_probes_are_undisturbed():
    runs = [run for folder in PROBED for run in read_probes(folder)]
    assert runs
    assert [] == [(run.device, run.probe, doubts.disturbed(run)) for run in runs if doubts.disturbed(run)]


def changed(run, factor, **at):
    """Return a probe of whose settings some take another time."""
    points = (
        replace(point, host_s=tuple(factor * s for s in point.host_s)) if at.items() <= point.at.items() else point
        for point in run.points
    )
    return replace(run, points=tuple(points))


def test_eight_lanes_cannot_take_less_time_than_one():
    """A serial device, of which 1 lane was disturbed while it was timed: 8 lanes take 8/941 of its time."""
    slow = changed(lanes(1), 941.0, lanes=1)
    assert "8 lanes take 0.0085 times as long as 1; possible: 1 to 8" == doubts.disturbed(slow)
    assert (lanes(1),) == doubts.undisturbed([slow, lanes(1)])


@pytest.mark.parametrize(("block", "lane_count", "factor", "expected"), [
    (64, 64, 4.0, "64 lanes take 2.6e+02 times as long as 1; possible: 1 to 64"),
    (2, 256, 5.0, "lanes of 2 kinds in blocks of 2 take 5 times as long as one kind; possible: 1 to 2"),
    (2, 256, 0.1, "lanes of 2 kinds in blocks of 2 take 0.1 times as long as one kind; possible: 1 to 2"),
])
def test_other_lanes_that_cannot_be(block, lane_count, factor, expected):
    assert expected == doubts.disturbed(changed(lanes(1), factor, block=block, lanes=lane_count))


def nests(gain):
    return probe("nests", [
        ({"nest": nest, "operations": n, "dtype": "float32"}, 1, 1.0 + each * n)
        for nest, each in (("straight", 1.0), ("looped", gain)) for n in (32, 64)
    ])  # fmt: skip


def overlap(both):
    return probe("overlap", [
        ({"part": "memory", "operations": 0}, 1, 1.0), ({"part": "compute", "operations": 8}, 1, 2.0),
        ({"part": "both", "operations": 8}, 1, both),
    ])  # fmt: skip


@pytest.mark.parametrize(("run", "expected"), [
    (chase({4096: 1e-9, 8192: 2e-5}), "a load takes 2e-05 s; possible: 5e-11 to 1e-05 s"),
    (probe("line", [({"apart": 4}, 10, 1e-12)]), "a load takes 1e-12 s"),
    (probe("stream", [({"bytes": 4, "units": 2}, 1, 1e-3)]), "a byte takes 0.001 s"),
    (nests(1000.0), "float32 without a loop is 1e+03 times as fast as with one; possible: up to 64 times"),
    (probe("barriers", [({"barriers": b, "items": 16}, 1, 0.1 * b) for b in (1, 2, 3)]), "a barrier takes 0.1 s"),
    (overlap(0.5), "memory and computing take 0.5 s together; possible: 2 to 3 s"),
    (overlap(9.0), "memory and computing take 9 s together; possible: 2 to 3 s"),
])
def test_times_of_other_probes_that_cannot_be(run, expected):
    assert doubts.disturbed(run).startswith(expected)


@pytest.mark.parametrize("run", [
    chase({4096: 1e-9, 8192: 1e-7}), nests(16.0), overlap(2.0), overlap(3.0), probe("new", [({}, 1, 1.0)]),
])
def test_times_that_can_be(run):
    assert "" == doubts.disturbed(run)


UNITS = {"vector_lanes": "work-items", "subgroup_size": "work-items", "clock_hz": "Hz", "clock_mhz": "MHz",
         "memory_load_s": "s", "memory_bandwidth_bytes_per_s": "B/s", "peak_flops_float32": "operation/s",
         "compute_units": "", "device_type": ""}  # fmt: skip
MIB = 2**20


def device(source="measured, by hand", **values):
    facts = {key: Fact(value, UNITS.get(key, "B"), source) for key, value in values.items()}
    return DeviceFacts.from_mapping("a device", "a platform", "1", facts)


def test_a_stream_and_a_chase_that_tell_two_last_levels():
    (doubt,) = doubts.contradictions(device(last_level_bytes=32 * MIB, l3_bytes=3 * MIB, l3_told_bytes=32 * MIB))
    assert ("last_level_bytes", 32 * MIB, 3 * MIB) == (doubt.key, doubt.assumed, doubt.other)
    text = str(doubt)
    for said in ("a stream measures 32 MiB", "a pointer chase measures 3 MiB", "the system reports 32 MiB"):
        assert said in text
    for said in ("32 MiB is assumed, because", "intervals also cover", "perfmodel calibrate --probes", "facts.yaml"):
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
    found = [(doubt.key, doubt.other) for doubt in doubts.contradictions(device(**values))]
    assert ([] if expected is None else [expected]) == found


def test_what_a_user_wrote_is_in_no_doubt():
    values = {"last_level_bytes": 32 * MIB, "l3_bytes": 3 * MIB}
    measured, written = device(**values), device(source="data sheet", last_level_bytes=32 * MIB)
    assert 1 == len(doubts.contradictions(measured))
    assert () == doubts.contradictions(measured.updated(dict(written.facts)))


def test_the_other_fact_has_the_unit_and_says_why():
    ((doubt, other),) = doubts.doubted_facts(device(last_level_bytes=32 * MIB, l3_bytes=3 * MIB))
    assert ("last_level_bytes", 3 * MIB, "B") == (doubt.key, other.value, other.unit)
    assert isinstance(other.value, int)
    assert "a pointer chase measures 3 MiB" in other.source


CPU = device(source="CL_DEVICE_TYPE", device_type="cpu")
GPU = device(source="CL_DEVICE_TYPE", device_type="gpu")


def test_a_disturbed_probe_gives_no_fact_and_is_said():
    slow = changed(lanes(1), 941.0, lanes=1)
    assert "lane_order" not in doubts.with_probed_facts(CPU, [slow])
    (doubt,) = doubts.disturbed_probes(CPU, [slow])
    for text in ("the probe 'lanes'", "8 lanes take 0.0085 times as long as 1", "as on every CPU, no work-items hide",
                 "perfmodel calibrate --probes"):  # fmt: skip
        assert text in doubt
    recorded = replace(slow, status="failed", message=f"{doubts.DISTURBED}8 lanes take 0.0085 times as long as 1")
    assert "8 lanes take" in str(doubts.disturbed_probes(CPU, [recorded])[0])


def test_a_second_visit_that_can_be_replaces_a_disturbed_one():
    runs = [changed(lanes(1), 941.0, lanes=1), replace(lanes(1), visit=1)]
    assert "serial" == doubts.with_probed_facts(CPU, runs).value("lane_order")
    assert () == doubts.disturbed_probes(CPU, runs)


def test_no_cpu_hides_lanes():
    """All lanes of a group in the time of one: a GPU does it, and a CPU was disturbed."""
    runs = [lanes(4, hidden=True)]
    assert "multithreaded" == doubts.with_probed_facts(GPU, runs).value("lane_order")
    assert "lane_order" not in doubts.with_probed_facts(CPU, runs)
    assert () == doubts.disturbed_probes(GPU, runs)
    (doubt,) = doubts.disturbed_probes(CPU, runs)
    assert "64 lanes take 1 times as long as 8" in str(doubt)
