"""The command line as a program: statuses, streams and speed."""

from __future__ import annotations

import re
import sqlite3

import pytest
import typer
from typer.testing import CliRunner

from perfmodel.cli import program
from perfmodel.errors import PerfModelError
from tests.cli.program import perfmodel


def run_guarded(error: BaseException):
    """Run an application whose only command raises this error."""

    def command() -> None:
        raise error

    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command()(program._guarded(command))
    return CliRunner().invoke(app, [])


@pytest.mark.parametrize("name", program.COMMANDS)
def test_every_command_has_help_and_json(name):
    done = CliRunner().invoke(program.application(), [name, "--help"])
    assert (0, "") == (done.exit_code, done.stderr)
    assert "--json" in done.stdout or name == "data"


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["--nonsense"], ["devices", "--nonsense"], ["doctor", "extra"]]
)
def test_wrong_use_is_status_2_without_traceback(arguments):
    done = perfmodel(*arguments)
    assert 2 == done.returncode
    assert "" == done.stdout
    assert "Usage: perfmodel" in done.stderr
    assert "Traceback" not in done.stderr


def test_our_error_is_one_line_and_status_2():
    result = run_guarded(PerfModelError("it broke\n   in two lines; do this"))
    assert 2 == result.exit_code
    assert "" == result.stdout
    assert "perfmodel: error: it broke in two lines; do this.\n" == result.stderr


def test_a_cache_that_fails_while_loopy_runs_is_one_line(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    monkeypatch.setattr(program, "settle_caches", lambda: None)
    result = run_guarded(sqlite3.OperationalError("database or disk is full"))
    assert 2 == result.exit_code
    assert result.stderr.startswith("perfmodel: error: cannot write '/caches': database or disk is full; make room")
    assert 1 == result.stderr.count("\n")


@pytest.mark.parametrize("command", ["calibrate", "measure", "fit", "compare"])
def test_the_help_of_a_long_command_shows_how_long_it_takes(command):
    text = CliRunner().invoke(program.application(), [command, "--help"]).stdout
    assert re.search(r"takes? [^.]*(seconds|minutes?)\b", " ".join(text.split()))


def test_interrupts_and_bugs():
    result = run_guarded(KeyboardInterrupt())
    assert (130, "") == (result.exit_code, result.stdout)
    assert isinstance(run_guarded(ZeroDivisionError()).exception, ZeroDivisionError)
