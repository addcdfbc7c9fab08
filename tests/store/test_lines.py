"""JSON Lines: whole lines or none."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from filelock import FileLock

from perfmodel.documents import json_document
from perfmodel.errors import OutputError
from perfmodel.store import lines
from perfmodel.store.lines import append_line, failure, read_lines


def test_lines_come_with_their_numbers(tmp_path):
    path = tmp_path / "a.jsonl"
    for document in ({"a": 1}, [2], "three"):
        append_line(path, document)
    assert (((1, {"a": 1}), (2, [2]), (3, "three")), ()) == read_lines(path, json_document)
    assert '{"a": 1}\n[2]\n"three"\n' == path.read_text()


def test_a_torn_last_line_is_moved_away_by_the_next(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\n{"a": ')
    append_line(path, {"a": 3})
    assert '{"a": 1}\n{"a": 3}\n' == path.read_text()
    assert '{"a": \n' == (tmp_path / "a.jsonl.torn").read_text()


def test_a_torn_line_is_not_moved_into_a_pipe(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\n{"a": ')
    os.mkfifo(tmp_path / "a.jsonl.torn")
    with pytest.raises(OutputError, match="not a regular file"):
        append_line(path, {"a": 3})
    assert '{"a": 1}\n{"a": ' == path.read_text()


def test_a_line_longer_than_a_block_is_found_from_the_end(tmp_path):
    path = tmp_path / "a.jsonl"
    long = "x" * 200_000
    append_line(path, long)
    path.write_bytes(path.read_bytes() + b'"torn')
    append_line(path, "y")
    assert [long, "y"] == [document for _, document in read_lines(path, json_document)[0]]


def test_a_failed_write_takes_back_its_part_of_the_line(tmp_path, monkeypatch):
    path = tmp_path / "a.jsonl"
    append_line(path, 1)

    def full(number):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OutputError, match="No space left"):
        append_line(path, 2)
    assert "1\n" == path.read_text()


@pytest.mark.parametrize(
    ("number", "kind", "advice"),
    [
        (errno.ENOSPC, OutputError, "make room"),
        (errno.EDQUOT, OutputError, "make room"),
        (errno.EROFS, OutputError, "read-only"),
        (errno.EACCES, OutputError, "read-only"),
        (errno.EIO, OutputError, "give a path"),
    ],
)
def test_each_reason_has_its_own_error(number, kind, advice):
    error = failure(Path("m.jsonl"), OSError(number, os.strerror(number)))
    assert kind is type(error)
    assert isinstance(error, OSError)
    assert "m.jsonl" == error.path
    assert os.strerror(number) in str(error)
    assert advice in str(error)


def test_a_file_that_another_process_holds_is_not_waited_for_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "WAIT_S", 0.02)
    path = tmp_path / "a.jsonl"
    with FileLock(tmp_path / ".lock"), pytest.raises(OutputError, match=r"a\.jsonl.*could not be acquired"):
        append_line(path, {"a": 1})
    append_line(path, {"a": 2})
    assert '{"a": 2}\n' == path.read_text()
