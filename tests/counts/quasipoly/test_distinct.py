"""Counts without duplicates."""

from __future__ import annotations

from perfmodel.counts.quasipoly.count import Count
from perfmodel.counts.quasipoly.distinct import DistinctCounts


def test_equal_counts_have_the_position_of_the_first() -> None:
    position = DistinctCounts()
    counts = [Count.from_text(text) for text in ("[n] -> { n }", "[n] -> { 2*n }", "[n] -> { n }")]
    assert [0, 1, 0] == [position(count) for count in counts]
    assert counts[:2] == position.counts


def test_counts_of_other_things_or_assumptions_differ() -> None:
    position = DistinctCounts()
    one = Count.from_text("[n] -> { n }")
    assert [0, 1, 2] == [
        position(one), position(one.labelled("launch")),
        position(Count.from_text("[n] -> { n }", assumptions="[n] -> { : n >= 4 }")),
    ]  # fmt: skip
