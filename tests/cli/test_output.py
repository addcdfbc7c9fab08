"""What commands print: documents, tables that fit the terminal, notes, errors, progress, and streams that fail."""

import json
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from loopy.diagnostic import WriteRaceConditionWarning

from perfmodel.cli import output
from perfmodel.cli.output import CommandSettings, announce, as_notes, print_refusal, table_width, using
from perfmodel.errors import OptionError, OutputError, SetAsideWarning, underlined
from perfmodel.progress import FailedStep
from tests.cli.program import RUN, invoke, perfmodel as program, ran
from tests.shadow import ROOT


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
    assert output.NARROWEST == table_width()
    monkeypatch.setenv("COLUMNS", "wide")
    assert table_width() is None
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert table_width() >= output.NARROWEST


@pytest.mark.parametrize(("asked", "expected"), [
    (CommandSettings(), ("a campaign\n", "")), (CommandSettings(json=True), ("", "a campaign\n")),
    (CommandSettings(quiet=True), ("", "")), (CommandSettings(quiet=True, json=True), ("", "")),
])  # fmt: skip
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


def test_carets_stay_under_the_text():
    text = "w_launch*launches + w_add*op_flaot32_add"
    start = text.index("op_flaot32_add")
    error = OptionError(f"no feature\n{underlined(text, start, len(text))}\nname one")
    part, line, carets = output.refusal_text(error).split("\n")
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
        bar = output.CommandBar()
    bar.start("counting", 1)
    bar.advance(FailedStep("bad", "no"))
    assert expected == capsys.readouterr().err.splitlines()


@pytest.mark.parametrize("command", ["predict", "rank"])
def test_a_document_with_an_infinite_number_is_an_error_and_nothing_is_printed(perfmodel, command):
    document = json.loads(Path("weights.json").read_text())
    for weight in document["weights"].values():
        weight["value"] = 1e307
    Path("huge.json").write_text(json.dumps(document))
    result = perfmodel(command, "kernel.py", "-p", "n=1Mi", "--weights", "huge.json", "--json")
    assert (2, "") == (result.exit_code, result.stdout)
    message = " ".join(result.stderr.split())
    assert "the result would hold inf as '" in message


HOSTILE = "\x1b[2J\x9b31m\x07\r\x7f\u202e\u2066\u2028"


def shell(command: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command line as ``"$@"`` of a shell's command."""
    return subprocess.run(
        ["sh", "-c", command, "sh", sys.executable, "-c", RUN, *arguments], cwd=ROOT, capture_output=True, text=True,
        check=False, env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), **environment},
    )  # fmt: skip


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_one_line_and_status_2(unbuffered):
    done = shell('"$@" > /dev/full', "--help", PYTHONUNBUFFERED=unbuffered)
    assert (2, 1) == (done.returncode, len(done.stderr.splitlines()))
    assert "perfmodel: error: " in done.stderr
    assert "No space left on device" in done.stderr


def test_a_reader_that_leaves_ends_the_program_in_silence_and_a_lacking_character_is_an_escape():
    command = '("$@"; echo "status $?" >&2) | head -c 1 > /dev/null'
    done = shell(command, "data", "export", "fitted_weights/intel-xeon", "-o", "-")
    assert "status 1\n" == done.stderr
    done = shell('"$@" 2>&1', "count", "gr\u00f6\u00dfe.py", PYTHONIOENCODING="ascii")
    assert (2, True) == (done.returncode, "gr\\xf6\\xdfe.py" in done.stdout)


def test_texts_show_controls_as_escapes_and_json_stays_json(capsys):
    output.print_text(HOSTILE)
    output.print_document({HOSTILE: HOSTILE})
    text, _, document = capsys.readouterr().out.partition("\n")
    assert text.isprintable()
    assert document.replace("\n", "").isprintable()
    assert {HOSTILE: HOSTILE} == json.loads(document)


WEIGHTS = str(ROOT / "fitted_weights" / "pocl-skylake-avx512-intel-xeon")
SHORT = str(ROOT / "docs" / "data" / "calibrate-quick")
COMMANDS = (
    ("count", "variants.py", "-p", "n=4096"), ("count", "variants.py", "-p", "n=1Ki..8Ki"),
    ("predict", "variants.py", "-p", "n=4096", "-w", "weights.json"),
    ("predict", "variants.py", "-p", "n=1Ki..4Ki", "-w", "weights.json"),
    ("rank", "variants.py", "-p", "n=1Ki..4Ki", "-w", "weights.json"), ("devices", "--from", WEIGHTS),
    ("compare", "--roofline", "--from", SHORT),
)  # fmt: skip


def run(*arguments: str, **environment: str):
    result = ran(invoke(*arguments, env=environment))
    return result.stdout


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command[:4]))
def test_no_line_is_wider_than_the_terminal(perfmodel, command):
    whole = run(*command)
    for columns in (40, 100):
        lines = run(*command, COLUMNS=str(columns)).splitlines()
        assert [] == [line for line in lines if len(line) > columns]
    assert run(*command, "--json") == run(*command, "--json", COLUMNS="40")
    assert whole == run(*command, COLUMNS="500")
