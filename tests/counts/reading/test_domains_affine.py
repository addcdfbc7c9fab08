"""Affine forms and isl functions of expressions, against coefficients worked out by hand."""

from __future__ import annotations

import islpy as isl
import pymbolic.primitives as p
import pytest
from loopy.diagnostic import ExpressionToAffineConversionError
from loopy.symbolic import parse

from perfmodel.counts.reading.domains import affine_form, condition_to_set, is_affine_in, names_in, pw_aff

ROW, J, N = p.Variable("i"), p.Variable("j"), p.Variable("n")
SPACE = isl.Set("[n] -> { [i, j] }").get_space()


def test_coefficients_are_collected() -> None:
    # 3*(i + 2*j) - j + 4 = 3*i + 5*j + 4
    assert {"i": 3, "j": 5, "": 4} == affine_form(3 * (ROW + 2 * J) - J + 4)


@pytest.mark.parametrize("expr", [ROW * J, ROW * N, ROW // 2, ROW % 2, p.Subscript(p.Variable("a"), (ROW,)), 0.5])
def test_what_is_not_affine_with_integers_has_no_form(expr: object) -> None:
    assert affine_form(expr) is None


def test_names() -> None:
    assert {"i", "n"} == names_in(2 * ROW + N - 1)
    assert {"i", "a"} == names_in(p.Subscript(p.Variable("a"), (ROW // 2,)))


def test_affine_function() -> None:
    expected = isl.PwAff("[n] -> { [i, j] -> [(2i - j + n + 1)] }")
    assert expected.plain_is_equal(pw_aff(SPACE, 2 * ROW - J + N + 1))


def test_quasi_affine_function() -> None:
    expected = isl.PwAff("[n] -> { [i, j] -> [(floor((i)/4))] }")
    assert expected.is_equal(pw_aff(SPACE, ROW // 4))


def test_a_product_of_inames_is_refused() -> None:
    with pytest.raises(ExpressionToAffineConversionError):
        pw_aff(SPACE, ROW * J)


def test_affine_in_allowed_names() -> None:
    i, j = p.Variable("i"), p.Variable("j")
    assert is_affine_in(2 * i + 3, {"i"}.__contains__)
    assert not is_affine_in(2 * i + j, {"i"}.__contains__)  # j may be loaded
    assert not is_affine_in(i * i, {"i"}.__contains__)


@pytest.mark.parametrize(("left", "operator", "right"), [
    ("i", "<", "j"), ("i", "<=", "n - 1"), ("2*i", ">", "j + n"), ("i", ">=", "3"), ("i % 4", "==", "1"),
    ("i // 2", "!=", "j"),
])
def test_comparisons_are_sets(left: str, operator: str, right: str) -> None:
    found = condition_to_set(SPACE, p.Comparison(parse(left), operator, parse(right)))
    text = f"{left} {operator} {right}".replace("i // 2", "floor(i/2)").replace("==", "=").replace("i % 4", "(i mod 4)")
    assert isl.Set(f"[n] -> {{ [i, j] : {text} }}").is_equal(found)


def test_booleans_are_sets() -> None:
    both = p.LogicalAnd((p.Comparison(ROW, "<", J), p.LogicalNot(J)))  # C: an integer is true where it is not 0
    assert isl.Set("[n] -> { [i, j] : i < 0 and j = 0 }").is_equal(condition_to_set(SPACE, both))
    either = p.LogicalOr((p.Comparison(ROW, "<", N), J))
    assert isl.Set("[n] -> { [i, j] : i < n or j != 0 }").is_equal(condition_to_set(SPACE, either))


@pytest.mark.parametrize("text", ["m < i", "a[i] < 3", "i*j < 3", "min(i, j) < 3"])
def test_what_data_decide_or_is_not_affine_in_one_piece_is_no_set(text: str) -> None:
    assert condition_to_set(SPACE, parse(text)) is None
