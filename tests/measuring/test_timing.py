"""The clock, on a queue that is made up."""

from __future__ import annotations

import gc
from types import SimpleNamespace

import pytest

from perfmodel.measuring import timing
from perfmodel.measuring.timing import Samples, sample

STARTED_NS = iter(range(0, 10**9, 1000))


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    """The host's clock [s]; a run takes as long as it says."""
    now = [0.0]
    monkeypatch.setattr(timing, "perf_counter", lambda: now[0])
    return now


def enqueue(clock, seconds):
    """A launch whose event tells 400 ns."""

    def launch(queue):
        assert not gc.isenabled()
        clock[0] += seconds
        start = next(STARTED_NS)
        return SimpleNamespace(profile=SimpleNamespace(start=start, end=start + 400))

    return launch


QUEUE = SimpleNamespace(finish=lambda: None)


def test_a_run_is_timed_from_its_first_launch_to_the_end_of_its_last(clock):
    found = sample(QUEUE, (enqueue(clock, 1.0), enqueue(clock, 2.0)), 3)
    assert ((3.0, 3.0, 3.0), True) == (found.host_s, found.complete)
    assert [pytest.approx(1.4e-6)] * 3 == list(found.device_s)  # 1000 ns from start to start
    assert gc.isenabled()


def test_no_run_is_begun_after_the_time_is_over(clock):
    found = sample(QUEUE, (enqueue(clock, 1.0),), 10, timeout_s=2.5)
    assert ((1.0, 1.0, 1.0), False) == (found.host_s, found.complete)


def test_runs_that_suffice_after_some_time_end_the_visit(clock):
    found = sample(QUEUE, (enqueue(clock, 1.0),), 10, enough=(1.5, 3))  # the third run is the first that counts
    assert ((1.0,) * 3, True) == (found.host_s, found.complete)
    found = sample(QUEUE, (enqueue(clock, 1.0),), 10, enough=(4.5, 3))
    assert ((1.0,) * 5, True) == (found.host_s, found.complete)
    found = sample(QUEUE, (enqueue(clock, 1.0),), 10, timeout_s=0.5, enough=(0.2, 3))  # too long even for that
    assert ((1.0,), False) == (found.host_s, found.complete)


def test_the_spread_is_of_the_runs_after_the_drop():
    found = Samples((9.0, 1.0, 1.5, 2.0), ())
    assert (1.5, 0.5) == (found.median(1), found.spread(1))
