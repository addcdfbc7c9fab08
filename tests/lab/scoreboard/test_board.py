"""The files of the scoreboard: what is added, what is logged, and what is refused."""

import math
from pathlib import Path

import pytest

from scripts.lab.scoreboard import board as module
from scripts.lab.scoreboard.board import Board, score_folders
from scripts.lab.scoreboard.goals import hold
from scripts.lab.scoreboard.ideas import every_idea, read_ideas, with_measured_twins
from scripts.lab.scoreboard.log import read_log, read_scoreboard, scoreboard_csv
from scripts.lab.scoreboard.page import floor_of
from scripts.lab.scoreboard.scoring import SCORED
from scripts.scoreboard import ROOT
from tests.lab.scoreboard.scored import IDEA, STAMP, device, scoring
from tests.standins import made_up


@pytest.fixture
def board(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "read_scored", lambda folder: device(folder.name))
    return Board.below(tmp_path)


def test_the_papers_kernels_go_to_the_log_and_not_to_the_table(board):
    score_folders(board, [Path("d")], [IDEA], STAMP, reason="tag v1")
    score_folders(board, [Path("d")], [IDEA], STAMP, reason="tag v2")
    assert {"measured", "tests"} == {one.kernels for one in read_scoreboard(board.table)}
    log = read_log(board.log)
    count = 2 * len(SCORED)  # the paper's and all, by each protocol
    assert ["tag v1"] * count + ["tag v2"] * count == [reason for reason, _ in log]
    assert {("2026-01-02", "abc1234")} == {(one.date, one.commit) for _, one in log}
    assert [1, 5, 1, 5] == [one.cases for _, one in log[:4]]


def test_a_page_and_a_picture_are_drawn(board):
    board.page.parent.mkdir()
    board.page.write_text("# Scoreboard\n")
    score_folders(board, [Path("d")], [IDEA], STAMP)
    board.draw([IDEA.name])
    assert board.page.read_text().startswith("# Scoreboard\n")
    assert "| d | " in board.page.read_text()
    assert board.picture.is_file()


def met(found):
    return {one.name: one.met for one in found}


@pytest.mark.parametrize(("name", "kept", "missed"), [
    ("error", {"error": 0.12}, {"error": 0.121}), ("factor - 1", {"factor": 0.15}, {"factor": math.inf}),
    ("regret", {"regret": 1.05}, {"regret": 1.051}),
    ("top-1", {"top1_tied": 0.7, "top1": 0.1}, {"top1_tied": 0.69, "top1": 0.9}), ("tau", {"tau": 0.8}, {"tau": 0.79}),
    ("coverage", {"inside": 0.85}, {"inside": 0.96}), ("coverage", {"inside": 0.95}, {"inside": 0.84}),
    ("width", {"width": 1.99}, {"width": 2.0}), ("withheld", {"withheld": 0}, {"withheld": 1}),
    ("fit", {"fit_s": 29.0}, {"fit_s": 30.0}), ("predict", {"predict_s": 9.9e-5}, {"predict_s": 1e-4}),
    ("error", {"error": 0.05}, {"error": math.nan}),
])  # fmt: skip
def test_limits(name, kept, missed):
    assert met(hold(scoring(**kept)))[name]
    assert not met(hold(scoring(**missed)))[name]


def test_the_error_may_be_half_as_large_again_as_what_oracle_factors_leave():
    assert not met(hold(scoring(error=0.14)))["error"]
    found = hold(scoring(error=0.14), floor=0.1)[0]
    assert (True, "at most 15.0 %") == (found.met, found.goal)
    assert "at most 12.0 %" == hold(scoring(), floor=0.05)[0].goal


def test_the_committed_ideas_can_be_read():
    assert read_ideas(ROOT / "docs" / "data" / "ideas.json")


def test_an_idea_with_a_weight_that_was_measured_has_a_twin():
    own = device()
    known = own.plain.with_facts(made_up("stand-in", launch_s=1e-6))
    ideas = every_idea(seen_by_trees=["gpuperf"])
    names = [one.name for one in with_measured_twins(ideas, own.plain, known)]
    assert "gpuperf (measured)" == names[names.index("gpuperf") + 1]  # its w_launch is the fact launch_s
    assert "stevens_kloeckner_2016 (measured)" not in names
    assert "black box (gpuperf)" == names[-1]


def test_rows_come_back_with_six_digits(tmp_path):
    rows = (
        scoring(simulated=True, error=0.123456789, factor=math.inf, problem='no, it says "no"'),
        scoring(model="mine", regret=math.nan),
    )
    path = tmp_path / "scoreboard.csv"
    path.write_text(scoreboard_csv(rows))
    first, second = read_scoreboard(path)
    assert (0.123457, math.inf, True, 'no, it says "no"') == (first.error, first.factor, first.simulated, first.problem)
    assert math.isnan(second.regret)
    assert ("mine", 20, 0.9, False) == (second.model, second.cases, second.tau, second.simulated)


def test_the_floor_is_what_the_best_scaling_model_leaves_and_no_black_box():
    rows = [
        scoring(oracle=0.09), scoring(model="mine", oracle=0.08), scoring(model="black box (mine)", oracle=0.01),
        scoring(oracle=0.02, protocol="A"), scoring(oracle=math.nan),
    ]  # fmt: skip
    assert 0.08 == floor_of(rows, "B")
    assert math.isnan(floor_of([], "B"))
