"""Tasks are started and stopped; a bar shows lines or a terminal's bar, and estimates the remaining time."""

import pytest

from perfmodel import progress
from perfmodel.progress import Bar, FailedStep, Phase, Phases, Reminder, Silent, task


def test_a_reminder_is_shown_once_for_all_tasks(capsys):
    """Each of the campaigns of a calibration finds the same load."""
    bar = Bar()
    for cores in (1.5, 1.8):
        with task(bar, "measuring", 1):
            bar.report(Reminder(f"others use {cores} cores"))
            bar.report("something else")
    lines = capsys.readouterr().err.splitlines()
    assert ["others use 1.5 cores", "something else", "something else"] == [
        line for line in lines if not line.startswith("measuring")
    ]


def test_plain_lines_where_there_is_no_terminal(capsys, monkeypatch):
    monkeypatch.setattr(progress, "LINES_EVERY_S", 0.0)
    bar = Bar()
    bar.start("measuring", 2)
    bar.advance("copy")
    bar.advance(FailedStep("sum", "timeout (took too long)"))
    bar.stop()
    captured = capsys.readouterr()
    assert "" == captured.out
    lines = captured.err.splitlines()
    assert "measuring: 2 steps" == lines[0]
    assert "measuring: 1 of 2" == lines[1]  # one step says nothing of the others
    assert "measuring: sum: timeout (took too long)" == lines[2]
    assert lines[3].startswith("measuring: 2 of 2 done, 1 failed in ")


@pytest.fixture
def terminal(monkeypatch):
    """Standard error is taken for a terminal of 100 columns."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")


@pytest.mark.usefixtures("terminal")
def test_a_bar_on_a_terminal(capsys):
    bar = Bar()
    bar.start("measuring", 2)
    bar.advance("copy")
    bar.advance(FailedStep("sum", "timeout"))
    bar.stop()
    shown = capsys.readouterr().err
    assert "sum: timeout" in shown
    assert "2 of 2, 1 failed" in shown


def test_the_remaining_time_follows_expected_times(capsys, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(progress, "monotonic", lambda: clock[0])
    monkeypatch.setattr(progress, "LINES_EVERY_S", 1.0)
    bar = Bar()
    bar.start("measuring", 2, seconds=10.0)
    clock[0] = 2.0
    bar.advance("the short one", seconds=1.0)
    assert "measuring: 1 of 2, about 18 s left" == capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize("seconds", [[5.0] * 20, [4.0, 6.0] * 10, [0.01] * 19 + [60.0], [30.0] + [1.0] * 19])
def test_the_remaining_time_is_right_within_a_factor_of_two_or_not_shown(seconds, capsys, monkeypatch):
    """Steps that take equally long, nearly, or one that takes longer than all others: last, or first.

    A long last step cannot be predicted; a long first step precedes all estimates.
    """
    clock = [0.0]
    monkeypatch.setattr(progress, "monotonic", lambda: clock[0])
    monkeypatch.setattr(progress, "LINES_EVERY_S", 0.0)
    bar = Bar()
    bar.start("fitting", len(seconds))
    estimates = 0
    for place, step in enumerate(seconds, 1):
        clock[0] += step
        bar.advance("a family")
        line, rest = capsys.readouterr().err.splitlines()[-1], sum(seconds[place:])
        if "left" in line and rest and seconds[-1] < 60:
            estimates += 1
            left = float(line.partition("about ")[2].partition(" s")[0])
            assert left / 2 <= rest <= 2 * left, line
    assert (estimates > 10) == (max(seconds) < 10)


def test_phases_keep_how_long_each_task_took(monkeypatch):
    now, estimates = [0.0], []
    monkeypatch.setattr(progress, "monotonic", lambda: now[0])

    class Listener(Silent):
        def start(self, task, total, seconds=0.0):
            estimates.append(task)

    phases = Phases(Listener())
    for part, took in (("", 2.0), ("test kernels", 3.0)):
        phases.part = part
        with task(phases, "measuring", 1, 5.0):
            now[0] += took
        phases.stop()  # once more, as where a task ends twice
    assert ["measuring", "test kernels: measuring"] == estimates
    assert [Phase("measuring", 5.0, 2.0), Phase("test kernels: measuring", 5.0, 3.0)] == phases.done
