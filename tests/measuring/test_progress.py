"""A task is started, and stopped however its block ends."""

from __future__ import annotations

import pytest

from perfmodel.measuring.progress import Progress, Silent, task


class Notes(Silent):
    """Notes the start and the stop of each task."""

    def __init__(self) -> None:
        self.found: list[object] = []

    def start(self, task: str, total: int, seconds: float = 0.0) -> None:
        self.found.append((task, total, seconds))

    def stop(self) -> None:
        self.found.append("stop")


def test_a_task_is_started_and_stopped():
    notes = Notes()
    with task(notes, "measuring", 3, 1.5):
        assert [("measuring", 3, 1.5)] == notes.found
    assert [("measuring", 3, 1.5), "stop"] == notes.found


def test_a_task_that_fails_is_stopped():
    notes = Notes()
    with pytest.raises(KeyboardInterrupt), task(notes, "measuring", 3):
        raise KeyboardInterrupt
    assert [("measuring", 3, 0.0), "stop"] == notes.found


def test_silence_is_a_progress():
    silent: Progress = Silent()
    silent.start("task", 1)
    silent.advance("step", 1.0)
    silent.tell("message")
    silent.stop()
