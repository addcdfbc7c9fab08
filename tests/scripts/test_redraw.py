"""docs/quickstart.png and the README's tables come from the committed measurements."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import redraw

ROOT = Path(__file__).resolve().parents[2]


def test_the_readme_shows_what_the_committed_data_give(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "again.png"
    assert 0 == redraw.main(["--picture", str(picture)])
    assert picture.read_bytes().startswith(b"\x89PNG")
    tables = capsys.readouterr().out.rpartition("\n\nwrote")[0].split("\n\n")
    readme = (ROOT / "README.md").read_text()
    assert 2 == len(tables)
    for table in tables:
        assert table in readme


def test_data_that_are_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == redraw.main(["--data", str(tmp_path), "--picture", str(tmp_path / "no.png")])
    assert capsys.readouterr().err.startswith("redraw: error: no measurements at")
    assert not (tmp_path / "no.png").exists()
