"""The order of lanes, the cost of barriers and the exponent of overlap, from times that known ones make."""

from __future__ import annotations

import pytest

from perfmodel.facts.probed import barrier_facts, barrier_slopes, exponent, in_step, lane_facts, overlap_facts, together
from tests.probed import lanes, probe


def nests(gain, dtype="float32"):
    straight = {"nest": "straight", "dtype": dtype}
    looped = {"nest": "looped", "dtype": dtype}
    return probe("nests", [
        ({**straight, "operations": 32}, 1, 1.0 + 32), ({**straight, "operations": 64}, 1, 1.0 + 64),
        ({**looped, "operations": 32}, 1, 5.0 + 32 * gain), ({**looped, "operations": 64}, 1, 5.0 + 64 * gain),
    ])  # fmt: skip


@pytest.mark.parametrize(("width", "hidden", "order"), [
    (1, False, "serial"), (8, False, "lockstep"), (16, False, "lockstep"), (4, True, "multithreaded"),
    (32, True, "multithreaded"), (64, True, "multithreaded"), (64, False, "lockstep"),
])  # fmt: skip
def test_the_order(width, hidden, order):
    found = lane_facts([lanes(width, hidden)])
    assert (order, width) == (found["lane_order"].value, found["lockstep_lanes"].value)


def test_whether_more_lanes_are_hidden_may_not_be_known():
    run = lanes(16)
    few = type(run)(**{**vars(run), "points": tuple(p for p in run.points if p.at["lanes"] == 256)})
    found = lane_facts([few])  # fewer lanes were not measured
    assert ("lane_order" in found, found["lockstep_lanes"].value) == (False, 16)


def test_lanes_in_step_are_a_vector():
    found = lane_facts([lanes(16), type(lanes(1))(**{**vars(lanes(8, dtype="float64")), "visit": 1}), nests(4.0)])
    assert (16, 8) == (found["vector_lanes"].value, found["vector_lanes_float64"].value)


@pytest.mark.parametrize(("gain", "vector"), [(8.0, 8), (7.0, 8), (5.0, 4), (1.1, 1), (0.8, 1)])
def test_lanes_in_a_row_gain_what_a_nest_without_a_loop_gains(gain, vector):
    assert vector == lane_facts([lanes(1), nests(gain)])["vector_lanes"].value


def test_a_curve_that_rises_again_is_not_clear():
    run = lanes(1)
    ragged = probe("lanes", [
        (dict(p.at), p.work, (p.host_s[1] / p.work) * (2 if p.at["block"] == 4 else 1)) for p in run.points
    ])  # fmt: skip
    assert 0 == in_step([ragged], "float32")
    assert {} == lane_facts([ragged])
    assert {} == lane_facts([])


NUMBERS, ITEMS = (0, 2, 8, 32), (16, 64, 256)


def barriers(group_s, item_s, start_s=1e-7):
    return probe("barriers", [
        ({"barriers": b, "items": g}, 50, start_s + b * (group_s + item_s * g) + (1e-6 if b == 0 else 0.0))
        for b in NUMBERS for g in ITEMS
    ])  # fmt: skip


@pytest.mark.parametrize(("group_s", "item_s"), [(3e-9, 2e-10), (5e-8, 0.0), (0.0, 1e-9)])
def test_a_known_cost(group_s, item_s):
    """A kernel with no barrier is other code, and does not count."""
    found = barrier_facts([barriers(group_s, item_s)])
    assert (pytest.approx(item_s, abs=1e-15), "s") == (found["barrier_s"].value, found["barrier_s"].unit)
    assert pytest.approx(group_s, abs=1e-15) == found["barrier_group_s"].value


def test_neither_cost_is_below_zero():
    costs = ((16, 3e-9), (64, 1e-9))
    run = probe("barriers", [({"barriers": b, "items": g}, 1, b * s) for b in (1, 3) for g, s in costs])
    found = barrier_facts([run])
    assert 0.0 == found["barrier_s"].value
    assert 1e-9 < found["barrier_group_s"].value < 3e-9


def test_barriers_that_cost_nothing_or_were_not_probed():
    assert {} == barrier_facts([])
    assert {} == barrier_facts([barriers(0.0, 0.0)])
    assert {16: pytest.approx(7e-9)} == barrier_slopes([
        probe("barriers", [({"barriers": b, "items": 16}, 1, 1e-8 + 7e-9 * b) for b in (1, 4)])
    ])  # fmt: skip


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
