"""The command line as a program of its own."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.shadow import ROOT

RUN = "import sys; from perfmodel.cli import main; sys.argv[0] = 'perfmodel'; main()"


def perfmodel(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", RUN, *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
