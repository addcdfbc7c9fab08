"""A kernel as its compiler sees it."""

from __future__ import annotations

import pytest

from perfmodel.quantities.bottleneck.compiled import compiled_kernel
from tests.quantities.bottleneck.by_hand import kernel, row_sums

pytestmark = pytest.mark.filterwarnings("ignore::loopy.diagnostic.LoopyWarning", "ignore::DeprecationWarning")


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


def test_a_chain_has_the_operations_of_all_iterations() -> None:
    (chain,) = [chain for nest in compiled_kernel(row_sums()).tree.launches[0].nests for chain in nest.chains]
    assert ({"add": 64 * 5}, 1, 32, False) == (
        {kind: row(n=64, k=5) for kind, row in chain.operations.items()}, chain.cells, chain.bits, chain.carried_around
    )


def test_a_loop_along_a_row_is_contiguous_and_one_along_a_column_is_not() -> None:
    counts = kernel(
        "[n, m] -> { [i, j]: 0 <= i < n and 0 <= j < m }", "out[i, j] = a[j, i] + b[i, m - 1 - j]",
        "a: m, n; b: n, m; out: n, m",
    )  # fmt: skip
    (loop,) = [nest for nest in compiled_kernel(counts).tree.launches[0].nests if nest.loops]
    assert [(True, False), (True, True), (False, True)] == sorted(
        ((access.load, access.contiguous) for access in loop.accesses), key=lambda pair: (not pair[0], pair[1])
    )
