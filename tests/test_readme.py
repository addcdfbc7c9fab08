"""The README's Python runs as a user saves it, and so do its commands."""

from subprocess import run
from sys import executable

import pytest
from typer.testing import CliRunner

from perfmodel.calibration import recommended
from perfmodel.cli import application
from perfmodel.facts import read_device
from perfmodel.opencl import Device
from tests.pages import PAGES, Page

README = PAGES[0]
PAGE = Page(README, README.read_text(encoding="utf-8"))
COMMITTED = README.parent / "fitted_weights" / "pocl-skylake-avx512-amd-epyc"
RUNNING = {"time", "tune", "calibrate", "measure"}
#: Commands about the file that run nothing on a device.
COMMANDS = [words for words in PAGE.commands if "my_kernel.py" in words and words[1] not in RUNNING]


@pytest.fixture
def reader(tmp_path, monkeypatch):
    """The folder of a user outside of the clone, who has saved the files and has the device of committed weights."""
    device = Device(0, read_device(COMMITTED / "device.json"))
    monkeypatch.setattr(recommended, "identify", lambda selector: device)
    monkeypatch.setattr(recommended, "data_folder", lambda: tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    for name, text in PAGE.files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    somebody = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org", "-c", "commit.gpgsign=false")
    for words in (["init", "-q"], ["add", "my_kernel.py"], ["commit", "-q", "-m", "a kernel"]):
        run(["git", *somebody, *words], check=True)
    return tmp_path


def test_the_python_runs_and_prints_what_it_promises(reader, monkeypatch, capsys):
    monkeypatch.syspath_prepend(reader)
    exec(compile(PAGE.program, str(README), "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    assert PAGE.promised
    assert PAGE.promised == printed[: len(PAGE.promised)]


@pytest.mark.parametrize(
    "command",
    [pytest.param(words, marks=pytest.mark.nightly) if words[1] == "report" else words for words in COMMANDS],
    ids=" ".join,
)
def test_the_commands_run(command, reader):
    result = CliRunner().invoke(application(), command[1:])
    assert 0 == result.exit_code, result.stderr


def test_a_saved_file_runs_by_itself(reader):
    """It needs no name that only a notebook or this page has."""
    found = run([executable, "my_kernel.py"], cwd=reader, capture_output=True, text=True, check=False)
    assert (0, "") == (found.returncode, found.stdout), found.stderr
