"""JSON Lines: what is whole is used, what is damaged is left out and told once, newer lines are refused."""

from __future__ import annotations

import pytest

from perfmodel.documents import Schema, json_document
from perfmodel.errors import SetAsideWarning, StoreError
from perfmodel.store import read_lines

TOY = Schema("toy/2", "make it again")


def toy(line):
    document = json_document(line)
    TOY.check(document)
    return document["a"]


def test_damaged_lines_are_one_sentence_that_names_the_first(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("1\n" + 5 * "{\n" + "7\n")
    with pytest.warns(SetAsideWarning) as told:
        found, (said,) = read_lines(path, json_document)
    assert ((1, 1), (7, 7)) == found
    assert [said] == [str(one.message) for one in told]
    assert all(word in said for word in ("5 lines", "line 2", "line 3", "line 4", "and 2 more", "measure it again"))
    assert "line 5" not in said


def test_a_file_without_any_line_that_can_be_read_is_an_error(tmp_path):
    path = tmp_path / "a.jsonl"
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
