"""The visits of a campaign, on a device whose times are made up: their order, how many there are, and what is kept."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from perfmodel import store
from perfmodel.facts import KEYS, DeviceFacts, Fact
from perfmodel.measuring import Campaign, measure, run
from perfmodel.measuring.bench import Bench
from perfmodel.measuring.subject import FailedError
from perfmodel.measuring.timing import Samples, now
from perfmodel.opencl import Device
from tests.campaigns import SCALE, TINY
from tests.measuring.test_run import Hears

NUMBERS = {"max_work_group_size": 256, "compute_units": 2, "subgroup_size": 16, "device_type": "cpu", "clock_mhz": 0,
           "global_memory_bytes": 2**30, "max_alloc_bytes": 2**28}  # fmt: skip
UNITS = {key: KEYS[key].unit if key in KEYS else "" for key in NUMBERS}
FACTS = DeviceFacts.from_mapping("made up", "none", "1", {k: Fact(v, UNITS[k], "a test") for k, v in NUMBERS.items()})
CAMPAIGN = replace(TINY, visits=3, most_visits=8, runs=3, dropped=1)
SIX = [(factor, n) for factor in (2, 3) for n in (256, 512, 1024)]
Place = tuple[int, int]


@dataclass
class MadeUp:
    """A device on which a visit takes what `seconds` says; it notes the visits, and its clock goes on by them [s]."""

    seconds: Callable[[Place, int], float] = lambda place, visit: 1.0
    visits: list[Place] = field(default_factory=list)
    now: float = 0.0

    def timed(self, bench, subject, parameters) -> tuple[str, Samples]:
        place, runs = (subject.variant["factor"], parameters["n"]), bench.campaign.runs
        began_at = now("milliseconds")
        seconds = self.seconds(place, self.visits.count(place))
        self.visits.append(place)
        self.now += seconds * runs
        return began_at, Samples((0.1, *[seconds] * (runs - 1)), ())  # the first run is dropped

    def pause(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def device(monkeypatch) -> MadeUp:
    made_up = MadeUp()
    monkeypatch.setattr(Bench, "launch_overhead", lambda self: 1e-6)
    monkeypatch.setattr(Bench, "trial", lambda self, subject, parameters: 1.0)
    monkeypatch.setattr(Bench, "check", lambda self, subject: None)
    monkeypatch.setattr(Bench, "timed", lambda bench, *arguments: made_up.timed(bench, *arguments))
    monkeypatch.setattr(run, "monotonic", lambda: made_up.now)
    monkeypatch.setattr(run, "sleep", made_up.pause)
    return made_up


def measured(path, campaign: Campaign = CAMPAIGN, progress=None, kernel=SCALE):
    return measure((kernel,), Device(0, FACTS), path, progress, replace(campaign, longest_s=10.0))


def by_place(found: store.Measurements) -> dict[Place, store.Measurement]:
    return {(row.variant["factor"], row.parameters["n"]): row for row in found.current}


def test_everything_lies_between_two_visits_to_a_configuration(tmp_path, device):
    found = measured(tmp_path)
    assert 18 == len(device.visits) == len(found.rows)
    assert sorted(SIX) == sorted(device.visits[:6])
    assert SIX != device.visits[:6]  # shuffled
    assert device.visits[:6] == device.visits[6:12] == device.visits[12:]
    assert [tuple(range(6))] * 3 == [tuple(r.place_in_order for r in found.rows[i : i + 6]) for i in (0, 6, 12)]


def test_only_what_disagrees_is_visited_again_until_it_agrees(tmp_path, device):
    slow = {(2, 512): 2, (3, 256): 4}  # so many visits at the start differ, each by 6 %
    device.seconds = lambda place, visit: 2.0 * 1.06**-visit if visit < slow.get(place, 0) else 1.0
    found = by_place(measured(tmp_path))
    assert {(2, 512): 4, (3, 256): 6} == {place: len(row.visits) for place, row in found.items() if place in slow}
    assert {3} == {len(row.visits) for place, row in found.items() if place not in slow}
    assert {(1.0, ())} == {(row.seconds, row.flags) for row in found.values()}
    first, second = sorted(slow, key=device.visits.index)
    assert [first, second, *[(3, 256)] * 2] == device.visits[18:]


def test_after_eight_visits_what_still_disagrees_is_flagged(tmp_path, device):
    device.seconds = lambda place, visit: 2.0 - 0.1 * visit if place == (2, 512) else 1.0
    hears = Hears()
    found = by_place(measured(tmp_path, progress=hears))
    row = found.pop((2, 512))
    assert (8, ("visits",)) == (len(row.visits), row.flags)
    assert pytest.approx(1.4 / 1.3 - 1) == row.disagreement
    assert {()} == {row.flags for row in found.values()}
    assert pytest.approx(0.0) == sum(hears.expected)
    again = len(device.visits)
    measured(tmp_path)
    assert again == len(device.visits)


def test_visits_that_would_follow_too_soon_wait(tmp_path, device):
    began: list[tuple[Place, float]] = []
    device.seconds = lambda place, visit: began.append((place, device.now)) or 2.0 * 1.06**-visit
    measured(tmp_path, replace(CAMPAIGN, apart_s=7.0, rungs=1))
    for place in {place for place, _ in began}:
        times = [at for which, at in began if which == place]
        ends = [at + 3 * 2.0 * 1.06**-visit for visit, at in enumerate(times)]
        assert 8 == len(times)
        assert all(begin - end >= 7.0 - 1e-9 for begin, end in zip(times[1:], ends, strict=False))
    assert device.now < 7 * (7.0 + 12.0) + 12.0  # it waits no longer


@pytest.mark.parametrize("stop", [0, 1, 7, 19])
@pytest.mark.parametrize("inside", [False, True])
def test_stopped_between_or_inside_of_visits_nothing_is_lost_or_repeated(tmp_path, device, stop, inside):
    def seconds(place, visit):
        if inside and len(device.visits) == stop and not stopped:
            stopped.append(place)
            raise KeyboardInterrupt
        return 2.0 * 1.06**-visit if place == (2, 512) else 1.0

    class Stops(Hears):
        def advance(self, note="", seconds=0.0):
            if not inside and len(device.visits) == stop and device.visits:
                raise KeyboardInterrupt

    stopped: list[Place] = []
    device.seconds = seconds
    if inside or stop:
        with pytest.raises(KeyboardInterrupt):
            measured(tmp_path, progress=Stops())
    found = measured(tmp_path)
    assert 18 + 5 == len(device.visits) == len(found.rows)
    assert device.visits[:6] == device.visits[6:12] == device.visits[12:18]
    assert {3, 8} == {len(row.visits) for row in found}


def test_what_fails_is_not_visited_again(tmp_path, device):
    def seconds(place, visit):
        if place == (3, 512) and visit == 1:
            device.visits.append(place)
            raise FailedError("compile", "on purpose")
        return 1.0

    device.seconds = seconds
    hears = Hears()
    found = by_place(measured(tmp_path, progress=hears))
    assert 17 == len(device.visits)
    assert ("compile", ()) == (found[3, 512].status, found[3, 512].visits)
    assert 1 == sum("on purpose" in note for note in hears.notes)
    assert pytest.approx(0.0) == sum(hears.expected)


def test_a_budget_gives_every_configuration_a_visit_first(tmp_path, device, monkeypatch):
    monkeypatch.setattr(Bench, "trial", lambda self, subject, parameters: 0.5)  # so that all seem to fit into it
    hears = Hears()
    found = measured(tmp_path, replace(CAMPAIGN, budget_s=3 * 8.5), hears)  # a visit has three runs of 1 s
    assert [1, 1, 1, 2, 2, 2] == sorted(len(row.every_visit) for row in found)
    (message,) = hears.messages
    assert "0 configurations and all sizes of 0 variants are left out (of none), " in message
    assert "and 6 others need more visits" in message
    assert {3} == {len(row.visits) for row in measured(tmp_path)}
