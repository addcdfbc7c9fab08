"""The command line as a program: statuses, streams, speed, and the devices command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import pytest
import typer
from typer.testing import CliRunner

from perfmodel import cli
from perfmodel.errors import OutputError, PerfModelError
from perfmodel.opencl import devices
from tests.shadow import NO_DRIVERS, ROOT, shadow

RUN = "import sys; from perfmodel.cli import main; sys.argv[0] = 'perfmodel'; main()"


def perfmodel(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", RUN, *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )


def run_guarded(error: BaseException):
    """Run an application whose only command raises this error."""

    def command() -> None:
        raise error

    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command()(cli._guarded(command))
    return CliRunner().invoke(app, [])


def test_help_names_every_command():
    done = perfmodel("--help")
    assert 0 == done.returncode
    assert "" == done.stderr
    for name in cli.COMMANDS:
        assert f"\n  {name} " in done.stdout


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_help_and_json(name):
    done = perfmodel(name, "--help")
    assert 0 == done.returncode
    assert "--json" in done.stdout


def test_help_loads_nothing_heavy_and_is_quick():
    code = (
        "import sys; from perfmodel.cli import application; application();"
        "print(sorted({'numpy', 'loopy', 'islpy', 'pyopencl', 'scipy', 'sklearn', 'matplotlib'}"
        " & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert "[]\n" == done.stdout
    start = time.perf_counter()
    perfmodel("--help")
    assert time.perf_counter() - start < 2.0  # about 0.1 s, with room for a busy machine


def test_version():
    done = perfmodel("--version")
    assert 0 == done.returncode
    assert done.stdout.startswith("perfmodel 0.")


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
    assert "perfmodel: error: it broke in two lines; do this\n" == result.stderr


def test_our_operating_system_error_is_one_line_too():
    result = run_guarded(OutputError("/proc/weights", "Permission denied"))
    assert 2 == result.exit_code
    assert "cannot write '/proc/weights': Permission denied" in result.stderr
    assert 1 == result.stderr.count("\n")


def test_interruption_is_status_130():
    result = run_guarded(KeyboardInterrupt())
    assert 130 == result.exit_code
    assert "" == result.stdout


def test_a_bug_keeps_its_traceback():
    assert isinstance(run_guarded(ZeroDivisionError()).exception, ZeroDivisionError)


@pytest.mark.device
def test_devices_as_json():
    done = perfmodel("devices", "--json")
    document = json.loads(done.stdout)
    assert 0 == done.returncode
    assert "perfmodel.devices/1" == document["schema"]
    expected = [(device.index, device.slug) for device in devices()]
    assert expected == [(row["index"], row["slug"]) for row in document["devices"]]


@pytest.mark.device
def test_devices_as_a_table():
    done = perfmodel("devices")
    assert 0 == done.returncode
    for device in devices():
        assert device.name in done.stdout
        assert str(device.facts.value("max_work_group_size")) in done.stdout


def test_devices_where_there_are_none(tmp_path):
    path = shadow(tmp_path, "pyopencl", NO_DRIVERS)
    done = perfmodel("devices", PYTHONPATH=path)
    assert 2 == done.returncode
    assert "" == done.stdout
    assert done.stderr.startswith("perfmodel: error: no OpenCL device was found; run scripts/setup")
    assert 1 == done.stderr.count("\n")
    done = perfmodel("devices", "--json", PYTHONPATH=path)
    assert [] == json.loads(done.stdout)["devices"]
