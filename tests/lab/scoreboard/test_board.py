"""The files of the scoreboard: what is added, what is logged, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfmodel.errors import OptionError
from perfmodel.models import families
from perfmodel.progress import Silent
from scripts.lab.scoreboard import board as module
from scripts.lab.scoreboard.board import (
    Board,
    expected_seconds,
    importances_text,
    reason_to_score,
    score_folders,
    wanted_folders,
    wanted_ideas,
)
from scripts.lab.scoreboard.ideas import Idea
from scripts.lab.scoreboard.log import read_log, read_scoreboard
from scripts.lab.scoreboard.scoring import SCORED
from tests.lab.scoreboard.scored import IDEA, STAMP, device, scoring


class Told(Silent):
    """Keeps what progress is told."""

    def __init__(self):
        self.said, self.steps = [], []

    def start(self, task, total, seconds=0.0):
        self.said.append((task, total, seconds))

    def advance(self, note="", seconds=0.0):
        self.steps.append((note, seconds))

    def tell(self, message):
        self.said.append(message)


@pytest.fixture
def board(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "read_scored", lambda folder: device(folder.name))
    return Board.below(tmp_path)


def test_each_scoring_is_added_and_nothing_is_replaced(board):
    first = score_folders(board, [Path("d")], [IDEA], STAMP)
    assert 1 + len(SCORED) == len(first)
    score_folders(board, [Path("d")], [IDEA], STAMP, protocols=())
    rows = read_scoreboard(board.table)
    assert ["groups", *SCORED, "groups"] == [one.protocol for one in rows]
    assert {"d"} == {one.device for one in rows}
    assert not board.log.exists()


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


def test_it_says_before_how_long_it_takes(board):
    other = Idea("other", IDEA.family)
    board.add([scoring(device="d", model=IDEA.name, score_s=3.0), scoring(device="d", model="older", score_s=5.0)])
    told = Told()
    score_folders(board, [Path("d")], [IDEA, other], STAMP, progress=told)
    # the known one takes 3 s as before, and the other as long as both known ones on average
    assert "2 models to score, devices: 1, time: about 7 s" == told.said[0]
    assert ("scoring", 2, 7.0) == told.said[1]
    assert [(f"{IDEA.name} on d", 3.0), ("other on d", 4.0)] == told.steps
    assert {("toy", "gpuperf"): 2.0} == expected_seconds([scoring(score_s=9.0), scoring()])


@pytest.mark.parametrize(
    ("reason", "tags", "commit", "expected"),
    [
        (None, ["v1"], "v1", ""),  # nobody asked
        ("", ["v1", "v1.0"], "v1", "tag v1, v1.0"),
        (" the figures of a paper ", [], "abc1234-dirty", "the figures of a paper"),
    ],
)
def test_reasons_to_score_the_papers_kernels(reason, tags, commit, expected):
    assert expected == reason_to_score(reason, tags, commit)


@pytest.mark.parametrize(
    ("reason", "tags", "commit", "said"),
    [
        ("", [], "abc1234", "abc1234 has no tag"),
        ("  ", [], "abc1234", "abc1234 has no tag"),
        ("", ["v1"], "v1-dirty", "v1-dirty has changes that are not committed"),
    ],
)
def test_without_a_tag_or_a_reason_they_are_not_scored(reason, tags, commit, said):
    with pytest.raises(OptionError, match=said) as found:
        reason_to_score(reason, tags, commit)
    assert "--paper-kernels REASON" in str(found.value)


def test_models_are_wanted_by_parts_of_their_names(tmp_path):
    nothing = tmp_path / "gone.json"
    assert len(families()) + 1 == len(wanted_ideas(nothing, [], ["gpuperf"], []))
    assert ["gpuperf", "black box (gpuperf)"] == [one.name for one in wanted_ideas(nothing, [], ["gpuperf"], ["gpu"])]
    with pytest.raises(OptionError, match="no model has 'gone' in its name"):
        wanted_ideas(nothing, [], [], ["gone"])


def test_importances_are_a_table_for_each_black_box(board):
    box = Idea("black box (mine)", IDEA.family, black_box=True)
    text = importances_text([Path("d")], [IDEA, box])
    assert 1 == text.count("black box (mine) on d")
    assert "op_float32_add" in text


def test_folders_are_those_with_measured_test_kernels(tmp_path):
    for name in ("a-cpu", "a-gpu", "unfinished"):
        (tmp_path / name).mkdir()
    for name in ("a-cpu", "a-gpu"):
        (tmp_path / name / "test.jsonl").touch()
    assert [tmp_path / "a-cpu", tmp_path / "a-gpu"] == wanted_folders(tmp_path, [])
    assert [tmp_path / "a-gpu"] == wanted_folders(tmp_path, ["gpu"])
    with pytest.raises(OptionError, match="unfinished"):
        wanted_folders(tmp_path, ["unfinished"])
    with pytest.raises(OptionError):
        wanted_folders(tmp_path / "gone", [])
