"""Pairs that judge ``perfmodel diff``: changes, judged rows, the factor of intervals, and the committed table."""

import json
import lzma
import math
import pickle
from itertools import islice
from pathlib import Path

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.errors import DocumentError
from perfmodel.predicting.model import load
from perfmodel.versions.differences import UNLIKE
from perfmodel.versions.formulas import Formulas
from scripts import redraw
from scripts.lab.diffs import changes, interval, judge, kernels
from scripts.lab.diffs.changes import GENERAL, Change
from scripts.lab.diffs.interval import Ratio
from scripts.lab.diffs.judge import Row
from tests.corpus.kernel import make
from tests.machine import ROOT
from tests.recorded import POCL

TABLE = ROOT / "docs" / "data" / "diffs.csv"


def plain() -> lp.TranslationUnit:
    """Each work-item adds two cells, and stores through a temporary."""
    unit = make("{[i,j]: 0 <= i < n and 0 <= j < 8}", "<> t = a[i, j] + b[i, j] {id=load}\nout[i, j] = 2*t {dep=load}",
                "a, b, out: n, 8", assumes="n >= 64 and n mod 64 = 0", target=lp.PyOpenCLTarget())  # fmt: skip
    unit = lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.1")
    return lp.tag_inames(unit, {"j": "l.0"})


def changed(change: Change) -> set[str]:
    """Return the formulas that a change of the plain kernel changes, as text."""
    old, new = (Formulas.of(count(unit, 32)) for unit in (plain(), change(plain())))
    return {str(each) for each in old.changes(new)}


@pytest.mark.parametrize("change", [
    changes.renamed_loops, changes.reversed_instructions, changes.reversed_operands, changes.equivalent_indices,
    changes.renamed_instructions, changes.renamed_temporary("t"),
])  # fmt: skip
def test_harmless_changes_change_no_formula(change: Change) -> None:
    assert set() == changed(change)


@pytest.mark.parametrize(("change", "expected"), [
    (changes.division(), {"float32 div: 0 -> 8*n"}), (GENERAL["other layout"], {"lane stride of loads of a: 1 -> n"}),
    (GENERAL["quarter of the group"], {"group size: 8x64 -> 2x64"}),
    (changes.both(changes.division(), changes.division()), {"float32 div: 0 -> 16*n"}),
    (changes.added_load, {"loads of out: 0 -> 8*n"}),
])  # fmt: skip
def test_slower_changes_change_their_formula(change: Change, expected: set[str]) -> None:
    assert expected <= changed(change)


