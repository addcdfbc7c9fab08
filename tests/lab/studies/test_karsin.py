"""The platforms of Karsin (2018), against the printed table, and the model's time by hand."""

from __future__ import annotations

import pytest

from scripts.lab.studies.karsin import PLATFORMS, Gpu, gpu, operation_seconds


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
