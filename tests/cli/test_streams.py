"""Standard output that is full, closed, or of an encoding that lacks a character, and texts that control a terminal."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from perfmodel.cli.output import print_document, print_text
from tests.cli.program import RUN
from tests.shadow import ROOT

HOSTILE = "\x1b[2J\x9b31m\x07\r\x7f\u202e\u2066\u2028"


def shell(command: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command line as ``"$@"`` of a shell's command."""
    return subprocess.run(
        ["sh", "-c", command, "sh", sys.executable, "-c", RUN, *arguments],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_one_line_and_status_2(unbuffered):
    done = shell('"$@" > /dev/full', "--help", PYTHONUNBUFFERED=unbuffered)
    assert (2, 1) == (done.returncode, len(done.stderr.splitlines()))
    assert "perfmodel: error: " in done.stderr
    assert "No space left on device" in done.stderr


def test_a_reader_that_leaves_ends_the_program_in_silence():
    command = '("$@"; echo "status $?" >&2) | head -c 1 > /dev/null'
    done = shell(command, "data", "export", "fitted_weights/intel-xeon", "-o", "-")
    assert "status 1\n" == done.stderr


def test_a_character_that_the_encoding_lacks_is_an_escape():
    done = shell('"$@" 2>&1', "count", "gr\u00f6\u00dfe.py", PYTHONIOENCODING="ascii")
    assert (2, True) == (done.returncode, "gr\\xf6\\xdfe.py" in done.stdout)


def test_texts_show_controls_as_escapes_and_json_stays_json(capsys):
    print_text(HOSTILE)
    print_document({HOSTILE: HOSTILE})
    text, _, document = capsys.readouterr().out.partition("\n")
    assert text.isprintable()
    assert document.replace("\n", "").isprintable()
    assert {HOSTILE: HOSTILE} == json.loads(document)
