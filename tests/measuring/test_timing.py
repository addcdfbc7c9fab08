"""The clock, on a queue that is made up."""

import gc
from types import SimpleNamespace

import loopy as lp
import pytest

from perfmodel.counts import count
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.measuring import Campaign, timing
from perfmodel.measuring.timing import Samples, flags, least_seconds, sample
from tests.corpus.kernel import make

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


CAMPAIGN = Campaign("test", runs=5, dropped=1, spread=0.2)
STEADY = (9.0, 1.0, 1.1, 1.1, 1.1)


def flagged(host, device=(), overhead_s=0.0, least_s=0.0):
    return flags(Samples(host, device), CAMPAIGN, overhead_s, least_s)


def facts(**values) -> DeviceFacts:
    return DeviceFacts.from_mapping("D", "P", "1", {k: Fact(v, "", "test") for k, v in values.items()})


def test_steady_times_have_no_flag():
    assert () == flagged(STEADY, tuple(0.9 * t for t in STEADY))


@pytest.mark.parametrize(("device", "overhead_s", "expected"), [
    ((1.0, 1.05, 1.0, 1.0, 1.0), 0.0, ("clock",)),  # one run longer than the host saw
    ((1.0, 0.4, 0.4, 0.4, 0.4), 0.0, ("clock",)),  # most of the time is nowhere
    ((1.0, 0.4, 0.4, 0.4, 0.4), 0.02, ()),  # but launching may take it
    ((0.0, 0.0, 0.0, 0.0, 0.0), 0.02, ("clock",)),
])  # fmt: skip
def test_two_clocks_that_disagree_are_flagged(device, overhead_s, expected):
    assert expected == flagged((9.0, 1.0, 1.0, 1.0, 1.0), device, overhead_s)


def test_faster_than_the_device_can_be_is_flagged():
    assert ("bound",) == flagged(STEADY, least_s=1.01)
    assert () == flagged(STEADY, least_s=1.0)


@pytest.fixture(scope="module")
def counts():
    t_unit = make("{[i]: 0 <= i < n}", "out[i] = a[i]*a[i] + 1", "float64 out, a: n",
                  assumes="n >= 64 and n mod 64 = 0")  # fmt: skip
    return count(lp.split_iname(t_unit, "i", 64, outer_tag="g.0", inner_tag="l.0"), subgroup_size=8)


def test_the_bound_is_the_larger_of_work_and_bytes(counts):
    # 2 operations and 16 bytes an element; 2 units of 500 MHz, at most twice that
    cycles_s = 2 * 2 * 500e6
    cpu = facts(compute_units=2, clock_mhz=500, device_type="cpu")
    assert pytest.approx(1024 * 16 / 192 / cycles_s) == least_seconds(counts, {"n": 1024}, cpu)
    gpu = facts(compute_units=2, clock_mhz=500, device_type="gpu")
    assert pytest.approx(1024 * 16 / 256 / cycles_s) == least_seconds(counts, {"n": 1024}, gpu)


@pytest.mark.parametrize("known", [
    {}, {"compute_units": 2, "clock_mhz": 0, "device_type": "cpu"},
    {"compute_units": 2, "clock_mhz": 500, "device_type": "custom"},
])  # fmt: skip
def test_a_device_that_does_not_tell_its_speed_has_no_bound(counts, known):
    assert 0.0 == least_seconds(counts, {"n": 1024}, facts(**known))
