"""The visits of a timing: their order, their number, and what they take; on trials whose times are made up."""

from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest

from perfmodel.errors import AssumptionError, PerfModelError, SizeError
from perfmodel.predicting.ranking import RankedVariant
from perfmodel.progress import Silent
from perfmodel.store import Measurement, Visit
from perfmodel.tuning.timing import TimedVariant, building_s, counted_at, expected_s, time_variants, timed_point
from perfmodel.tuning.trials import TRIALS, row_key
from tests.processes.variants import double

CAMPAIGN = replace(TRIALS, visits=2, most_visits=4, apart_s=0.0, runs=3, dropped=1)


def row(name: str, point: dict[str, int], seconds: float, status: str = "ok") -> Measurement:
    """A record of one visit with two runs of these seconds, after one that is dropped."""
    samples = (9.0, seconds, seconds) if status == "ok" else ()
    return Measurement(
        kernel="k", group="k", variant={"variant": name}, parameters=point, device="d", platform="p", driver="1",
        versions={}, kernel_hash=name, counts_hash="", samples_s=samples, dropped=1, status=status,
        visits=(Visit(runs=3, dropped=1),) if samples else (),
    )  # fmt: skip


@dataclass
class MadeUp:
    """Trials whose visits take the seconds that are given for them, in turn; no seconds are a failure."""

    seconds: dict[str, list[float]]
    campaign: Any = CAMPAIGN
    rows: dict[Any, Measurement] = field(default_factory=dict)
    visited: list[Any] = field(default_factory=list)

    @property
    def variants(self) -> tuple[str, ...]:
        return tuple(self.seconds)

    def visit(self, name: str, point: dict[str, int]) -> Measurement:
        self.visited.append((name, point["n"]))
        mine = sum(one == (name, point["n"]) for one in self.visited) - 1
        seconds = self.seconds[name]
        found = row(name, point, seconds[min(mine, len(seconds) - 1)]) if seconds else row(name, point, 0, "compile")
        key = row_key(name, point)
        self.rows[key] = found.after(self.rows.get(key))
        return found

    def judged(self, name: str, point: dict[str, int]) -> Measurement:
        found = self.rows[row_key(name, point)]
        wrong = name == "wrong" and len(self.visited) >= len(self.seconds)
        return found.model_copy(update={"status": "correctness"}) if wrong else found


class Recorder(Silent):
    def __init__(self) -> None:
        self.tasks: list[tuple[str, int]] = []
        self.notes: list[str] = []

    def start(self, task: str, total: int, seconds: float = 0.0) -> None:
        self.tasks.append((task, total))

    def advance(self, note: str = "", seconds: float = 0.0) -> None:
        self.notes.append(note)


POINTS = ({"n": 1}, {"n": 2})


def test_visits_of_a_variant_alternate_with_the_others():
    made, bar = MadeUp({"a": [1.0], "b": [2.0]}), Recorder()
    time_variants(made, POINTS, bar)
    once = [("a", 1), ("b", 1), ("a", 2), ("b", 2)]
    assert once + once == made.visited
    assert [("timing", 8)] == bar.tasks
    assert 8 == len(bar.notes)
    assert {2} == {len(one.visits) for one in made.rows.values()}


def test_a_failure_is_not_visited_again():
    made, bar = MadeUp({"bad": [], "good": [1.0]}), Recorder()
    time_variants(made, POINTS[:1], bar)
    assert [("bad", 1), ("good", 1), ("good", 1)] == made.visited
    assert ["bad: compile", "good", "bad", "good"] == bar.notes


def test_visits_that_disagree_are_repeated():
    """The third visit of "a" agrees with the second one; "b" never agrees, and has as many visits as there may be."""
    made, bar = MadeUp({"a": [1.2, 1.0, 1.01], "b": [4.0, 3.0, 2.0, 1.0, 0.5], "c": [1.0, 1.04]}), Recorder()
    time_variants(made, POINTS[:1], bar)
    assert (3, 4, 2) == tuple(sum(one == (name, 1) for one in made.visited) for name in "abc")
    assert [("timing", 6), ("timing again what disagrees", 2), ("timing again what disagrees", 1)] == bar.tasks
    assert ("visits",) == made.rows[row_key("b", {"n": 1})].flags


def test_a_wrong_output_ends_the_visits():
    trials = MadeUp({"wrong": [1.0], "good": [2.0]})
    time_variants(trials, [{"n": 1}])
    assert [("wrong", 1), ("good", 1), ("good", 1)] == trials.visited


