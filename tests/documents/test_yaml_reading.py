"""YAML has one meaning and stays within limits."""

from __future__ import annotations

import pytest

from perfmodel.documents import LIMITS, yaml_document
from perfmodel.errors import DocumentError

BOMB = "a0: &a0 [x, x]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 30))


def test_a_plain_table_is_read():
    assert {"facts": {"a": {"value": 2.5e9, "unit": "Hz", "more": [1, True, None]}}} == yaml_document(
        b"facts:\n  a: {value: 2.5e+9, unit: Hz, more: [1, true, null]}\n"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [", "is no YAML"),
        ("a: 1\n---\nb: 2", "is no YAML"),
        (BOMB, "anchor or alias in line 1"),
        ("a: &x 1", "anchor or alias in line 1"),
        ("a: 1\nb: *x", "anchor or alias in line 2"),
        ("a: !!python/object/apply:os.system [ls]", "uses the tag 'tag:yaml.org,2002:python/object/apply:os.system'"),
        ("a: 1\na: 1", "has the key 'a' twice, again in line 2"),
        ("1: 2", "a key that is no word in line 1"),
        ("<<: {a: 1}", "a key that is no word in line 1"),
        ("? [a]\n: 1", "a key that is no word"),
        ("a: 1:30", "holds 1:30 in line 1, which is no number"),
        ("a: " + "9" * 400, "an integer of 400 digits; 100 are read at most"),
        ("a: " + "9" * 5000, "an integer of 5000 digits"),
        ("[" * 5000, "nests lists and mappings more than 64 levels deep"),
        ("{a: " * 5000, "nests lists and mappings more than 64 levels deep"),
        ("a: " + LIMITS.yaml_bytes * "x", "more than 65536 bytes"),
    ],
)
def test_what_has_no_meaning_or_is_too_much(text, said):
    with pytest.raises(DocumentError, match=said) as caught:
        yaml_document(text.encode())
    assert len(str(caught.value)) < 400


def test_bytes_that_are_no_text():
    with pytest.raises(DocumentError, match="not UTF-8"):
        yaml_document(b"a: \xff")
