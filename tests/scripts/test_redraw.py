"""docs/quickstart.png and the README's tables come from the committed measurements."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts import redraw

pytestmark = pytest.mark.nightly  # research code, and long

ROOT = Path(__file__).resolve().parents[2]


def test_the_readme_shows_what_the_committed_data_give(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
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


def test_the_pages_of_the_papers_show_what_the_script_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == redraw.main(["papers"])
    printed = capsys.readouterr().out.strip().split("\n\n")
    pages = [(ROOT / "docs" / "lab" / name).read_text() for name in ("published-numbers.md", "spt.md", "spt.md")]
    assert 3 == len(printed)
    for table, page in zip(printed, pages, strict=True):
        assert table in page


def test_the_committed_recording_is_drawn(tmp_path):
    redraw.draw_watched(ROOT / "docs" / "data" / "watch", tmp_path / "watch.png")
    assert (tmp_path / "watch.png").read_bytes().startswith(b"\x89PNG")
