"""What PoCL's compiler leaves of vectors: all expectations were read in its machine code."""

from __future__ import annotations

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count
from tests.quantities.bottleneck.by_hand import LANES, kernel, quantities

pytestmark = [
    pytest.mark.filterwarnings("ignore::loopy.diagnostic.LoopyWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.mark.parametrize(
    ("width", "arrays", "vectors"),
    [(8, 8, False), (16, 3, False), (16, 8, True), (32, 2, False), (32, 3, True), (64, 1, True)],
)
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
