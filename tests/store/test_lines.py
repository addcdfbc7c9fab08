"""JSON Lines: whole lines or none."""

import errno
import os
from pathlib import Path

import pytest
from filelock import FileLock

from perfmodel.documents import Schema, json_document
from perfmodel.errors import OutputError, SetAsideWarning, StoreError
from perfmodel.store import lines
from perfmodel.store.lines import append_line, failure, read_lines


def test_lines_come_with_their_numbers(tmp_path):
    path = tmp_path / "a.jsonl"
    for document in ({"a": 1}, [2], "three"):
        append_line(path, document)
    assert (((1, {"a": 1}), (2, [2]), (3, "three")), ()) == read_lines(path, json_document)
    assert '{"a": 1}\n[2]\n"three"\n' == path.read_text()


def test_a_torn_last_line_is_moved_away_by_the_next_but_not_into_a_pipe(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\n{"a": ')
    append_line(path, {"a": 3})
    assert '{"a": 1}\n{"a": 3}\n' == path.read_text()
    assert '{"a": \n' == (tmp_path / "a.jsonl.torn").read_text()
    (tmp_path / "a.jsonl.torn").unlink()
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


@pytest.mark.parametrize(("number", "advice"), [
    (errno.ENOSPC, "make room"), (errno.EDQUOT, "make room"), (errno.EROFS, "read-only"), (errno.EACCES, "read-only"),
    (errno.EIO, "give a path"),
])  # fmt: skip
def test_each_reason_has_its_own_advice(number, advice):
    error = failure(Path("m.jsonl"), OSError(number, os.strerror(number)))
    assert OutputError is type(error)
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


TOY = Schema("toy/2", "make it again")


def toy(line):
    document = json_document(line)
    TOY.check(document)
    return document["a"]


def test_damaged_lines_are_one_sentence_that_names_the_first_and_without_a_good_one_an_error(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("1\n" + 5 * "{\n" + "7\n")
    with pytest.warns(SetAsideWarning) as caught:
        found, (said,) = read_lines(path, json_document)
    assert ((1, 1), (7, 7)) == found
    assert [said] == [str(one.message) for one in caught]
    assert all(word in said for word in ("5 lines", "line 2", "line 3", "line 4", "and 2 more", "measure it again"))
    assert "line 5" not in said
    path.write_text("{\n{\n")
    with pytest.raises(StoreError, match="line 1: is not valid JSON"):
        read_lines(path, json_document)
    path.write_text("{")  # the first record of all was torn
    with pytest.warns(SetAsideWarning, match="line 1 is torn"):
        assert () == read_lines(path, json_document)[0]


def test_newer_lines_are_refused_and_older_ones_say_what_renews_them(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"schema": "toy/2", "a": 1}\n{"schema": "toy/1", "a": 2}\n')
    with pytest.warns(SetAsideWarning, match="line 2 has the older schema 'toy/1' instead of 'toy/2'; make it again"):
        assert ((1, 1),) == read_lines(path, toy)[0]
    path.write_text('{"schema": "toy/2", "a": 1}\n{"schema": "toy/3", "a": 2}\n')
    with pytest.raises(StoreError, match="line 2: has schema 'toy/3', newer than 'toy/2'"):
        read_lines(path, toy)
