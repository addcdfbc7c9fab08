"""The files of the scoreboard: what is added, what is logged, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.lab.scoreboard import board as module
from scripts.lab.scoreboard.board import Board, score_folders
from scripts.lab.scoreboard.log import read_log, read_scoreboard
from scripts.lab.scoreboard.scoring import SCORED
from tests.lab.scoreboard.scored import IDEA, STAMP, device


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
    board.draw()
    assert board.page.read_text().startswith("# Scoreboard\n")
    assert "| d | " in board.page.read_text()
    assert board.picture.is_file()
