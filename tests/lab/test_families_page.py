"""Families as tables of a page, from planted times."""

from __future__ import annotations

from perfmodel.display import percent
from scripts.lab.families_page import families_page
from tests.compare.test_contenders_side_by_side import contenders


def cells(line: str) -> list[str]:
    return [cell.strip(" `") for cell in line.strip("|").split("|")]


def test_the_best_by_protocol_b_comes_first_and_who_was_not_fitted_is_left_out() -> None:
    own = contenders()
    drawn = families_page("", [own[::-1]])
    table = [cells(line) for line in drawn.splitlines() if line.startswith("|")]
    header = ["family", "error, A", "error, B", "factor - 1, A", "regret, A", "tau, A", "weights"]
    assert [header, ["---", *["---:"] * 6]] == table[:2]
    exact, blind, _ = own
    assert exact.figures("B").error < blind.figures("B").error
    assert ["stevens_kloeckner_2016", "blind"] == [row[0] for row in table[2:]]
    # of five cases four are exact, at 0.1 %, and the fifth is half of what it was planted as
    assert percent((1e-3**4 * 0.5) ** 0.2) == table[2][1]
    assert [str(one.weights) for one in (exact, blind)] == [row[-1] for row in table[2:]]
    assert "5 cases that every family predicts." in drawn
