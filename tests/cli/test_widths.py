"""Tables that fit the terminal, at 40, 80 and 120 columns; what goes into a pipe is complete."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from perfmodel.cli import application
from tests.shadow import ROOT

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
    result = CliRunner(env=environment).invoke(application(), list(arguments))
    assert 0 == result.exit_code, result.stderr
    return result.stdout


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command[:4]))
def test_no_line_is_wider_than_the_terminal(perfmodel, command):
    whole = run(*command)
    for columns in (40, 100):
        lines = run(*command, COLUMNS=str(columns)).splitlines()
        assert [] == [line for line in lines if len(line) > columns]
    assert run(*command, "--json") == run(*command, "--json", COLUMNS="40")
    assert whole == run(*command, COLUMNS="500")
