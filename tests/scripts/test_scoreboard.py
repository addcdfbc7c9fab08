"""``scripts/scoreboard`` as a user starts it: options, refusals, and one scoring of a committed device."""

from __future__ import annotations

import pytest

from scripts import scoreboard
from scripts.lab.scoreboard import board
from scripts.lab.scoreboard.log import read_log, read_scoreboard
from tests.recorded import SIMULATED

pytestmark = pytest.mark.nightly  # research code, and long


def run(tmp_path, *arguments: str) -> int:
    return scoreboard.main(["--out", str(tmp_path), *arguments])


def test_the_papers_kernels_are_refused_at_a_commit_without_a_tag(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(board, "git", lambda *asked: {"describe": ["abc1234"]}.get(asked[0], []))
    assert 2 == run(tmp_path, "--paper-kernels")
    assert capsys.readouterr().err.startswith("scoreboard: error: the 2016 paper's test kernels are scored at tagged")
    assert [] == list(tmp_path.iterdir())


def test_changed_files_show_in_the_name_of_the_commit(monkeypatch):
    known = {"describe": ["abc1234"], "status": ["M", "perfmodel/predicting/model.py"]}
    monkeypatch.setattr(board, "git", lambda *asked: known[asked[0]])
    assert "abc1234-dirty" == board.commit_name()
    known["status"] = []
    assert "abc1234" == board.commit_name()


@pytest.mark.slow
def test_one_model_on_a_committed_device(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(board, "git", lambda *asked: {"status": []}.get(asked[0], ["v1"]))
    (tmp_path / "devices").mkdir()
    (tmp_path / "devices" / SIMULATED.name).symlink_to(SIMULATED)
    wanted = ("--folders", str(tmp_path / "devices"), "--model", "work_depth", "--paper-kernels")
    assert 0 == run(tmp_path, *wanted)
    out, err = capsys.readouterr()
    assert "wrote" in out
    assert "1 models to score, devices: 1, time: about 20 s" in err  # nothing was scored before, and it is scored twice
    rows = read_scoreboard(tmp_path / "data" / "scoreboard.csv")
    assert {("groups", "measured"), ("A", "tests"), ("B", "tests")} <= {(one.protocol, one.kernels) for one in rows}
    assert {"v1"} == {one.commit for one in rows}
    assert {"paper", "all"} == {one.kernels for _, one in read_log(tmp_path / "data" / "scorings.csv")}
    assert SIMULATED.name in (tmp_path / "lab" / "scoreboard.md").read_text()
    assert 0 == run(tmp_path, "--redraw")
    assert rows == read_scoreboard(tmp_path / "data" / "scoreboard.csv")


@pytest.mark.parametrize("wanted", [("--device", "gone"), ("--model", "gone")])
def test_unknown_names(tmp_path, wanted, capsys):
    assert 2 == run(tmp_path, *wanted)
    assert "gone" in capsys.readouterr().err
