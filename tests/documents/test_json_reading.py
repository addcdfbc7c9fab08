"""JSON has one meaning and stays within limits, whatever a file holds."""

from __future__ import annotations

import pytest

from perfmodel.documents import LIMITS, json_document
from perfmodel.errors import DocumentError


def test_what_json_knows_is_read_as_it_is():
    text = '{"a": [1, -2.5, true, null, "é"], "b": {}}'
    assert {"a": [1, -2.5, True, None, "é"], "b": {}} == json_document(text.encode())
    assert 10**99 == json_document(b"1" + 99 * b"0")


def test_the_deepest_document_that_is_read():
    assert isinstance(json_document(LIMITS.depth * b"[" + LIMITS.depth * b"]"), list)
    with pytest.raises(DocumentError, match="more than 64 levels"):
        json_document((LIMITS.depth + 1) * b"[" + (LIMITS.depth + 1) * b"]")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is no JSON"),
        (b"{", "is no JSON"),
        (b"\xff\xfe", "not UTF-8"),
        (rb'"\ud800"', "not UTF-8"),
        (b"NaN", "holds NaN, which is no number of JSON"),
        (b"[-Infinity]", "holds -Infinity"),
        (b"1e999", "holds 1e999, which is beyond every double"),
        (b"-1e999", "holds -1e999"),
        (b"9" * 400, "an integer of 400 digits; 100 are read at most"),
        (b"9" * 5000, "an integer of 5000 digits"),
        (b'{"a": 1, "b": 2, "a": 1}', "has the key 'a' twice"),
        (b'[{"b": {"a": 1, "a": 2}}]', "has the key 'a' twice"),
        (b"[" * 5000 + b"]" * 5000, "64 levels"),
        (b'{"a":' * 5000 + b"1" + b"}" * 5000, "64 levels"),
        (b"[" * 100_000, "64 levels"),
    ],
)
def test_what_has_no_meaning_or_is_too_much(content, said):
    with pytest.raises(DocumentError, match=said) as caught:
        json_document(content)
    assert len(str(caught.value)) < 300
