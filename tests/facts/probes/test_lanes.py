"""The order of lanes, from devices that run them in a known one."""

from __future__ import annotations

import pytest

from perfmodel.facts.probes.lanes import in_step, lane_facts
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
