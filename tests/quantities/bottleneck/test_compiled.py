"""A kernel as its compiler sees it."""

from __future__ import annotations

import pytest

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


def test_addresses_a_constant_apart_are_computed_together() -> None:
    counts = kernel(
        "[n] -> { [i]: 0 <= i < n }", "out[i] = a[i] + a[i + 1] + a[i + n] + a[i + n + 7]", "a: 3*n; out: n"
    )
    assert 2 == compiled_kernel(counts).tree.launches[0].separate_addresses  # a near 0, a near n


def test_rows_of_planes_are_not_rows_of_a_matrix() -> None:
    """A stencil of five rows, of which three lie in other planes of an array of three axes."""
    counts = kernel(
        "[n] -> { [i]: 0 <= i < n }", "out[i] = a[1, 1, i] + a[1, 0, i] + a[1, 2, i] + a[0, 1, i] + a[2, 1, i]",
        "a: 3, n, n; out: n",
    )  # fmt: skip
    assert 1 == compiled_kernel(counts).tree.launches[0].separate_addresses  # a[0, 1, i] starts at n, all others at n*n


@pytest.mark.parametrize(
    ("right", "filled"),
    [
        ("a[2*i] + a[2*i + 1]", [True, True]),
        ("a[2*i] + a[2*i + 3]", [True, True]),  # two cells each, of neighbouring pairs
        ("a[2*i] + a[2*i + 2]", [False, False]),
        ("a[4*i] + a[4*i + 1] + a[4*i + 2] + a[4*i + 3]", [True] * 4),
        ("a[5*i] + a[5*i + 1] + a[5*i + 2] + a[5*i + 3] + a[5*i + 4]", [False] * 5),  # wider than compilers try
        ("a[2*i] + b[2*i + 1]", [False, False]),
    ],
)
def test_accesses_that_touch_all_cells_between_lanes_fill_the_stride(right: str, filled: list[bool]) -> None:
    counts = kernel("[n] -> { [i]: 0 <= i < n }", f"out[i] = {right}", "a: 5*n; b: 5*n; out: n")
    (nest,) = compiled_kernel(counts).tree.launches[0].nests
    assert filled == [access.fills_stride for access in nest.accesses if access.load]


def test_a_loop_along_a_row_is_contiguous_and_one_along_a_column_is_not() -> None:
    counts = kernel(
        "[n, m] -> { [i, j]: 0 <= i < n and 0 <= j < m }", "out[i, j] = a[j, i] + b[i, m - 1 - j]",
        "a: m, n; b: n, m; out: n, m",
    )  # fmt: skip
    (loop,) = [nest for nest in compiled_kernel(counts).tree.launches[0].nests if nest.loops]
    assert [(True, False), (True, True), (False, True)] == sorted(
        ((access.load, access.contiguous) for access in loop.accesses), key=lambda pair: (not pair[0], pair[1])
    )


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
