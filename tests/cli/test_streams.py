"""Standard output that is full, closed, of an encoding that lacks a character, or a terminal that obeys codes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from contextlib import suppress

import pytest

from perfmodel.cli.output import print_document
from tests.cli.program import RUN, perfmodel
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


HOSTILE = "\x1b[2J\x9b31m\x07\r\x7f\u202e\u2066\u2028"
ESCAPED = r"\x1b[2J\x9b31m\x07\r\x7f\u202e\u2066\u2028"
ON_A_TERMINAL = """
import sys
from perfmodel.cli.streams import careful_streams
from perfmodel.cli.output import as_notes
from perfmodel.cli.output import CommandBar
from perfmodel.errors import SetAsideWarning
from perfmodel.progress import FailedStep
from perfmodel.io import write_whole
import warnings
name = sys.argv[1]
with careful_streams(), as_notes():
    print("out", name)
    print("err", name, file=sys.stderr)
    write_whole("-", f"whole {name}\\n".encode())
    bar = CommandBar()
    bar.start(f"task[/b] {name}", 2)
    warnings.warn(f"warned {name}", SetAsideWarning)
    bar.tell(f"told {name}")
    bar.advance(FailedStep(f"failed {name}", name))
    bar.advance(f"[/red] {name}")
    bar.stop()
"""


def on_a_terminal(program: str, *arguments: str) -> str:
    """Run a program of Python whose streams are a terminal, and return what that received."""
    ours, its = os.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "400"}
    command = [sys.executable, "-c", program, *arguments]
    child = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=its, stderr=its)
    os.close(its)
    received = b""
    with suppress(OSError):  # at its end
        while part := os.read(ours, 2**16):
            received += part
    os.close(ours)
    assert 0 == child.wait(), received
    return received.decode()


def test_a_terminal_gets_the_escape_codes_of_the_bar_and_no_others():
    received = on_a_terminal(ON_A_TERMINAL, HOSTILE)
    for told in ("out", "err", "whole", "task[/b]", "told", "[/red]", "failed"):
        assert f"{told} {ESCAPED}" in received
    assert r"warned \x1b[2J\x9b31m\x07 \x7f\u202e\u2066" in received  # a note is one line of single spaces
    assert "\x1b[?25l" in received  # the bar hides the cursor
    unstyled = re.sub(r"\x1b\[[0-9;?]*[mlhAK]|\r", "", received)
    assert "2J" in unstyled
    assert all(one.isprintable() or one == "\n" for one in unstyled)


def test_errors_of_options_are_shown_escaped_too():
    done = perfmodel("predict", f"--no{HOSTILE}")
    assert 2 == done.returncode
    assert r"--no\x1b[2J\x9b31m\x07" in done.stderr
    assert all(one.isprintable() for line in done.stderr.split("\n") for one in line)


def test_json_stays_json(capsys):
    print_document({HOSTILE: HOSTILE})
    printed = capsys.readouterr().out
    assert printed.replace("\n", "").isprintable()
    assert {HOSTILE: HOSTILE} == json.loads(printed)


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_file_does_not_take_the_place_of_a_closed_stream(closed, tmp_path):
    """What a library or a child process writes to numbers 1 and 2 would stand in that file."""
    program = """
import os, sys
from perfmodel.cli.streams import careful_streams
with careful_streams(), open(sys.argv[1], "w") as file:
    os.write(1, b"out"); os.write(2, b"err")
    print("out"); print("err", file=sys.stderr)
    assert sys.stdout.isatty() is sys.stderr.isatty() is False
"""
    done = shell(f'"$@" {closed}', program, str(tmp_path / "file"))
    assert (0, "") == (done.returncode, (tmp_path / "file").read_text())
    assert ("" if ">&-" in closed.split() else "outout\n") == done.stdout
    assert ("" if "2>&-" in closed else "errerr\n") == done.stderr


@pytest.mark.parametrize(("closed", "status"), [(">&-", 2), ("2>&-", 2), (">&- 2>&-", 2)])
def test_an_error_goes_to_standard_error_or_nowhere(closed, status):
    done = shell(f'"$@" {closed}', RUN, "count", "missing.py")
    assert (status, "") == (done.returncode, done.stdout)
    assert ("2>&-" in closed) == (done.stderr == "")
