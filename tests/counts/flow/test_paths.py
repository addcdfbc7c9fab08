"""Paths, and the choices that depend on their prefixes, by hand."""

from __future__ import annotations

import pytest

from perfmodel.counts.flow.paths import START, Choices, Path, Prefix, Term, UnknownPrefixError, costlier, longer

ADD: Term = (("float32", "add"), ())
MUL: Term = (("float32", "mul"), ("k",))


def test_operations_are_added_and_subtracted() -> None:
    first = START.plus([(ADD, 1)], 1)
    second = first.plus([(ADD, 2), (MUL, 1)], 10)
    assert Path({ADD: 3, MUL: 1}, 11) == second
    assert {ADD: 2, MUL: 1} == second.since(first)
    assert {} == first.since(first)


def test_the_first_of_equally_costly_paths_is_kept() -> None:
    one, other = Path({ADD: 1}, 1), Path({MUL: 1}, 1)
    assert longer(one, other) is one
    assert longer(one, Path({}, 2)) == Path({}, 2)


def test_margins_are_the_costs_with_the_same_choice() -> None:
    choices = Choices()
    first, second = (Path({}, cost, Prefix(k, {}, cost, choices)) for k, cost in enumerate((10, 7)))
    assert not costlier(second, first, added=2)  # so while the first costs at least 2 more
    assert costlier(second, first, added=4)  # and the second more than it less 4
    assert costlier(first, START)
    assert {(0, 1, False): 2, (1, 0, True): -4, (0, -1, True): 0} == choices.margins


def test_paths_with_different_prefixes_cannot_be_subtracted() -> None:
    first, second = (Path({}, 0, Prefix(k, {}, 0, Choices())) for k in range(2))
    with pytest.raises(UnknownPrefixError):
        first.since(second)
    longer = first.plus([(ADD, 2)], 4)
    assert {ADD: 2} == longer.since(first)


def test_a_prefix_may_cancel_an_operation() -> None:
    choices = Choices()
    prefix = Path({}, 0, Prefix(0, {MUL: -1}, 0, choices))  # a loop of few trips took off more than there was
    assert {ADD: 2} == prefix.plus([(ADD, 2), (MUL, 1)], 0).since(prefix)
    assert {(0, ADD, 2): True, (0, MUL, 1): False} == choices.kept
    assert {MUL: 1} == prefix.plus([(MUL, 2)], 0).all_terms
