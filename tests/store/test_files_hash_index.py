"""The index of hashes: it reads only what is new, and starts again where the file is another one."""

from __future__ import annotations

from io import FileIO

import pytest

from perfmodel import store
from perfmodel.store import files
from perfmodel.store.files import HashIndex, read_index
from tests.store.test_files import Numbered, counts_line, digest


def line(name: str) -> bytes:
    return counts_line({"name": name}).encode()


def hashes(*names: str) -> set[str]:
    return {digest({"name": name}) for name in names}


@pytest.fixture
def file(tmp_path):
    with FileIO(tmp_path / "counts.jsonl", "ab+") as opened:
        yield opened


def test_an_empty_file_has_no_hashes(file):
    assert (set(), 0) == (read_index(file).hashes, read_index(file).read_to)


def test_whole_lines_are_read_once_and_a_torn_one_is_not(file):
    file.write(line("a") + line("b") + line("c")[:30])
    index = read_index(file)
    assert hashes("a", "b") == index.hashes
    assert len(line("a")) * 2 == index.read_to
    file.write(line("c")[30:])
    assert index is read_index(file)
    assert hashes("a", "b", "c") == index.hashes


def test_what_this_process_adds_is_not_read_again(file):
    index = read_index(file)
    file.write(line("a"))
    index.add("a", file)
    assert len(line("a")) == index.read_to
    assert index is read_index(file)


def test_lines_that_are_no_counts_are_passed_over(file):
    file.write(b'not JSON\n{"counts": {}}\n7\n' + line("a"))
    assert hashes("a") == read_index(file).hashes


def test_a_file_that_was_cut_or_written_anew_is_read_from_its_start(file):
    file.write(line("a") + line("b"))
    first = read_index(file)
    file.truncate(0)
    file.write(line("c"))
    assert hashes("c") == read_index(file).hashes
    file.truncate(0)
    file.write(line("d") + line("e"))  # longer than what was read, but with another start
    assert hashes("d", "e") == read_index(file).hashes
    assert hashes("a", "b") == first.hashes


def test_an_index_covers_the_file_that_it_was_made_from(file):
    file.write(line("a"))
    index = HashIndex()
    assert index.covers(file)
    index.advance(file, len(line("a")))
    assert index.covers(file)
    file.truncate(3)
    assert not index.covers(file)


def test_known_counts_are_not_read_again(tmp_path, monkeypatch):
    for number in range(50):
        store.append_counts(tmp_path, Numbered(number))
    parsed = []
    monkeypatch.setattr(files, "read_counts", parsed.append)
    store.append_counts(tmp_path, Numbered(7))
    store.append_counts(tmp_path, Numbered(50))
    assert [] == parsed
