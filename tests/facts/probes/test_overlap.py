"""The exponent of overlap, from three times that it makes."""

from __future__ import annotations

import pytest

from perfmodel.facts.probes.overlap import exponent, overlap_facts, together
from tests.probed import probe


def overlap(p, computing=(0.5, 1.0, 2.0), memory=1.0):
    points = [({"part": "memory", "operations": 0}, 1, memory)]
    for n, b in enumerate(computing, start=1):
        both = (memory**p + b**p) ** (1 / p)
        points += [({"part": "compute", "operations": n}, 1, b), ({"part": "both", "operations": n}, 1, both)]
    return probe("overlap", points)


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 4.0, 10.0])
def test_a_known_exponent(p):
    fact = overlap_facts([overlap(p)])["overlap_exponent"]
    assert pytest.approx(p, rel=1e-4) == fact.value
    assert fact.source.startswith("measured, 3 kernels")


def test_three_times_that_a_right_triangle_gives():
    assert 5.0 == together(3.0, 4.0, 2.0)
    assert pytest.approx(2.0, rel=1e-4) == exponent([(3.0, 4.0, 5.0)])


def test_times_beyond_the_sum_or_below_the_maximum_give_a_bound():
    assert 1.0 == exponent([(1.0, 1.0, 3.0)])
    assert 16.0 == exponent([(1.0, 2.0, 1.5)])
    slow = probe("overlap", [({"part": part, "operations": n}, 1, s) for part, n, s in (
        ("memory", 0, 1.0), ("compute", 4, 1.0), ("both", 4, 3.0),
    )])  # fmt: skip
    assert "1 or less" in overlap_facts([slow])["overlap_exponent"].source


def test_one_time_that_is_much_the_longest_tells_nothing():
    assert {} == overlap_facts([overlap(2.0, computing=(9.0,))])
    assert {} == overlap_facts([overlap(2.0, computing=())])
    assert {} == overlap_facts([])
