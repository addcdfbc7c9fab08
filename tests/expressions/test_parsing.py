"""Terms: their trees, ranges and weights, by hand."""

import math

import pytest

from perfmodel.errors import FamilyError
from perfmodel.expressions.parsing import Parser, Subexpression


def term(text):
    return Parser(text, {"small": Subexpression(1, (1.0, 2.0))}, lambda name: name in ("x", "y")).parse()


@pytest.mark.parametrize(("text", "low", "high"), [
    ("x", 0, math.inf), ("-small", -2, -1), ("+small", 1, 2), ("small - 1", 0, 1), ("small*3", 3, 6),
    ("max(small, 5)", 5, 5), ("min(small, 5, x)", 0, 2), ("x if y > 1 else small", 0, math.inf),
    ("where(y > 1, small, 7)", 1, 7), ("floor(small)", 1, 2), ("tanh(small)", math.tanh(1), math.tanh(2)),
])  # fmt: skip
def test_ranges(text, low, high):
    assert (low, high) == pytest.approx(term(text).range)


@pytest.mark.parametrize(("text", "weighted"), [
    ("x*y", False), ("x*w_a", True), ("max(x, y, w_a)", True), ("x if y > 1 else w_a", True), ("floor(x)", False),
])  # fmt: skip
def test_whether_a_weight_is_in_it(text, weighted):
    assert weighted is term(text).weighted


LIMIT = {
    "5000 terms": "x" + "+x" * 5000, "5000 factors": "x" + "*x" * 5000,
    "501 weighted terms": "+".join(f"w_{i}*x" for i in range(501)), "5000 parentheses": "(" * 5000 + "x" + ")" * 5000,
    "5000 signs": "-" * 5000 + "x", "101 levels": "sqrt(" * 100 + "x" + ")" * 100,
    "102 arguments": "max(" + ", ".join(["x"] * 102) + ")", "many characters": "w_" + 20_000 * "a",
    "400 digits": "9" * 400 + "*x", "5000 digits": "9" * 5000 + "*x", "beyond doubles": "1e999*x",
}  # fmt: skip


@pytest.mark.parametrize("case", LIMIT)
def test_what_is_too_large_is_one_short_message(case):
    with pytest.raises(FamilyError, match=r"too|more than|at most|beyond|[Ee]xceeds") as caught:
        term(LIMIT[case])
    assert len(str(caught.value)) < 800


def test_a_long_sum_is_one_node_and_not_deep():
    found = term(" - 1 + ".join(["x*w_a"] * 200)).tree
    assert 399 == len(found.children)
    assert ["x*w_a", "(-1)*1", "x*w_a"] == [str(one) for one in found.children[:3]]


def test_functions_of_many_arguments_take_two_at_a_time():
    assert "max(max(x, y), w_a)" == str(term("max(x, y, w_a)").tree)


def test_the_first_node_that_can_be_negative_is_remembered():
    parser = Parser("max(x - y, 0) + (x - 3)", {}, lambda name: name in ("x", "y"))
    assert -math.inf == parser.parse().range[0] + -math.inf
    assert (4, 9) == (parser.sign_lost_at.col_offset - 1, parser.sign_lost_at.end_col_offset - 1)


@pytest.mark.parametrize("sharpness", ["0", "0*launches", "-1", "floor(0.5)"])
def test_a_sharpness_that_cannot_be_above_zero_is_refused_with_its_place(sharpness):
    text = f"smooth_max(w_a*launches, w_b*work_groups, {sharpness})"
    with pytest.raises(FamilyError, match="this sharpness is zero or below") as caught:
        Parser(text, {}, lambda name: name in ("launches", "work_groups")).parse()
    assert sharpness == text[caught.value.start : caught.value.end]
