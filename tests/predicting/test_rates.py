"""Times of one unit of work, by hand from the facts of a device with round numbers."""

import pytest

from perfmodel.facts import KEYS, DeviceFacts, Fact
from perfmodel.predicting.transfer import RATES, known_rate

NUMBERS = {
    "subgroup_size": 32, "compute_units": 10, "lanes_per_unit": 64, "clock_hz": 1e9, "launch_s": 5e-6,
    "peak_flops_float32": 1.28e12, "peak_flops_float64": 6.4e11, "memory_bandwidth_bytes_per_s": 5e11,
    "l2_bandwidth_bytes_per_s": 2e12, "l1_load_s": 3e-8, "l2_latency_s": 2e-7, "memory_latency_s": 4e-7,
}  # fmt: skip
DEVICE = DeviceFacts.from_mapping("round", "", "", {k: Fact(v, KEYS[k].unit, "by hand") for k, v in NUMBERS.items()})
#: 64 lanes at 1 GHz take an instruction of 32 lanes in half a cycle. 1.28e12 operations a second are 128 a cycle of
#: each of 10 units, so that 32 multiply-adds, of two each, take half a cycle; those in float64 one cycle. A tenth of
#: 2 TB/s is 200 GB/s for a unit, and a tenth of 500 GB/s is 50 GB/s.
EXPECTED = {
    "same": 1.0, "launch": 5e-6, "cycle": 1e-9, "issue": 5e-10, "single": 5e-10, "double": 1e-9, "l2": 32 / 200e9,
    "memory": 1 / 50e9, "l1_latency": 3e-8, "l2_latency": 2e-7, "memory_latency": 4e-7, "unit_cycle": 1e-10,
    "lane_cycle": 1 / 640e9, "single_operation": 1 / 1.28e12, "double_operation": 1 / 6.4e11, "memory_byte": 2e-12,
}  # fmt: skip


def test_rates_of_a_device():
    assert EXPECTED == pytest.approx({name: rate.seconds(DEVICE) for name, rate in RATES.items()})


def test_what_a_device_lacks():
    bare = DeviceFacts.from_mapping("bare", "", "", {"clock_hz": Fact(0.0, "Hz", "not told")})
    assert ("subgroup_size", "lanes_per_unit", "clock_hz") == RATES["issue"].lacking(bare)
    assert () == RATES["issue"].lacking(DEVICE)


def test_what_stands_in_for_a_rate():
    """A latency is then a number of cycles; what needs a clock has nothing to stand in."""
    bare = DeviceFacts.from_mapping("bare", "", "", {"clock_hz": Fact(1e9, "Hz", "by hand")})
    names = ("memory_latency", "launch", "issue")
    assert names == tuple(known_rate(name, DEVICE) for name in names)
    assert ("cycle", "same", "issue") == tuple(known_rate(name, DEVICE, bare) for name in names)
    for rate in RATES.values():
        assert rate.otherwise in {"", *RATES}
