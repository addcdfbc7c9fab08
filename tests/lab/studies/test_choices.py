"""How well families choose among a study's variants, worked out by hand."""

import math

import pytest

from perfmodel.compare import Comparison
from scripts.lab.studies.choices import choice_records


class Data:
    """A study's data: cases of two families."""

    recommended = "good"
    families = ("good", "bad", "mute")

    def __init__(self, **cases):
        self.cases = cases.__getitem__


def case(variant, measured, predicted, n=8):
    return Comparison("k", {"n": n}, measured, predicted, variant={"v": variant}, ranked=False)


def test_records_of_two_choices():
    """At n=8 "bad" takes the variant of 3 s for 1 s, and has the best last; at n=16 it takes the best."""
    times = [(1, 1.0, 8), (2, 2.0, 8), (3, 3.0, 8), (1, 4.0, 16), (2, 2.0, 16)]
    good = [case(v, t, 5 * t, n) for v, t, n in times]
    bad = [case(v, t, 1 / t if n == 8 else t, n) for v, t, n in times] + [case(4, 0.1, None)]
    mute = [case(v, t, None, n) for v, t, n in times]
    first, second, third = choice_records(Data(good=good, bad=bad, mute=mute))
    common = {"choices": 2, "variants": 3}
    best = {"family": "good", "recommended": True, "regret": 1.0, "rank": 1, "tau": 1.0, "withheld": 0}
    assert best | common == first
    assert {**second, "regret": pytest.approx(math.sqrt(3.0)), "rank": 2.0, "tau": 0.0, "withheld": 1} == second
    assert not second["recommended"]
    assert (0, None, None, 5) == tuple(third[name] for name in ("choices", "regret", "rank", "withheld"))
