"""Who is supervised: a process of the command line, and no other."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import typer

from perfmodel.cli.supervision import supervise_command
from perfmodel.measuring import supervised


@pytest.fixture
def commands(monkeypatch):
    """The commands that were started under supervision; each ends with status 7."""
    found = []
    monkeypatch.setattr(supervised, "supervise", lambda command, tell: found.append(command) or 7)
    return found


def test_a_process_is_run_again_under_supervision(commands, monkeypatch):
    monkeypatch.delenv(supervised.PIPE, raising=False)
    with pytest.raises(typer.Exit) as ended:
        supervise_command(SimpleNamespace(obj=("python", "-m", "perfmodel", "measure")))
    assert 7 == ended.value.exit_code
    assert [("python", "-m", "perfmodel", "measure")] == commands


def test_neither_the_child_nor_a_call_from_python_is(commands, monkeypatch):
    monkeypatch.setattr(supervised, "follow_supervisor", lambda: True)
    supervise_command(SimpleNamespace(obj=("python", "-m", "perfmodel", "measure")))
    monkeypatch.setattr(supervised, "follow_supervisor", lambda: False)
    supervise_command(SimpleNamespace(obj=None))
    assert [] == commands
