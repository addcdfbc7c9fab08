"""Values from documents: each field is there and of its type; files up to a size; another schema is refused."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from perfmodel.documents import Schema, read_file, value_of
from perfmodel.errors import DocumentError, NewerDocumentError


@dataclass(frozen=True)
class Toy:
    name: str
    sizes: tuple[int, ...]
    seconds: float = 1.0


def test_a_frozen_dataclass_is_made():
    assert Toy("a", (1, 2), 3.0) == value_of(Toy, b'{"name": "a", "sizes": [1, 2], "seconds": 3}')
    assert Toy("a", ()) == value_of(Toy, b'{"name": "a", "sizes": []}')


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"name": "a"}', "field 'sizes': Field required"),
        (b'{"name": 1, "sizes": []}', "field 'name': Input should be a valid string (found 1)"),
        (b'{"name": "a", "sizes": ["1"]}', "field 'sizes.0': Input should be a valid integer (found '1')"),
        (b'{"name": "a", "sizes": [true]}', "field 'sizes.0'"),
        (b'{"name": "a", "sizes": [1.0]}', "field 'sizes.0'"),
        (b'{"name": "a", "sizes": [], "seconds": "1e-9"}', "field 'seconds'"),
        (b"[]", "the document"),
    ],
)
def test_what_is_missing_or_of_another_type(content, said):
    with pytest.raises(DocumentError) as caught:
        value_of(Toy, content)
    assert said in caught.value.problem


def test_the_schema_is_looked_at_first():
    with pytest.raises(DocumentError, match="has no schema"):
        value_of(Toy, b"{}", Schema("toy/1", "make it again"))


def test_files(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"12345")
    assert b"12345" == read_file(path, 5)
    with pytest.raises(DocumentError, match="more than 4 bytes, the most that is read"):
        read_file(path, 4)
    for wrong in (tmp_path, tmp_path / "none", "a\0b"):
        with pytest.raises(DocumentError, match="cannot be read"):
            read_file(wrong)


TOY = Schema("toy.thing/2", "make it again: toy make")


def test_the_schema_itself_is_taken():
    TOY.check({"schema": "toy.thing/2", "more": 1})


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"schema": "toy.thing/1"}, "older schema 'toy.thing/1', and this is 'toy.thing/2': make it again: toy make"),
        ({"schema": "toy.other/2"}, "has schema 'toy.other/2'; 'toy.thing/2' is expected"),
        ({"schema": 2}, "has no schema; 'toy.thing/2' is expected"),
        ({}, "has no schema"),
        ([], "has no schema"),
    ],
)
def test_another_schema_is_refused(document, said):
    with pytest.raises(DocumentError) as caught:
        TOY.check(document)
    assert said in caught.value.problem
    assert not isinstance(caught.value, NewerDocumentError)


def test_a_newer_one_has_an_error_of_its_own():
    with pytest.raises(NewerDocumentError, match=r"newer than 'toy\.thing/2': update perfmodel") as caught:
        TOY.check({"schema": "toy.thing/10"})
    assert ("toy.thing/10", "toy.thing/2") == (caught.value.found, caught.value.known)
