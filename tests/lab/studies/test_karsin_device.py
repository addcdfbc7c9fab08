"""A device's facts and weights in the units of Table 4.2."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from perfmodel.facts import DeviceFacts, Fact, published
from perfmodel.fitting.throughput import throughput
from perfmodel.store import read
from scripts.lab.studies.karsin import PLATFORMS, gpu
from scripts.lab.studies.karsin_device import core_at_hand, core_of
from scripts.lab.study_runs import facts_of
from tests.recorded import SIMULATED

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
