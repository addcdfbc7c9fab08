"""A document of another schema is refused with what to do: update perfmodel, or renew the document."""

from __future__ import annotations

import pytest

from perfmodel.documents import Schema
from perfmodel.errors import DocumentError, NewerDocumentError

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
