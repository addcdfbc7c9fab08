"""The platforms of Karsin (2018), against the printed table, and the model's time by hand."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from perfmodel.facts import DeviceFacts, Fact, published
from perfmodel.fitting.throughput import throughput
from perfmodel.store import read
from scripts.lab.studies import karsin_tables as spt
from scripts.lab.studies.karsin import PLATFORMS, Gpu, gpu, operation_seconds
from scripts.lab.studies.karsin_device import core_at_hand, core_of
from scripts.lab.study_runs import facts_of
from tests.recorded import SIMULATED


def test_table_4_2_is_read_back_from_the_devices_facts():
    device = gpu("ALGOPARC")
    assert (1664, 312 * 1024, 832 * 1024) == (device.cores, device.shared_words, device.registers)
    assert [269.5, 85.84, 6, 234, 7800] == pytest.approx([*device.latency.values(), device.launch], rel=1e-6)
    assert [0.0301, 0.233, 1, 0.0493] == pytest.approx(list(device.bandwidth.values()), rel=1e-6)
    assert [780e6, 1046e6, 745e6] == [gpu(name).clock_hz for name in PLATFORMS]


def test_an_operation_takes_the_longer_of_bandwidth_and_latency():
    """100 operations at 1/4 a cycle take 400 cycles; at latency 20 and multiplicity 2, 1000; two launches 14."""
    device = Gpu(1, 1, 1, 10.0, {"a": 20.0, "b": 20.0}, {"a": 0.25, "b": 0.25}, 7.0)
    found = operation_seconds(device, {"a": 100.0, "b": 100.0}, {"a": 10.0, "b": 2.0}, launches=2)
    assert {"a": 40.0, "b": 100.0, "sync": 1.4} == pytest.approx(found)


WEIGHTS = {
    "w_launch": 1e-5, "w_memory_latency": 4e-7, "w_memory_rate": 8e9, "w_local_latency": 2e-8, "w_local_rate": 16e9,
    "w_register_latency": 1e-9, "w_register_rate": 32e9, "w_barrier_latency": 3e-7, "w_barrier_rate": 1e9,
}  # fmt: skip


def facts(**known):
    known = {"compute_units": 2, "lanes_per_unit": 4, "local_memory_bytes": 1024, **known}
    made_up = {key: Fact(value, "", "made up") for key, value in known.items()}
    return DeviceFacts.from_mapping("toy", "none", "0", made_up)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_published_platform_is_that_of_table_4_2(platform):
    assert gpu(platform) == core_of(published(PLATFORMS[platform]))


def test_a_recorded_device():
    """Latencies are its microbenchmarks'; of barriers it has none, so the weights are taken."""
    model = SimpleNamespace(weights=WEIGHTS)
    data = SimpleNamespace(
        facts=facts_of(SIMULATED), families=("synchronous_parallel_throughput",), model=lambda family: model
    )
    core, hidden = core_at_hand(data)
    measurements = read(SIMULATED)
    found = {one.operation: one for one in throughput(measurements)}
    known = measurements.known_facts
    assert known.value("compute_units") * known.value("lanes_per_unit") == core.cores == 480  # a GTX 480
    assert found["memory"].latency_s * core.clock_hz == pytest.approx(core.latency["g"])
    assert found["local"].latency_s * core.clock_hz == pytest.approx(core.latency["s"])
    assert "barrier" not in found
    assert WEIGHTS["w_barrier_rate"] == pytest.approx(core.bandwidth["y"] * core.cores * core.clock_hz)
    assert hidden == found["memory"].oversubscription


def test_mergesort_s_printed_formulas_do_not_give_the_printed_claims():
    device = spt.gpu("ALGOPARC")
    assert 12 == spt.best_each(device)  # printed: 31
    parts = spt.mergesort(device, 31)
    assert 0.35 == pytest.approx(parts["g"] / sum(parts.values()), abs=0.005)  # printed: 65 to 80 %
    assert sum(parts.values()) > 1.4 * sum(spt.mergesort(device, 12).values())


def test_a_reading_recovers_mergesort_s_claims():
    device = spt.gpu("ALGOPARC")
    # Odd, as threads at an odd stride share no bank, and no more than a warp.
    assert 31 == spt.best_each(device, recovered=True, choices=range(3, 33, 2))
    for n in (3e6, 1e7, 1e8, 1e9):
        parts = spt.mergesort(device, 31, n, recovered=True)
        assert 0.645 < parts["g"] / sum(parts.values()) < 0.80, n
    # "The remaining portion of execution time is attributed to shared memory."
    parts = spt.mergesort(device, 31, recovered=True)
    assert parts["s"] > 8 * max(parts["r"], parts["y"], parts["sync"])


def test_the_page_shows_what_the_script_computes():
    assert "\n".join(spt.lines()) in (spt.PAGE).read_text(encoding="utf-8")
