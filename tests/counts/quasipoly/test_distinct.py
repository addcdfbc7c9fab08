"""Counts without duplicates."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import islpy as isl
import numpy as np
import pytest

from perfmodel.counts.points.cardinality import Cardinality, Unexpanded
from perfmodel.counts.quasipoly.count import Count
from perfmodel.counts.quasipoly.distinct import DistinctCounts, JointCounts, NamedCounts
from perfmodel.errors import AssumptionError, SizeError


def test_equal_counts_have_the_position_of_the_first() -> None:
    position = DistinctCounts()
    counts = [Count.from_text(text) for text in ("[n] -> { n }", "[n] -> { 2*n }", "[n] -> { n }")]
    assert [0, 1, 0] == [position(count) for count in counts]
    assert counts[:2] == list(position.joint())


def test_counts_of_other_things_or_assumptions_differ() -> None:
    position = DistinctCounts()
    count = Count.from_text("[n] -> { n }")
    assert [0, 1, 2] == [
        position(count), position(count.labelled("launch")),
        position(Count.from_text("[n] -> { n }", assumptions="[n] -> { : n >= 4 }")),
    ]  # fmt: skip


def joint(*counts: Count) -> JointCounts:
    position = DistinctCounts()
    for count in counts:
        position(count)
    return position.joint()


def test_counts_together_give_what_each_of_them_gives() -> None:
    counts = joint(
        Count.from_text("[n] -> { n^2 }", assumptions="[n] -> { : n mod 4 = 0 }"), Count.from_text("[m, n] -> { m*n }"),
        Count.from_text("[n] -> { n }", assumptions="[n] -> { : n mod 4 = 0 }"),
    )  # fmt: skip
    assert (64, 24, 8) == counts.at({"m": 3, "n": 8})
    assert (64, 24, 8) == counts.at({"m": 3, "n": np.int64(8), "more": 0})


@pytest.mark.parametrize(("sizes", "error"), [
    ({"m": 3}, SizeError), ({"n": 8}, SizeError), ({"m": 3, "n": -4}, SizeError), ({"m": 3, "n": 4.5}, SizeError),
    ({"m": 3, "n": 6}, AssumptionError),
])  # fmt: skip
def test_counts_together_refuse_what_one_of_them_refuses(sizes: dict[str, Any], error: type[Exception]) -> None:
    counts = joint(Count.from_text("[m] -> { m }"), Count.from_text("[n] -> { n }", "[n] -> { : n mod 4 = 0 }"))
    with pytest.raises(error) as of_all:
        counts.at(sizes)
    with pytest.raises(error) as of_one:
        [count(**sizes) for count in counts]
    assert str(of_one.value) == str(of_all.value)


def test_a_summand_without_a_formula_is_added() -> None:
    points = isl.Set("[n] -> { [i]: 0 <= i < n }")
    counts = joint(
        Count.from_text("[n] -> { n }"),
        Count(Cardinality(isl.PwQPolynomial("[n] -> { 1 }"), unexpanded=(Unexpanded(Fraction(2), (), (points,)),))),
    )
    assert (5, 1 + 2 * 5) == counts.at({"n": 5})


@dataclass(frozen=True)
class Loop:
    iname: str
    trips: object
    steps: tuple[object, ...] = ()
    sizes: object = None


def test_named_counts_give_the_same_value_with_numbers() -> None:
    linear, square = Count.from_text("[n] -> { n }"), Count.from_text("[n] -> { 1/2 * n^2 }")
    nested = Loop("i", linear, (linear, 3, square), {"n": square})
    loops = NamedCounts((nested, Loop("j", 7), Loop("k", linear, (square,))))
    assert 2 == len(loops.counts)
    values = loops.at({"n": 5})
    assert (Loop("i", 5.0, (5.0, 3, 12.5), {"n": 12.5}), Loop("j", 7), Loop("k", 5.0, (12.5,))) == values
    assert values[1] is loops.tree[1]
    assert 7 == NamedCounts(Loop("i", 7)).at({}).trips  # nothing to evaluate
