"""What measurements tell of a device, below what it tells of itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from perfmodel import store
from perfmodel.errors import StoreError
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.fitting import throughput
from perfmodel.fitting.throughput import with_measured_facts

DATA = Path(__file__).parents[2] / "docs" / "data" / "quickstart"
KNOWN = DeviceFacts("d", "p", "1", (("compute_units", Fact(2, "", "CL")), ("launch_s", Fact(3e-6, "s", "by hand"))))
BANKS = Fact(32, "", "roof")
READ_OFF = {"launch_s": Fact(4e-6, "s", "measured"), "local_latency_s": Fact(1e-9, "s", "measured")}


@pytest.fixture
def measurements():
    found = store.read(DATA)
    return replace(found, rows=found.rows[:1], facts=KNOWN)


def test_what_is_told_counts_more_than_what_is_measured(monkeypatch, measurements):
    monkeypatch.setattr(throughput, "throughput_facts", lambda _: READ_OFF)
    monkeypatch.setattr(throughput, "roofs", lambda *_: {"launch_s": Fact(9.0, "s", "roof"), "banks": BANKS})
    found = with_measured_facts(measurements)
    assert KNOWN.updated({"local_latency_s": READ_OFF["local_latency_s"], "banks": BANKS}) == found.facts
    assert measurements.rows == found.rows
    assert found.facts == with_measured_facts(found).facts


def test_what_cannot_be_read_off_is_left_out(monkeypatch, measurements):
    def fail(*_):
        raise StoreError("no counts")

    monkeypatch.setattr(throughput, "throughput", fail)
    monkeypatch.setattr(throughput, "roofs", fail)
    assert KNOWN == with_measured_facts(measurements).facts
