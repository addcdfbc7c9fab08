"""Standard output that is full, closed, or of an encoding that lacks a character."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.cli.program import RUN
from tests.shadow import ROOT

PROGRAM = """
import sys
from perfmodel.cli.streams import careful_streams
with careful_streams():
    print("first")
    print("größe \\udcff", file=sys.stderr)
    print("größe \\udcff" * int(sys.argv[1]))
    print("last", file=sys.stderr)
"""


def shell(command: str, program: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program of Python as ``"$@"`` of a shell's command."""
    return subprocess.run(
        ["sh", "-c", command, "sh", sys.executable, "-c", program, *arguments],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_one_line_and_status_2(unbuffered):
    done = shell('"$@" > /dev/full', RUN, "--help", PYTHONUNBUFFERED=unbuffered)
    said = "perfmodel: error: cannot write standard output: No space left on device; send it elsewhere.\n"
    assert (2, said) == (done.returncode, done.stderr)


def test_a_reader_that_leaves_ends_the_program_in_silence():
    done = shell('("$@"; echo "status $?" >&2) | head -1', PROGRAM, "100000", PYTHONIOENCODING="ascii")
    assert "first\n" == done.stdout
    assert "gr\\xf6\\xdfe \\udcff\nlast\nstatus 1\n" == done.stderr


def test_messages_that_nobody_can_read_change_nothing():
    done = shell('"$@" 2> /dev/full', PROGRAM, "1", PYTHONIOENCODING="ascii")
    assert (0, "first\ngr\\xf6\\xdfe \\udcff\n") == (done.returncode, done.stdout)


def test_streams_that_are_closed_change_nothing():
    assert 0 == shell('"$@" >&- 2>&-', PROGRAM, "1").returncode
