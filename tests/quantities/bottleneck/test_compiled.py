"""A kernel as its compiler sees it."""

from __future__ import annotations

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.quantities.bottleneck.compiled import compiled_kernel
from tests.counts.nests.test_nests import matmul
from tests.quantities.bottleneck.by_hand import copy, kernel, row_sums

pytestmark = [
    pytest.mark.filterwarnings("ignore::loopy.diagnostic.LoopyWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def test_a_kernel_is_compiled_once() -> None:
    counts = copy()
    assert compiled_kernel(counts) is compiled_kernel(counts)


def test_equal_counts_are_evaluated_once() -> None:
    kernel = compiled_kernel(copy())  # n items load and store n cells: all of them are one count
    (nest,) = kernel.tree.launches[0].nests
    items = {str(count) for count in (nest.iterations, nest.box, nest.entries)}
    assert items == {str(access.executions) for access in nest.accesses}
    texts = [(count.granularity, str(count)) for count in kernel.counts]
    assert sorted(set(texts)) == sorted(texts)


def test_barriers_and_loops_of_a_launch() -> None:
    launches = [launch for counts in (copy(), row_sums(), matmul()) for launch in compiled_kernel(counts).tree.launches]
    assert [(False, False, 64), (False, True, 64), (True, True, 256)] == [
        (launch.barriers, launch.loops, launch.group_items) for launch in launches
    ]


def test_starts_a_constant_apart_are_one_stream() -> None:
    counts = kernel(
        "[n] -> { [i]: 0 <= i < n }", "out[i] = a[i] + a[i + 1] + a[i + n] + a[i + n + 7]", "a: 3*n; out: n"
    )
    assert 3 == compiled_kernel(counts).tree.launches[0].streams  # a near 0, a near n, out


def test_each_copy_of_an_access_is_a_stream() -> None:
    """Rows of n cells, four of which each work-item stores one after another, without a loop."""
    unit = lp.make_kernel(
        "[n] -> { [i, r]: 0 <= i < n and 0 <= r < 4 }", "out[r, i] = a[r, i] + a[r + 1, i]",
        [lp.GlobalArg("a, out", np.float32, shape="5, n", is_input=None), ...],
        assumptions="n mod 64 = 0 and n >= 64", lang_version=(2018, 2),
    )  # fmt: skip
    unit = lp.tag_inames(lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0"), "r:unr")
    assert 4 + 5 == compiled_kernel(count(unit, cache=False)).tree.launches[0].streams


def test_a_value_that_is_read_twice_is_loaded_once() -> None:
    square, product = (
        kernel("[n] -> { [i]: 0 <= i < n }", f"out[i] = a[i]*{other}", "a: n + 1; out: n")
        for other in ("a[i]", "a[i + 1]")
    )
    nests = [compiled_kernel(counts).tree.launches[0].nests[0] for counts in (square, product)]
    assert [[True, False], [True, True, False]] == [
        sorted((access.load for access in nest.accesses), reverse=True) for nest in nests
    ]


@pytest.mark.parametrize(("trips", "written_out"), [(16, True), (17, False)])
def test_short_loops_of_constant_trips_are_written_out(trips: int, written_out: bool) -> None:
    counts = kernel(
        f"[n] -> {{ [i, j]: 0 <= i < n and 0 <= j < {trips} }}", "out[i] = sum(j, a[i, j])", f"a: n, {trips}; out: n"
    )
    (loop,) = [nest for nest in compiled_kernel(counts).tree.launches[0].nests if nest.loops]
    assert written_out is loop.written_out
