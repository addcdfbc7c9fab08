"""The command line as a program, its JSON documents, and the times that the weights of ``conftest.py`` give."""

import json
import os
import subprocess
import sys

from typer.testing import CliRunner

from perfmodel.cli import application
from tests.fitting.test_weights_file import PLANTED
from tests.shadow import ROOT

RUN = "import sys; from perfmodel.cli import main; sys.argv[0] = 'perfmodel'; main()"


def perfmodel(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", RUN, *arguments]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True)


def document(result) -> dict:
    assert 0 == result.exit_code, result.stderr
    return json.loads(result.stdout)


def seconds(n: int, group: int) -> float:
    return (
        PLANTED["launches"]
        + n // group * PLANTED["work_groups"]
        + n * (PLANTED["op_float32_add"] + PLANTED["global_load_32_stride1"] + 2e-10)
    )


def invoke(*arguments: object, **options):
    """Run a command in this process; give the environment as an option of the runner."""
    return CliRunner(**options).invoke(application(), [*map(str, arguments)])


def ran(result):
    assert 0 == result.exit_code, result.output
    return result


def refused(result) -> str:
    """Return what a command that refused its input said."""
    assert 2 == result.exit_code, result.output
    return result.stderr
