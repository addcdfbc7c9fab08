"""The command line as a program: commands from functions, statuses, speed, and what it imports."""

import re
import resource
import sqlite3
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from perfmodel.cli import application, program
from perfmodel.cli.output import SHARED, CommandSettings, settings, using
from perfmodel.cli.program import COMMANDS, SUBJECTS, Command, CommandProgram, flattened
from perfmodel.errors import PerfModelError
from tests.cli.program import invoke, perfmodel, refused
from tests.shadow import ROOT


@dataclass(frozen=True)
class Place:
    """A group of options."""

    x: Annotated[int, typer.Argument()]
    y: Annotated[int, typer.Option("--why")] = 5


@pytest.fixture
def asked():
    """A program of one command, and what it was asked."""
    found = []

    def command(place: Place, loud: bool = False) -> None:
        """Do something."""
        found.append((place, loud, settings()))

    def options(context: typer.Context, shared: CommandSettings) -> None:
        context.with_resource(using(shared))

    app = typer.Typer(cls=CommandProgram, rich_markup_mode=None)
    app.callback()(flattened(options))
    app.command("predict", cls=Command)(flattened(command))

    def run(*arguments: str):
        result = CliRunner().invoke(app, ["predict", *arguments])
        return result, found

    return run


def test_a_group_is_one_value(asked):
    _, found = asked("3", "--why", "4")
    _, found = asked("--loud", "1")
    assert [(Place(3, 4), False, CommandSettings()), (Place(1, 5), True, CommandSettings())] == found


def test_every_command_has_a_subject():
    group = typer.main.get_group(application())
    assert list(COMMANDS) == list(group.commands)
    help_of_all = invoke("--help").stdout
    assert sorted(SUBJECTS, key=help_of_all.index) == list(SUBJECTS)
    assert all(f"\n{subject}:\n" in help_of_all for subject in SUBJECTS)


def test_options_are_few():
    """At most 100, six for recordings, nine for versions and five for recipes, without those of every command."""

    def commands(group):
        for command in group.commands.values():
            yield from commands(command) if hasattr(command, "commands") else [command]

    parameters = [p for one in commands(typer.main.get_group(application())) for p in one.params]
    assert len([p for p in parameters if p.param_type_name == "option" and p.name not in (*SHARED, "help")]) <= 120


def run_guarded(error: BaseException):
    """Run an application whose only command raises this error."""

    def command() -> None:
        raise error

    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command()(program._guarded(command))
    return CliRunner().invoke(app, [])


@pytest.mark.parametrize("name", program.COMMANDS)
def test_every_command_has_help_and_json(name):
    done = invoke(name, "--help")
    assert (0, "") == (done.exit_code, done.stderr)
    assert "--json" in done.stdout or name == "data"


@pytest.mark.parametrize("arguments", [["nonsense"], ["--nonsense"], ["devices", "--nonsense"], ["doctor", "extra"]])
def test_wrong_use_is_status_2_without_traceback(arguments):
    done = perfmodel(*arguments)
    assert 2 == done.returncode
    assert "" == done.stdout
    assert "Usage: perfmodel" in done.stderr
    assert "Traceback" not in done.stderr


def test_our_error_is_one_line_and_status_2_and_neither_interrupts_nor_bugs_are():
    result = run_guarded(PerfModelError("it broke\n   in two lines; do this"))
    assert 2 == result.exit_code
    assert "" == result.stdout
    assert "perfmodel: error: it broke in two lines; do this.\n" == result.stderr
    result = run_guarded(KeyboardInterrupt())
    assert (130, "") == (result.exit_code, result.stdout)
    assert isinstance(run_guarded(ZeroDivisionError()).exception, ZeroDivisionError)


def test_a_cache_that_fails_while_loopy_runs_is_one_line(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    monkeypatch.setattr(program, "settle_caches", lambda: None)
    result = refused(run_guarded(sqlite3.OperationalError("database or disk is full")))
    assert result.startswith("perfmodel: error: cannot write '/caches': database or disk is full; make room")
    assert 1 == result.count("\n")


@pytest.mark.parametrize("command", ["calibrate", "measure", "fit", "compare"])
def test_the_help_of_a_long_command_shows_how_long_it_takes(command):
    text = invoke(command, "--help").stdout
    assert re.search(r"takes? [^.]*(seconds|minutes?)\b", " ".join(text.split()))


HEAVY = {"scipy", "sklearn", "matplotlib", "pandas", "dask", "distributed"}
LIBRARIES = HEAVY | {"numpy", "loopy", "islpy", "pymbolic", "pyopencl"}
#: Whose counts are in the cache: whether they are of the command ``count``, and the kernel file.
COUNTED: set[tuple[bool, str]] = set()
#: Runs a command and prints the libraries of `argv[1]` that were imported, as its last line.
PROGRAM = """
import atexit, sys
names = sys.argv.pop(1).split(",")
sys.argv[0] = "perfmodel"
atexit.register(lambda: print(sorted(name for name in names if name in sys.modules)))
from perfmodel.cli import main
main()
"""


def run(names: set[str], *arguments: str, folder: Path = ROOT) -> tuple[str, float]:
    """Return what a command imported of these libraries, as a line of text, and the CPU time that it took [s]."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, ",".join(names), *arguments], cwd=folder, capture_output=True, text=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert 0 == done.returncode, done.stderr
    return done.stdout.splitlines()[-1], after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.parametrize("arguments", [("--help",), ("predict", "--help"), ("--version",)])
def test_help_imports_no_library(arguments):
    imported, seconds = run(LIBRARIES, *arguments)
    assert "[]" == imported
    assert seconds < 1.0  # about 0.15 s, with room for a busy machine


@pytest.mark.parametrize("command", [
    ("predict", "kernel.py", "-p", "n=4096", "-w", "weights.json"),
    ("rank", "kernel.py", "-p", "n=4096", "-w", "weights.json", "--json"), ("count", "kernel.py", "-p", "n=4096"),
])  # fmt: skip
def test_a_counted_kernel_needs_no_scientific_library(perfmodel, tmp_path, command):
    """An inner product needs numpy, and the kernel's own file loopy; what was never measured would need SciPy."""
    counts = command[0] == "count", command[1]
    if counts not in COUNTED:
        perfmodel(*command)  # counts it, here where Loopy is imported already
        COUNTED.add(counts)
    imported, seconds = run(HEAVY, *command, folder=tmp_path)
    assert "[]" == imported
    assert seconds < 3.0  # about 0.7 s, with room for a busy machine
