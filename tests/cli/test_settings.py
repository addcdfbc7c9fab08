"""Options that every command has."""

from __future__ import annotations

import sys

import pytest
import typer

from perfmodel import cli
from perfmodel.cli.settings import NARROWEST, Settings, settings, table_width, using
from perfmodel.errors import UnknownStatisticWarning
from tests.cli.program import perfmodel as program

GROUP = typer.main.get_group(cli.application()).commands


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_them(name):
    options = {one for parameter in GROUP[name].params for one in parameter.opts}
    assert {"--json", "--quiet", "-q", "--verbose", "-v", "--wide"} <= options


def test_options_of_one_name_have_one_help():
    shared = ("--size", "--zip", "--facts", "--statistics", "--variant", "--weights", "--level")
    helps: dict[str, set[str]] = {}
    for name in ("predict", "rank", "count", "fit", "evaluate", "roofline"):
        for parameter in GROUP[name].params:
            for option in set(shared) & set(parameter.opts):
                helps.setdefault(option, set()).add(parameter.help)
    assert set(shared) == set(helps)
    assert {1} == {len(texts) for texts in helps.values()}


def test_they_hold_in_a_block():
    with using(Settings(quiet=True)):
        assert settings().quiet
        with using(Settings(wide=True)):
            assert not settings().quiet
    assert Settings() == settings()


def test_the_width_is_the_terminals(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert table_width() is None  # a pipe
    monkeypatch.setenv("COLUMNS", "72")
    assert 72 == table_width()
    monkeypatch.setenv("COLUMNS", "3")
    assert NARROWEST == table_width()
    with using(Settings(wide=True)):
        assert table_width() is None
    monkeypatch.setenv("COLUMNS", "wide")
    assert table_width() is None
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert table_width() >= NARROWEST


def test_quiet_and_verbose_notes(capsys):
    import warnings

    from perfmodel.cli.notes import as_notes

    said = ["one", "two", "three"]
    for asked, lines in ((Settings(), 2), (Settings(quiet=True), 0), (Settings(verbose=True), 3)):
        with using(asked), as_notes():
            for text in said:
                warnings.warn(text, UnknownStatisticWarning, stacklevel=1)
        assert lines == len(capsys.readouterr().err.splitlines())


@pytest.mark.parametrize(
    ("arguments", "nearest"),
    [
        (["predct"], "predict"),
        (["rank", "k.py", "--wieghts", "w"], "--weights"),
        (["count", "k.py", "--jsn"], "--json"),
    ],
)
def test_unknown_names_suggest_the_nearest(arguments, nearest):
    done = program(*arguments)
    assert (2, "") == (done.returncode, done.stdout)
    assert nearest in done.stderr.splitlines()[-1]


def test_completion_of_a_shell():
    found = program(_PERFMODEL_COMPLETE="complete_bash", COMP_WORDS="perfmodel pre", COMP_CWORD="1")
    assert "predict" == found.stdout.strip()
    found = program(_PERFMODEL_COMPLETE="complete_zsh", _TYPER_COMPLETE_ARGS="perfmodel rank --cross")
    assert "--crossover" in found.stdout
    shown = program("--show-completion", "bash", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert (0, True) == (shown.returncode, "_PERFMODEL_COMPLETE=complete_bash" in shown.stdout)
    assert "--install-completion" in program("--help").stdout
