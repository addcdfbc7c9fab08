"""Flattened indices taken apart by hand."""

from __future__ import annotations

import pymbolic.primitives as p

from perfmodel.counts.reading.domains import affine_form
from perfmodel.counts.reading.indexing import Digit, digits

ROW, J, K, N, M = (p.Variable(name) for name in "ijknm")
NAMES = ("i", "j", "k")


def test_an_affine_index_stays_whole() -> None:
    assert (Digit(2 * ROW + J, 1, None),) == digits(2 * ROW + J, NAMES)


def plain(digit: Digit) -> tuple[object, str, str]:
    """Return the index's coefficients, and the factors of the stride and of the extent, sorted."""
    return affine_form(digit.index), factors(digit.stride), "any" if digit.extent is None else factors(digit.extent)


def factors(expr: object) -> str:
    if isinstance(expr, p.Product):
        return "".join(sorted("".join(map(factors, expr.children))))
    return "" if expr == 1 else str(expr)


def test_rows_of_n_cells() -> None:
    # n*i + j: row i, of stride n and any extent; column j, of stride 1, below n
    expected = [({"": 0, "i": 1}, "n", "any"), ({"": 0, "j": 1}, "", "n")]
    assert expected == [plain(digit) for digit in digits(N * ROW + J, NAMES)]


def test_planes_of_rows() -> None:
    # m*n*i + n*j + k: strides m*n, n and 1; a plane holds m rows, and a row n cells
    expected = [({"": 0, "i": 1}, "mn", "any"), ({"": 0, "j": 1}, "n", "m"), ({"": 0, "k": 1}, "", "n")]
    assert expected == [plain(digit) for digit in digits(M * N * ROW + N * J + K, NAMES)]


def test_strides_that_do_not_divide_one_another_stay_whole() -> None:
    index = N * ROW + M * J
    assert (Digit(index, 1, None),) == digits(index, NAMES)


def test_an_index_that_is_not_affine_in_the_inames_stays_whole() -> None:
    index = N * ROW * J
    assert (Digit(index, 1, None),) == digits(index, NAMES)