def test_visits_are_apart(monkeypatch):
    slept = []
    monkeypatch.setattr("perfmodel.tuning.timing.sleep", slept.append)
    monkeypatch.setattr("perfmodel.tuning.timing.monotonic", lambda: 100.0)
    time_variants(MadeUp({"a": [1.0]}, replace(CAMPAIGN, apart_s=2.5)), POINTS[:1])
    assert [2.5] == slept


def test_the_expected_duration():
    """Ten runs of 10 ms and 20 ms of setting up: 0.12 s a visit. Three visits, with 1 s between them at least."""
    assert pytest.approx(0.12 + 2 * 1.0) == expected_s([0.01], TRIALS)
    assert pytest.approx(3 * 20 * 0.12) == expected_s([0.01] * 20, TRIALS)
    once = replace(TRIALS, visits=1)
    assert pytest.approx(0.02 + 3 * 30) == expected_s([30.0], once)  # one run more than the two dropped


def test_the_second_variant_estimates_the_time_of_building():
    """The first one takes 2 s, since it loads libraries; each of the 15 others half a second."""
    built = []
    trials = SimpleNamespace(build=lambda name: built.append(name) or (2.0 if name == "0" else 0.5))
    names = [str(place) for place in range(16)]
    assert 9.5 == building_s(trials, names)
    assert ["0", "1"] == built
    assert 2.0 == building_s(trials, names[:1])
    assert building_s(SimpleNamespace(build=lambda name: None), names) is None


def test_variants_are_counted_and_sizes_checked():
    units = {"none": lambda: double(0), "8": lambda: double(8)}
    assert ["8"] == list(counted_at(units, [{"n": 64}], 32, {}))
    with pytest.raises(PerfModelError):
        counted_at({"none": lambda: double(0)}, [{"n": 64}], 32, {})
    with pytest.raises(SizeError, match="'m' is unknown"):
        counted_at(units, [{"n": 64, "m": 1}], 32, {})
    with pytest.raises(AssumptionError):
        counted_at(units, [{"n": 0}], 32, {})
    assert ["8"] == list(counted_at(units, [{"n": 0}, {"n": 64}], 32, {}))


N = {"n": 8}


def ranked(name: str, seconds: float, *interval: float) -> RankedVariant:
    return RankedVariant(name, seconds, (interval[0], interval[1]) if interval else None)


def point(measured, predicted):
    """A point of variants with these measured times (None: it failed) and predicted ones."""
    rows = {name: row(name, N, seconds or 0, "ok" if seconds else "runtime") for name, seconds in measured.items()}
    return timed_point(N, rows, [ranked(name, seconds) for name, seconds in predicted.items()])


def test_one_variant():
    found = TimedVariant("a", row("a", N, 2.0), ranked("a", 3.0, 1.5, 6.0))
    assert (2.0, 1.5, True) == (found.seconds, found.factor, found.inside)
    assert TimedVariant("a", row("a", N, 2.0), ranked("a", 3.0, 2.5, 6.0)).inside is False
    assert TimedVariant("a", row("a", N, 2.0), ranked("a", 3.0)).inside is None
    bare, failed = TimedVariant("a", row("a", N, 2.0)), TimedVariant("a", row("a", N, 0, "compile"), ranked("a", 3.0))
    assert (None, None) == (bare.factor, bare.inside)
    assert (None, None) == (failed.seconds, failed.factor)


def test_the_order_measured_and_the_order_predicted():
    """Predicted first is b, which takes 3 s, 1.5 times the best; of six pairs a-c ties, and a-b is the wrong way."""
    found = point({"b": 3.0, "a": 2.0, "c": 2.1, "d": 8.0}, {"a": 5.0, "b": 4.0, "c": 6.0, "d": 7.0})
    assert ["a", "c", "b", "d"] == [one.name for one in found.variants]
    assert ("b", "a", "c", "d") == found.order_predicted
    assert ("a", "c") == found.tied
    assert "b" == found.chosen
    assert pytest.approx(0.5) == found.regret
    assert (3, 5) == found.pairs  # a-d, b-d and c-d are right; a-b and b-c are wrong


def test_failures_are_last_and_are_not_chosen():
    found = point({"a": None, "b": 3.0, "c": 2.0}, {"a": 1.0, "b": 4.0, "c": 3.0})
    assert ["c", "b", "a"] == [one.name for one in found.variants]
    assert ["c", "b"] == [one.name for one in found.ran]
    assert (("a", "c", "b"), "c", 0.0, (1, 1)) == (found.order_predicted, found.chosen, found.regret, found.pairs)
    assert (None, None, (0, 0)) == ((bare := point({"a": 2.0, "b": 3.0}, {"a": 1.0})).chosen, bare.regret, bare.pairs)
