"""Kernels of other projects: a judged folder, and the committed table."""

import json
import lzma
import math
from pathlib import Path

import pytest

from perfmodel.counts.counting import Options, Prepared
from perfmodel.counts.reading.schedule import schedule
from perfmodel.predicting import load
from perfmodel.store import read
from scripts import redraw
from scripts.lab.made_up import CASES
from scripts.lab.others import Row, figures, half_of, judge, main, read_rows, write_rows
from tests.corpus.kernel import make
from tests.machine import ROOT
from tests.recorded import POCL

TABLE = ROOT / "docs" / "data" / "others.csv"


def test_figures_by_hand() -> None:
    """Factors 4, 2 and 2, the first and the second outside of their intervals; geometric mean 16^(1/3)."""
    rows = [
        Row("pocl", "look", "a/x", "n=1", 1.0, 4.0, 2.0, 8.0), Row("pocl", "look", "a/y", "n=1", 1.0, 0.5, 0.1, 0.9),
        Row("pocl", "look", "b/z", "n=1", 1.0, 2.0, 0.5, 8.0),
    ]  # fmt: skip
    assert ("3", f"{16 ** (1 / 3):.2f}", "2.00", "33 %", f"{4 ** (1 / 3):.2f}") == figures(rows)
    assert ["a", "a", "b"] == [row.project for row in rows]
    assert math.log(4) == rows[0].error


def test_the_halves_of_the_committed_rows_follow_from_the_names(tmp_path: Path) -> None:
    rows = read_rows(TABLE)
    assert ["blind", "look", "made", "score"] == sorted({row.half for row in rows})
    halves = [row for row in rows if row.half not in ("blind", "made")]
    assert all(half_of(row.kernel) == row.half for row in halves)
    blind = {row.project for row in rows if row.half == "blind"}
    assert blind.isdisjoint(row.project for row in halves)
    for runtime in ("pocl", "intel"):  # each kernel ran on both
        assert [*sorted(CASES)] == [row.kernel for row in rows if (row.runtime, row.half) == (runtime, "made")]
    write_rows(tmp_path / "others.csv", rows)
    assert TABLE.read_bytes() == (tmp_path / "others.csv").read_bytes()
    assert [] == read_rows(tmp_path / "none.csv")


def test_the_committed_pages_have_the_figures_of_the_committed_rows(tmp_path: Path) -> None:
    page = ROOT / "docs" / "lab" / "others.md"
    for path in (page, TABLE):
        (tmp_path / path.relative_to(ROOT / "docs")).parent.mkdir(exist_ok=True)
        (tmp_path / path.relative_to(ROOT / "docs")).write_bytes(path.read_bytes())
    assert 0 == redraw.main(["others", "--out", str(tmp_path)])
    assert page.read_text() == (tmp_path / "lab" / "others.md").read_text()
    evaluation = (ROOT / "docs" / "evaluation.md").read_text()
    for runtime, name in (("pocl", "PoCL"), ("intel", "Intel's runtime")):
        for half in ("blind", "score", "made"):
            rows = [row for row in read_rows(TABLE) if (row.runtime, row.half) == (runtime, half)]
            assert f"| {name} | {' | '.join(figures(rows)[:4])} |" in evaluation


def test_a_folder_is_judged_by_the_shortest_time_of_all_visits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    unit = make("{[i]: 0 <= i < n}", "y[i] = 2*x[i]", "x, y: n", assumes="n >= 1")
    prepared = Prepared.of(lambda: schedule(unit), {}, {}, Options())
    known = {"kernel": "a/twice", "hash": "1", "sizes": {"n": 1 << 20}, "prepared": prepared.to_json()}
    with lzma.open(tmp_path / "programs.jsonl.xz", "wt") as file:
        file.write(json.dumps(known) + "\n")
    measured = read(POCL).rows[0].model_copy(update={
        "kernel": "a/twice", "kernel_hash": "1", "parameters": {"n": 1 << 20}, "visits": (), "dropped": 0,
    })  # fmt: skip
    for visit, times in enumerate([(2e-3, 3e-3), (4e-3, 1e-3)]):
        rows = [measured.model_copy(update={"samples_s": times, "device_samples_s": (), "kernel_hash": found})
                for found in ("1", "another kernel")]  # fmt: skip
        lines = "".join(row.model_dump_json(by_alias=True) + "\n" for row in rows)
        (tmp_path / f"pocl-r{visit}.jsonl").write_text(lines)
    (row,) = judge(tmp_path, "pocl", POCL)
    made = load(POCL / "bottleneck.json").predict(prepared.counted(8), n=1 << 20)
    assert ("a/twice", "n=1048576", 1e-3, made.seconds) == (row.kernel, row.sizes, row.measured_s, row.predicted_s)
    assert made.interval == (row.low_s, row.high_s)
    out = tmp_path / "others.csv"
    write_rows(out, [Row("intel", "look", "b/z", "n=1", 1.0, 2.0, 0.5, 8.0)])
    assert 0 == main([str(tmp_path), "--weights", str(POCL), "--out", str(out)])
    assert ["b/z", "a/twice"] == [row.kernel for row in read_rows(out)]
    assert 0 == main([str(tmp_path), "--weights", str(POCL), "--out", str(out), "--half", "blind"])
    assert ["look", "blind", half_of("a/twice")] == [row.half for row in read_rows(out)]
    assert 2 == main([str(tmp_path / "lib"), "--weights", str(POCL), "--out", str(out)])
    assert "has no file programs.jsonl.xz; give the folder" in capsys.readouterr().err
