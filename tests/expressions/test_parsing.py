"""Terms: their trees, ranges and weights, by hand."""

from __future__ import annotations

import math

import pytest

from perfmodel.expressions.parsing import Parser, Term


def term(text):
    return Parser(text, {"small": Term(1, (1.0, 2.0))}, lambda name: name in ("x", "y")).parse()


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("x", 0, math.inf), ("-small", -2, -1), ("+small", 1, 2), ("small - 1", 0, 1), ("small*3", 3, 6),
        ("max(small, 5)", 5, 5), ("min(small, 5, x)", 0, 2), ("x if y > 1 else small", 0, math.inf),
        ("where(y > 1, small, 7)", 1, 7), ("floor(small)", 1, 2), ("tanh(small)", math.tanh(1), math.tanh(2)),
    ],
)  # fmt: skip
def test_ranges(text, low, high):
    assert (low, high) == pytest.approx(term(text).range)


@pytest.mark.parametrize(
    ("text", "weighted"),
    [("x*y", False), ("x*w_a", True), ("max(x, y, w_a)", True), ("x if y > 1 else w_a", True), ("floor(x)", False)],
)
def test_whether_a_weight_is_in_it(text, weighted):
    assert weighted is term(text).weighted


def test_functions_of_many_arguments_take_two_at_a_time():
    assert "max(max(x, y), w_a)" == str(term("max(x, y, w_a)").tree)


def test_the_first_node_that_can_be_negative_is_remembered():
    parser = Parser("max(x - y, 0) + (x - 3)", {}, lambda name: name in ("x", "y"))
    assert -math.inf == parser.parse().range[0] + -math.inf
    assert (4, 9) == (parser.sign_lost_at.col_offset - 1, parser.sign_lost_at.end_col_offset - 1)
