"""Vectors (as in the machine code of PoCL 3.1), latency hiding and load imbalance, by hand."""

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.quantities.bottleneck.execution import busiest_over_mean, integer_latency, rounds_over_mean
from tests.quantities.bottleneck.by_hand import LANES, kernel, quantities


@pytest.mark.parametrize(("width", "arrays", "vectors"), [
    (8, 8, False), (16, 3, False), (16, 8, True), (32, 2, False), (32, 3, True), (64, 1, True),
])  # fmt: skip
def test_rows_of_a_group_that_are_written_out_are_scalar(width: int, arrays: int, vectors: bool) -> None:
    """Sums of neighbouring cells of 2-d arrays, in groups of 64: as in the machine code of PoCL 3.1."""
    names = [f"a{number}" for number in range(arrays)]
    unit = lp.make_kernel(
        "{ [i, j]: 0 <= i, j < n }", f"out[j, i] = {' + '.join(f'{name}[j, i]' for name in names)}",
        [lp.GlobalArg(name, np.float32, shape="n, n", is_input=None) for name in [*names, "out"]] + [...],
        assumptions="n mod 64 = 0 and n >= 64", lang_version=(2018, 2),
    )  # fmt: skip
    rows = lp.split_iname(unit, "i", width, outer_tag="g.0", inner_tag="l.0")
    rows = lp.split_iname(rows, "j", 64 // width, outer_tag="g.1", inner_tag="l.1")
    values = quantities(count(rows, cache=False), "serial", n=64)
    assert arrays * 64 * 64 / (LANES if vectors else 1) == values["loads"]


@pytest.mark.parametrize(
    ("trips", "instructions"), [("m", 17), ("8", 1), ("9", 2), ("5", 2), ("3", 3), ("2", 2), ("16", 2), ("17", 3)]
)
def test_what_vectors_along_a_loop_leave_over_runs_one_by_one(trips: str, instructions: int) -> None:
    """Of 31 cells of a row 24 are 3 vectors and 7 are alone; of constant trips 5 are a vector of 4 and one alone."""
    counts = kernel(
        f"[n, m] -> {{ [i, j]: 0 <= i < n and 0 <= j < {trips} }}", "out[i, j] = a[i, j] + 1",
        f"a: n, {trips}; out: n, {trips}",
    )  # fmt: skip
    sizes = {"n": 128, "m": 31} if trips == "m" else {"n": 128}
    expected = 3 + 7 if trips == "m" else instructions
    assert 128 * expected == pytest.approx(quantities(counts, "serial", **sizes)["stores"])


@pytest.mark.parametrize(("operations", "alone", "vectors"), [
    ({"add": 3.0, "mul": 1.0}, 0.0, 0.0),  # of floats nothing
    ({"integer_add": 4.0}, 1.0, 1.0),  # 1 cycle each, of the 4 of an addition of float32
    ({"integer_mul": 4.0}, 3.0, 10.0),  # 3 cycles of one value (imul), 10 of a vector (vpmulld)
    ({"integer_shift": 4.0, "load": 4.0}, 6.0, 41.0),  # 5 cycles of the first-level cache, 40 of a gather
])  # fmt: skip
def test_integers_and_loads_in_cycles(operations, alone, vectors):
    assert (alone, vectors) == tuple(integer_latency(operations, vectors=each) for each in (False, True))


@pytest.mark.parametrize("units", [1, 2, 3, 8])
@pytest.mark.parametrize("groups", [1, 2, 7, 24, 100])
@pytest.mark.parametrize("in_shares", [False, True])
def test_equal_groups_are_dealt_in_rounds(groups: int, units: int, in_shares: bool) -> None:
    assert rounds_over_mean(groups, units) == pytest.approx(busiest_over_mean(np.full(groups, 3.0), units, in_shares))


def test_shares_of_a_triangle() -> None:
    # the first unit takes 4 of 8 groups; until it is free the other one takes two, one and one
    assert (8 + 7 + 6 + 5) / 18 == busiest_over_mean(np.arange(8.0, 0.0, -1.0), 2, in_shares=True)
    # the first unit is free after 1 + 2 + 3 + 4 and takes 7, the second after 5 + 6 and takes 8
    assert (5 + 6 + 8) / 18 == busiest_over_mean(np.arange(1.0, 9.0), 2, in_shares=True)


def test_many_groups_are_taken_in_pieces() -> None:
    """Of 1100 groups PoCL's first unit takes 512: the first 512 groups have all the work."""
    work = np.concatenate([np.ones(512), np.zeros(588)])
    assert 2.0 == busiest_over_mean(work, 2, in_shares=True)
    assert 1.0 == busiest_over_mean(work, 2, in_shares=False)
    # of 1024 groups it takes 64 at a time
    assert 1.0 == busiest_over_mean(work[:1024], 2, in_shares=True)
