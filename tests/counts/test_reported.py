"""Answers to questions that users reported, and that each takes less than ten seconds of the processor."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.counts import reported
from tests.shadow import ROOT

GROUPS_3D = 8**3  # of 64 x 64 x 64 cells, in groups of 8 x 8 x 8


@pytest.fixture(scope="module")
def answers():
    found = subprocess.run(
        [sys.executable, "-m", "tests.counts.reported"], cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=True,
    )
    return json.loads(found.stdout)


@pytest.mark.parametrize("name", reported.QUESTIONS)
def test_an_answer_comes_in_time(answers, name):
    assert answers[name] is not None


def test_a_question_that_takes_too_long_has_no_answer(monkeypatch):
    def endless():
        while True:
            pass

    monkeypatch.setattr(reported, "CPU_S", 1)
    assert reported.answer(endless) is None


def test_lines_of_atomics(answers):
    """Work-item g of 128 has i = g, g + 128, ...; a line holds 8 cells of 8 bytes."""
    def lines(cell):
        return sum(len({cell(i) // 8 for i in range(g, 700, 128)}) for g in range(128))

    expected = {"a": lines(lambda i: i), "out": lines(lambda i: i % 20)}
    assert {array: [value, value] for array, value in expected.items()} == answers["atomic_lines_slow"]


def test_c_instruction(answers):
    """Two accesses for each of 37 products, which nobody declared."""
    *numbers, text = answers["c_instruction_accesses"]
    assert [37, 74, False] == numbers
    assert text.endswith("(the accesses of the C instruction 'ci' are assumed)")


def test_floating_point_arithmetic_on_inames(answers):
    """As the ten executions of the generated text: a factor is a product, also 1.0."""
    expected = [(0, 10), (0, 10), (10, 10), (10, 10), (10, 30)]
    found = [(one.get("float32 add", 0), one.get("float32 mul", 0)) for one in answers["float_of_inames"]]
    assert expected == found


def test_shifted_lanes(answers):
    """Of a sub-group of 32 slots 16 work-items do something; ranges of 32 lanes are one and four whole sub-groups."""
    assert [16, True] == answers["idle_lanes_shifted"]
    assert [[1, 32, 0, 1], [4, 32, 0, 4]] == answers["nonzero_lane_lower_bound"]


def test_footprint_of_remainders(answers):
    assert [len({7 * i % 12 for i in range(n)}) for n in (5, 12, 300)] == answers["modulo_footprint_hang"]


def test_reversed_subscripts_touch_the_array_once(answers):
    assert [[7 * 5, True]] * 3 == answers["reversed_flattened"]


def test_separate_arrays(answers):
    """Two loads and a store for each of 9."""
    assert [18, 9] == answers["sep_offset_auto"]


def test_skewed_stencil(answers):
    """A sub-group is a row of 32 lanes along j; four loads each."""
    cells = [(t, i, j) for t in range(3) for i in range(t, 35 + t) for j in range(t, 20 + t) if i + j <= 2 * 35]
    rows = {(t, i, j // 32) for t, i, j in cells}
    assert [4 * len(cells), 4 * len(rows)] == answers["skew_subgroup_hang"]


def test_stencil_in_groups_of_the_halo(answers):
    """8 x 8 x 8 of the 10 x 10 x 10 lanes store, all of them fetch."""
    lanes = [k + 10 * j + 100 * i for i in range(8) for j in range(8) for k in range(8)]
    stores, loads = len({lane // 32 for lane in lanes}), -(-1000 // 32)
    assert [64**3, GROUPS_3D * stores, GROUPS_3D * loads] == answers["stencil3d_halo_group_hang"]


def test_stencil_in_groups_of_the_tile(answers):
    """8 x 8 x 8 lanes fetch 10 x 10 x 10 cells in up to two steps along each axis; a sub-group is 8 x 4 x 1 of them."""
    active = {
        (steps, (lane[0] + 8 * lane[1] + 64 * lane[2]) // 32)
        for steps in [(x, y, z) for x in (0, 8) for y in (0, 8) for z in (0, 8)]
        for lane in [(x, y, z) for x in range(8) for y in range(8) for z in range(8)]
        if all(step + one < 10 for step, one in zip(steps, lane, strict=True))
    }
    assert [64**3, GROUPS_3D * 512 // 32, GROUPS_3D * len(active)] == answers["stencil3d_subgroup_recursionerror"]


def test_division_in_a_condition(answers):
    """k/2.0 is computed for each of ten k; the product for the six with k/2.0 < 3, and for all ten as a bound."""
    found = answers["true_division_in_test"]
    assert 10 == found["float64 div"]
    assert 6 <= found["float64 mul"] <= 10


def test_vector_types_count_as_components(answers):
    """Ten executions; four components but for a member."""
    four = {"float32 add": 40, "float32 mul": 40}
    assert [four, {"float32 mul": 40}, {"float32 mul": 10}, {"float32 mul": 10}] == answers["vector_types"]
