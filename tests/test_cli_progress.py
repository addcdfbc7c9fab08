from __future__ import annotations

from perfmodel.cli import progress
from perfmodel.cli.progress import Bar


def test_plain_lines_where_there_is_no_terminal(capsys, monkeypatch):
    monkeypatch.setattr(progress, "LINES_EVERY_S", 0.0)
    bar = Bar()
    bar.start("measuring", 2)
    bar.advance("copy")
    bar.advance("sum: timeout (took too long)")
    bar.stop()
    captured = capsys.readouterr()
    assert "" == captured.out
    lines = captured.err.splitlines()
    assert "measuring: 2 steps" == lines[0]
    assert lines[1].startswith("measuring: 1 of 2, about ")
    assert "measuring: sum: timeout (took too long)" == lines[2]
    assert lines[3].startswith("measuring: 2 of 2 done in ")


def test_a_bar_on_a_terminal(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    bar = Bar()
    bar.start("measuring", 2)
    bar.advance("copy")
    bar.advance("sum: timeout")
    bar.stop()
    shown = capsys.readouterr().err
    assert "sum: timeout" in shown
    assert "2/2" in shown
