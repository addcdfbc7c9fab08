"""Latencies from the facts of a device."""

from __future__ import annotations

import pytest

from perfmodel.errors import FactsError
from perfmodel.facts import DeviceFacts, Fact
from scripts.lab.kim.work_flow import Latencies


def test_latencies_of_a_device() -> None:
    facts = {
        "lanes_per_unit": Fact(64, "", "test"), "clock_hz": Fact(1e9, "Hz", "test"),
        "register_latency_s": Fact(1e-8, "s", "test"), "memory_latency_s": Fact(4e-7, "s", "test"),
    }
    with pytest.raises(FactsError, match="local_latency_s"):
        Latencies.of(DeviceFacts.from_mapping("toy", "", "", facts), 32)
    facts["local_latency_s"] = Fact(3e-8, "s", "test")
    found = Latencies.of(DeviceFacts.from_mapping("toy", "", "", facts), 32)
    assert Latencies(5e-10, 1e-8, 1e-8, 4e-7, 3e-8, 5e-10, 5e-10) == found
    with pytest.raises(FactsError, match="issue_s"):
        Latencies.of(None, 32)
