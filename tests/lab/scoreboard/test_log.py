"""The scoreboard's CSV: it comes back as it was, and a damaged line is named."""

from __future__ import annotations

import math

import pytest

from perfmodel.errors import StoreError
from scripts.lab.scoreboard.log import latest, log_csv, read_log, read_scoreboard, scoreboard_csv
from tests.lab.scoreboard.scored import scoring


def test_rows_come_back_with_six_digits(tmp_path):
    rows = (
        scoring(simulated=True, error=0.123456789, factor=math.inf, problem='no, it says "no"'),
        scoring(model="mine", regret=math.nan),
    )
    path = tmp_path / "scoreboard.csv"
    path.write_text(scoreboard_csv(rows))
    first, second = read_scoreboard(path)
    assert (0.123457, math.inf, True, 'no, it says "no"') == (
        first.error, first.factor, first.simulated, first.problem
    )  # fmt: skip
    assert math.isnan(second.regret)
    assert ("mine", 20, 0.9, False) == (second.model, second.cases, second.tau, second.simulated)


def test_no_file_has_no_rows(tmp_path):
    assert () == read_scoreboard(tmp_path / "gone.csv")
    assert () == read_log(tmp_path / "gone.csv")


def test_the_log_has_a_reason_for_each_row(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(log_csv([("tag v1", scoring(kernels="paper"))]))
    assert (("tag v1", scoring(kernels="paper")),) == read_log(path)


@pytest.mark.parametrize(
    ("damage", "line", "said"),
    [
        (lambda text: text.replace("withheld,", "held,", 1), 1, "columns of a scoreboard"),
        (lambda text: text.replace(",20,", ",many,"), 3, "many"),
        (lambda text: text[:40], 1, "columns of a scoreboard"),
        (lambda text: text + "2026-01-02,abc\n", 4, "no row of a scoreboard"),
    ],
)
def test_a_damaged_line_is_named(tmp_path, damage, line, said):
    path = tmp_path / "scoreboard.csv"
    path.write_text(damage(scoreboard_csv([scoring(cases=7), scoring()])))
    with pytest.raises(StoreError, match=rf"line {line}: .*{said}"):
        read_scoreboard(path)


def test_a_file_that_is_no_text(tmp_path):
    path = tmp_path / "scoreboard.csv"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(StoreError):
        read_scoreboard(path)


def test_of_each_model_the_last_figures_count():
    old, new = scoring(error=0.3, date="2026-01-01"), scoring(error=0.2)
    other = scoring(protocol="A")
    assert (new, other) == latest([old, other, new])


def test_a_problem_replaces_figures_and_figures_a_problem():
    broken = scoring(protocol="", kernels="", problem="no fit")
    assert (broken,) == latest([scoring(), scoring(protocol="A"), broken])
    assert (scoring(),) == latest([broken, scoring()])
