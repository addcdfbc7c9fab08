"""JSON and YAML have one meaning and stay within limits, and JSON that is written holds finite numbers only."""

from __future__ import annotations

import json
import math

import pytest

from perfmodel.documents import LIMITS, json_document, json_text, shortened, yaml_document
from perfmodel.errors import DocumentError, NotFiniteError


@pytest.mark.parametrize(("value", "shown"), [("a", "'a'"), (None, "None"), ({"a": [1]}, "{'a': [1]}")])
def test_short_values(value, shown):
    assert shown == shortened(value)


@pytest.mark.parametrize("value", ["x" * 10**6, 10**400, [[0] * 1000], "é" * 500])
def test_long_values(value):
    text = shortened(value)
    assert (80, True) == (len(text), "..." in text)


def test_what_python_does_not_write():
    assert "int that is too long to show" == shortened(10**5000)
    nested: list[object] = []
    for _ in range(100_000):
        nested = [nested]
    assert "list that is too long to show" == shortened(nested)


def test_without_quotes():
    assert "a b" == shortened("a b", quoted=False)


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


DOCUMENT = {"a": [1, 2.5, None, True, {"b": (1e-300, "NaN")}], "c": {}}


@pytest.mark.parametrize("options", [{}, {"indent": 2}, {"separators": (",", ":")}])
def test_a_finite_document_is_what_python_writes(options):
    text = json_text(DOCUMENT, **options)
    assert json.dumps(DOCUMENT, **options) == text
    assert json.loads(text) == json_document(text.encode())


@pytest.mark.parametrize(
    ("place", "document"),
    [
        ("points[1].seconds", lambda bad: {"points": [{"seconds": 1.0}, {"seconds": bad}], "last": bad}),
        ("intervals[0][1]", lambda bad: {"intervals": [(0.0, bad)]}),
        ("[0]", lambda bad: [bad]),
        ("the document", lambda bad: bad),
    ],
)
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_the_first_number_that_is_not_finite_is_named(place, document, bad):
    with pytest.raises(NotFiniteError) as error:
        json_text(document(bad))
    assert (place, str(bad)) == (error.value.place, error.value.found)


def test_what_is_no_json_at_all_is_the_callers_mistake():
    circle: list[object] = []
    circle.append(circle)
    with pytest.raises((ValueError, RecursionError)):
        json_text(circle)


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
def test_yaml_without_a_meaning_or_too_much(text, said):
    with pytest.raises(DocumentError, match=said) as caught:
        yaml_document(text.encode())
    assert len(str(caught.value)) < 400


def test_bytes_that_are_no_text():
    with pytest.raises(DocumentError, match="not UTF-8"):
        yaml_document(b"a: \xff")
