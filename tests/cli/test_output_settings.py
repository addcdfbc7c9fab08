"""Options that every command has, and what commands say beside their results: notes, errors and progress."""

from __future__ import annotations

import sys
import warnings

import pytest
from loopy.diagnostic import WriteRaceConditionWarning

from perfmodel.cli.output import (
    NARROWEST,
    CommandBar,
    CommandSettings,
    announce,
    as_notes,
    print_refusal,
    refusal_text,
    table_width,
    using,
)
from perfmodel.errors import OptionError, OutputError, SetAsideWarning, underlined
from perfmodel.progress import FailedStep
from tests.cli.program import perfmodel as program


def test_they_may_be_anywhere():
    arguments = ["devices", "--from", "fitted_weights/nowhere"]
    before, *others = (program(*arguments[:i], "--verbose", *arguments[i:]) for i in (0, 1, 3))
    for after in (before, *others):
        assert (2, before.stdout) == (after.returncode, after.stdout)
        assert before.stderr.splitlines()[-1] == after.stderr.splitlines()[-1]
        assert "Traceback" in after.stderr


def test_the_width_is_the_terminals(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert table_width() is None  # a pipe
    monkeypatch.setenv("COLUMNS", "72")
    assert 72 == table_width()
    monkeypatch.setenv("COLUMNS", "3")
    assert NARROWEST == table_width()
    monkeypatch.setenv("COLUMNS", "wide")
    assert table_width() is None
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert table_width() >= NARROWEST


@pytest.mark.parametrize(
    ("asked", "expected"),
    [(CommandSettings(), ("a campaign\n", "")), (CommandSettings(json=True), ("", "a campaign\n")),
     (CommandSettings(quiet=True), ("", "")), (CommandSettings(quiet=True, json=True), ("", ""))],
)  # fmt: skip
def test_what_is_announced_is_next_to_the_result(asked, expected, capsys):
    with using(asked):
        announce("a campaign")
    assert expected == tuple(capsys.readouterr())


@pytest.mark.parametrize(("asked", "count"), [
    (CommandSettings(), 3), (CommandSettings(quiet=True), 0), (CommandSettings(verbose=True), 3),
])  # fmt: skip
def test_a_note_for_each_warning(asked, count, capsys):
    with using(asked), as_notes():
        for k in (0, 1, 2, 1):
            warnings.warn(f"file {k} is\ndamaged", SetAsideWarning, stacklevel=1)
    expected = [f"perfmodel: note: file {k} is damaged" for k in range(count)]
    assert expected == capsys.readouterr().err.splitlines()


def test_other_warnings_are_pythons(capsys):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        with as_notes():
            warnings.warn("another", RuntimeWarning, stacklevel=1)
    assert (["another"], "") == ([str(one.message) for one in found], capsys.readouterr().err)


def test_a_warning_of_loopy_is_a_note_once_for_all_its_numbers(capsys):
    advice = "(add 'write_race(top)' to silenced_warnings kernel attribute to disable)"
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        with as_notes():
            for place in (3, 5):
                text = f"'top' contains a write race: 'red_s{place}' {advice}"
                warnings.warn(text, WriteRaceConditionWarning, stacklevel=1)
    part = "perfmodel: note: Loopy warns: 'top' contains a write race: 'red_s3'"
    assert [part] == capsys.readouterr().err.splitlines()


def at(text, start, end):
    return OptionError(f"no feature\n{underlined(text, start, end)}\nname one")


def test_carets_stay_under_the_text():
    text = "w_launch*launches + w_add*op_flaot32_add"
    start = text.index("op_flaot32_add")
    part, line, carets = refusal_text(at(text, start, len(text))).split("\n")
    assert "no feature; name one" == part.rstrip(".")
    assert text == line.strip()
    assert "op_flaot32_add" == line[carets.index("^") : carets.rindex("^") + 1]


def test_a_traceback_where_it_is_asked_for(capsys):
    try:
        raise OutputError("cannot write '/x'", "give another place")
    except OutputError as error:
        print_refusal(error)
        assert "Traceback" not in capsys.readouterr().err
        with using(CommandSettings(verbose=True)):
            print_refusal(error)
    shown = capsys.readouterr().err
    assert "Traceback" in shown
    assert shown.splitlines()[-1].startswith("perfmodel: error: cannot write '/x'")


@pytest.mark.parametrize(("quiet", "expected"), [(False, ["counting: 1 step", "counting: bad: no"]), (True, [])])
def test_with_quiet_it_prints_nothing(quiet, expected, capsys):
    with using(CommandSettings(quiet=quiet)):
        bar = CommandBar()
    bar.start("counting", 1)
    bar.advance(FailedStep("bad", "no"))
    assert expected == capsys.readouterr().err.splitlines()
