"""``scripts/papers``, ``scoreboard`` and ``redraw`` as a user starts them; what is shown comes from committed data."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from perfmodel.store import read
from scripts import papers, redraw, scoreboard
from scripts.lab.experiments import studies
from scripts.lab.scoreboard import board
from scripts.lab.scoreboard.log import read_log, read_scoreboard
from scripts.lab.study_runs import QUICK_STUDY, kernels_of
from tests.machine import ROOT
from tests.recorded import INTEL, POCL, SIMULATED

pytestmark = pytest.mark.nightly  # research code, and long

MEASURED = sorted(name for name, study in studies().items() if study.kernels)
FEW = replace(QUICK_STUDY, variants=2, rungs=1, visits=1, most_visits=1, apart_s=0.0, longest_s=0.02)


def test_the_list_names_every_experiment_with_its_paper(capsys):
    assert 0 == papers.main(["--list"])
    out = capsys.readouterr().out
    for name, study in studies().items():
        assert f"{name:10} {study.title}" in out
        assert study.source in out


def test_unknown_names_end_in_one_line(tmp_path, capsys):
    with pytest.raises(SystemExit):
        papers.main(["apps"])
    assert "no experiment is called 'apps'; there are" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        papers.main(["--out", str(tmp_path)])
    assert "holds no experiment that was run; run some with --device NAME" in capsys.readouterr().err
    assert 2 == papers.main(["roofline", "--device", "no such device", "--out", str(tmp_path)])
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("papers: error: ")
    assert "no such device" in line
    assert [] == list(tmp_path.iterdir())


def test_a_recorded_device_is_drawn_without_a_device(tmp_path, capsys):
    assert 0 == papers.main(["roofline", "--from", INTEL.name, "--out", str(tmp_path)])
    out = capsys.readouterr().out
    assert "Eq. 4.31, Fig. 4.8: agrees" in out
    written = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert {
        "roofline.md", "index.md", "roofline-claims.csv", "roofline-roofs.csv", "roofline-balance.csv",
        "roofline-roofs.png", "roofline-balance.png",
    } == written  # fmt: skip


@pytest.mark.device
@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["saxpy", *(pytest.param(name, marks=pytest.mark.nightly) for name in MEASURED if name != "saxpy")]
)
def test_an_experiment_is_measured_and_examined(name, tmp_path, monkeypatch, capsys):
    """Two variants of each class at one size, with the models of a committed device."""
    monkeypatch.setattr(papers, "QUICK_STUDY", FEW)
    monkeypatch.setattr(papers, "weights_folder", lambda *_: POCL)
    assert 0 == papers.main([name, "--device", "pocl", "--quick", "--out", str(tmp_path)])
    out = capsys.readouterr().out
    (store,) = tmp_path.rglob(f"{name}.jsonl")
    rows, study = read(store), studies()[name]
    assert {kernel.name for kernel in kernels_of(study)} == {row.kernel for row in rows}
    assert {"ok", "constraint"} >= {row.status for row in rows.current}
    assert out.startswith(f"\n{study.title}\n")
    assert all(part in out for part in ("  paper: ", "  found: ", "agree", f"{name}.md"))
    assert len(list((tmp_path / "lab" / "experiments").rglob(f"{name}-*.png"))) > 1


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


def test_the_readme_shows_what_the_committed_data_give(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "quickstart.png"
    assert 0 == redraw.main(["quickstart", "--out", str(tmp_path)])
    assert picture.read_bytes().startswith(b"\x89PNG")
    tables = capsys.readouterr().out.rpartition("\n\nwrote")[0].split("\n\n")
    readme = (ROOT / "README.md").read_text()
    assert 2 == len(tables)
    shown = next(block for block in readme.split("```") if block.startswith("text\ndevice: ")).splitlines()
    for least, table in zip((0, 5), tables, strict=True):  # of the errors the README shows some lines, in their order
        lines = iter(table.splitlines())
        own = [line for line in shown if line in table.splitlines()]
        assert len(own) >= least
        assert all(line in lines for line in own)
    others = re.compile(r"text|device: .*|bottleneck, .*|note: .*|test kernels, .*|verdict: .*|wrote .*|now .*|\.\.\.|")
    assert all(others.fullmatch(line) or any(line in table.splitlines() for table in tables) for line in shown)


def test_data_that_are_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == redraw.main(["--data", str(tmp_path), "--out", str(tmp_path)])
    assert capsys.readouterr().err.startswith("redraw: error: no measurements at")
    assert [] == list(tmp_path.iterdir())


def test_the_papers_pages_show_what_the_script_prints_and_the_recording_is_drawn(tmp_path, capsys) -> None:
    assert 0 == redraw.main(["papers"])
    printed = capsys.readouterr().out.strip().split("\n\n")
    pages = [(ROOT / "docs" / "lab" / name).read_text() for name in ("published-numbers.md", "spt.md", "spt.md")]
    assert 3 == len(printed)
    for table, page in zip(printed, pages, strict=True):
        assert table in page
    redraw.draw_watched(ROOT / "docs" / "data" / "watch", tmp_path / "watch.png")
    assert (tmp_path / "watch.png").read_bytes().startswith(b"\x89PNG")
