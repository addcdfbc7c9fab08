"""Measured beside predicted times: factor, interval, order and regret, worked out by hand."""

from __future__ import annotations

import pytest

from perfmodel.predicting.ranking import RankedVariant
from perfmodel.tuning.timing import TimedVariant, timed_point
from tests.tuning.test_timing import row

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


def test_of_equal_predictions_the_first_name_is_chosen_whatever_it_takes():
    found = point({"a": 3.0, "b": 2.0}, {"b": 5.0, "a": 5.0})
    assert ("a", 0.5) == (found.chosen, found.regret)


def test_failures_stand_last_and_are_no_choice():
    found = point({"a": None, "b": 3.0, "c": 2.0}, {"a": 1.0, "b": 4.0, "c": 3.0})
    assert ["c", "b", "a"] == [one.name for one in found.variants]
    assert ["c", "b"] == [one.name for one in found.ran]
    assert (("a", "c", "b"), "c", 0.0, (1, 1)) == (found.order_predicted, found.chosen, found.regret, found.pairs)


def test_without_predictions_there_is_no_choice():
    for predicted in ({}, {"a": 1.0}):
        found = point({"a": 2.0, "b": 3.0}, predicted)
        assert (None, None, (0, 0)) == (found.chosen, found.regret, found.pairs)