def test_changes_that_do_not_apply() -> None:
    scalar = [lp.GlobalArg("s", np.int32), ...]
    one_axis = lp.make_kernel("{[i]: 0 <= i < n}", "s = 2*i", scalar, lang_version=(2018, 2))
    for change in (changes.other_layout, changes.other_precision, changes.added_load):
        with pytest.raises(ValueError, match=r"array has|stores to no"):
            change(one_axis)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one captured kernel, which is not one of the seeded ones."""
    (tmp_path / "captured" / "some").mkdir(parents=True)
    (tmp_path / "captured" / "some" / "0123abcd4567.pickle").write_bytes(pickle.dumps({"unit": plain()}))
    with lzma.open(tmp_path / "programs.jsonl.xz", "wt") as file:
        file.write(json.dumps({"kernel": "some/plain-0123abcd", "sizes": {"n": 1 << 18}}) + "\n")
    return tmp_path


def test_held_out_pairs_of_a_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [*kernels.held_out(folder)]
    assert {("some/plain-0123abcd", name) for name in GENERAL} == {(pair.kernel, pair.change) for pair in pairs}
    assert [*kernels.held_out(folder)] != [*reversed([*kernels.held_out(folder)])]
    monkeypatch.setattr(judge, "load", lambda device: load(POCL / "bottleneck.json"))
    rows = [*judge.rows_of(iter(pairs), "pocl", 2)]
    assert 2 == len(rows)
    for row in rows:
        assert ("held out", "n=262144", "pocl") == (row.sort, row.sizes, row.device)
        assert row.low < row.ratio < row.high
        assert math.isnan(row.measured)
        assert not row.clear


def test_a_folder_without_kernels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(DocumentError, match=r"has 0 files captured/pystella/1aa822e6\*.pickle; capture"):
        next(iter(kernels.seeded(tmp_path))).old()
    assert 2 == judge.main([str(tmp_path), "--out", str(tmp_path / "rows.csv"), "--seconds", "1"])
    assert "has no file programs.jsonl.xz; give the folder" in capsys.readouterr().err


def row(ratio: float, measured: float, slower: float = 0.6, sort: str = "held out") -> Row:
    bounds, times = (ratio / 1.5, ratio * 1.5), (1e-3, measured * 1e-3)
    return Row(sort, "k", f"{ratio} {measured}", "", "pocl", 1, ratio, *bounds, slower, 0.15, *times)


def test_rows_are_judged_by_hand() -> None:
    """Of three clear ratios, one has no predicted direction and one the wrong; of four, one is outside."""
    rows = [row(2.0, 2.5), row(1.0, 1.4), row(1.2, 0.7, slower=0.4), row(1.3, 1.02)]
    assert [True, True, True, False] == [each.clear for each in rows]
    assert [True, False, False, True] == [each.right for each in rows]
    assert [True, True, False, True] == [each.inside for each in rows]
    assert [True, False, False, True] == [each.flagged for each in rows]
    assert "| held out | PoCL | 4 | 4 | 2 of 4 | 1 of 2 | 1 of 2 |" in judge.flags(rows)
    mean = (2.5 / 2 * 1.4 * 1.2 / 0.7 * 1.3 / 1.02) ** 0.25
    assert f"| held out | PoCL | 4 | 3 (75 %) | {mean:.2f} | 3 | 1 (33 %) |" in judge.directions(rows)
    assert "| k | 1.2 0.7 | 1.20, 0.70 wrong |" in judge.each_pair(rows, "held out")


def test_the_committed_page_has_the_committed_rows(tmp_path: Path) -> None:
    page = ROOT / "docs" / "lab" / "diffs.md"
    for path in (page, TABLE):
        (tmp_path / path.relative_to(ROOT / "docs")).parent.mkdir(exist_ok=True)
        (tmp_path / path.relative_to(ROOT / "docs")).write_bytes(path.read_bytes())
    assert 0 == redraw.main(["diffs", "--out", str(tmp_path)])
    assert page.read_text() == (tmp_path / "lab" / "diffs.md").read_text()
    judge.write_rows(tmp_path / "again.csv", judge.read_rows(TABLE))
    assert TABLE.read_bytes() == (tmp_path / "again.csv").read_bytes()
    assert [] == judge.read_rows(tmp_path / "none.csv")


def ratio(kernel: str, relative: float, measured: float = 0.5) -> Ratio:
    return Ratio(kernel, relative, 0.15, "device", kernel, True, 0.5, measured)


def test_tau_by_hand() -> None:
    """The ten pairs of a kernel have the weight of the one pair of another. 0.25 is the width for 0.15 and 0.2."""
    assert UNLIKE == 0.2
    pairs = [*(ratio("many", relative) for relative in np.arange(10) / 10 + 0.05), ratio("one", 1.5)]
    assert 0.5 == pytest.approx(interval.share_inside(pairs))
    assert 0.3 == pytest.approx(interval.share_inside(pairs, 0.0))  # 0.05 to 0.55 are within 0.15 / 0.25
    assert 0.35 == pytest.approx(interval.least_tau(pairs))  # 1.5 * 0.25 = hypot(0.15, 0.344)


def test_pairs_of_a_recorded_folder() -> None:
    pairs = [*islice(interval.ratios(POCL), 3)]
    assert all(pair.relative >= 0 and not pair.test for pair in pairs)
    assert 1 == len({pair.kernel for pair in pairs})
    text = "\n".join(interval.lines([ratio("a", 1.0), ratio("b", 0.5, measured=-0.5), ratio("f", 0.5)]))
    assert "device, test kernels: inside 100.0% of 3, right direction 66.7% of 3" in text
