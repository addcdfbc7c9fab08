"""``scripts/papers`` as a user starts it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from perfmodel.store import read
from scripts import papers
from scripts.lab.experiments import studies
from scripts.lab.study_runs import QUICK_STUDY, kernels_of
from tests.recorded import INTEL, POCL

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
