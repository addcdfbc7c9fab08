"""Documents are read strictly and within limits; JSON that is written holds finite numbers only."""

import json
import math
from dataclasses import dataclass

import pytest

from perfmodel import documents
from perfmodel.errors import ArgumentError, DocumentError


@dataclass(frozen=True)
class Toy:
    name: str
    sizes: tuple[int, ...]
    seconds: float = 1.0


@pytest.mark.parametrize("value", ["x" * 10**6, 10**400, [[0] * 1000], "é" * 500])
def test_long_values(value):
    text = documents.shortened(value)
    assert (80, True) == (len(text), "..." in text)
    assert "int that is too long to show" == documents.shortened(10**5000)


@pytest.mark.parametrize(("value", "shown"), [(-1, "-1 (int)"), (None, "None"), ([1], "of the type list")])
def test_a_refused_argument(value, shown):
    with pytest.raises(ArgumentError) as caught:
        documents.require(False, "f: n", value, "a positive integer")
    assert f"f: n is {shown}; give a positive integer." == str(caught.value)


def test_json():
    text = '{"a": [1, -2.5, true, null, "é"], "b": {}}'
    assert {"a": [1, -2.5, True, None, "é"], "b": {}} == documents.json_document(text.encode())
    assert 10**99 == documents.json_document(b"1" + 99 * b"0")
    assert isinstance(documents.json_document(documents.MOST_LEVELS * b"[" + documents.MOST_LEVELS * b"]"), list)


@pytest.mark.parametrize(("content", "problem"), [
    (b"", "not valid JSON"), (b"{", "not valid JSON"), (b"\xff\xfe", "not in UTF-8"), (rb'"\ud800"', "not in UTF-8"),
    (b"NaN", "has NaN, which is not a finite number"), (b"[-Infinity]", "has -Infinity"), (b"-1e999", "has -1e999"),
    (b"9" * 5000, "an integer of 5000 digits; at most 100"),
    (b'[{"b": {"a": 1, "c": 0, "a": 2}}]', "has the key 'a' twice"),
    ((documents.MOST_LEVELS + 1) * b"[" + (documents.MOST_LEVELS + 1) * b"]", "more than 64 levels"),
    (b'{"a":' * 5000 + b"1" + b"}" * 5000, "64 levels"), (b"[" * 100_000, "64 levels"),
])  # fmt: skip
def test_refused_json(content, problem):
    with pytest.raises(DocumentError, match=problem) as caught:
        documents.json_document(content)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("options", [{}, {"indent": 2}, {"separators": (",", ":")}])
def test_a_finite_document_is_written_as_python_does(options):
    document = {"a": [1, 2.5, None, True, {"b": (1e-300, "NaN")}], "c": {}}
    text = documents.json_text(document, **options)
    assert json.dumps(document, **options) == text
    assert json.loads(text) == documents.json_document(text.encode())


@pytest.mark.parametrize(("position", "document"), [
    ("points[1].seconds", lambda bad: {"points": [{"seconds": 1.0}, {"seconds": bad}], "last": bad}),
    ("intervals[0][1]", lambda bad: {"intervals": [(0.0, bad)]}), ("the document", lambda bad: bad),
])  # fmt: skip
@pytest.mark.parametrize("bad", [math.nan, -math.inf])
def test_the_first_number_that_is_not_finite_is_named(position, document, bad):
    with pytest.raises(DocumentError) as caught:
        documents.json_text(document(bad))
    assert f"would hold {bad} as '{position}'" in caught.value.problem


BOMB = "a0: &a0 [x, x]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 30))


def test_yaml():
    assert {"facts": {"a": {"value": 2.5e9, "unit": "Hz", "more": [1, True, None]}}} == documents.yaml_document(
        b"facts:\n  a: {value: 2.5e+9, unit: Hz, more: [1, true, null]}\n"
    )


@pytest.mark.parametrize(("text", "problem"), [
    ("a: [", "not valid YAML"), ("a: 1\n---\nb: 2", "not valid YAML"), (BOMB, "anchor or alias in line 1"),
    ("a: 1\nb: *x", "anchor or alias in line 2"),
    ("a: !!python/object/apply:os.system [ls]", "uses the tag 'tag:yaml.org,2002:python/object/apply:os.system'"),
    ("a: 1\na: 1", "has the key 'a' twice, again in line 2"), ("1: 2", "key in line 1 that is not a string"),
    ("? [a]\n: 1", "not a string"), ("a: " + "9" * 5000, "not valid YAML: Exceeds the limit"),
    ("[" * 5000, "more than 64 levels"), ("a: " + documents.MOST_YAML_BYTES * "x", "more than 65536 bytes"),
])  # fmt: skip
def test_refused_yaml(text, problem):
    with pytest.raises(DocumentError, match=problem) as caught:
        documents.yaml_document(text.encode())
    assert len(str(caught.value)) < 400


def test_a_frozen_dataclass_is_made():
    assert Toy("a", (1, 2), 3.0) == documents.value_of(Toy, b'{"name": "a", "sizes": [1, 2], "seconds": 3}')
    assert Toy("a", ()) == documents.value_of(Toy, b'{"name": "a", "sizes": []}')


@pytest.mark.parametrize(("content", "problem"), [
    (b'{"name": "a"}', "field 'sizes': Field required"),
    (b'{"name": 1, "sizes": []}', "field 'name': Input should be a valid string (found 1)"),
    (b'{"name": "a", "sizes": ["1"]}', "field 'sizes.0': Input should be a valid integer (found '1')"),
    (b'{"name": "a", "sizes": [true]}', "field 'sizes.0'"),
    (b'{"name": "a", "sizes": [], "seconds": "1e-9"}', "field 'seconds'"), (b"[]", "the document"),
])  # fmt: skip
def test_a_missing_field_or_a_field_of_another_type(content, problem):
    with pytest.raises(DocumentError) as caught:
        documents.value_of(Toy, content)
    assert problem in caught.value.problem


TOY = documents.Schema("toy.thing/2", "run toy make")


@pytest.mark.parametrize(("document", "problem", "newer"), [
    ({"schema": "toy.thing/1"}, "older schema 'toy.thing/1' instead of 'toy.thing/2'; run toy make", False),
    ({"schema": "toy.thing/10"}, "newer than 'toy.thing/2'; update perfmodel", True),
    ({"schema": "toy.other/2"}, "has schema 'toy.other/2'; 'toy.thing/2' is expected", False),
    ({"schema": 2}, "has no schema; 'toy.thing/2' is expected", False), ([], "has no schema", False),
])  # fmt: skip
def test_schemas(document, problem, newer):
    TOY.check({"schema": "toy.thing/2", "more": 1})
    with pytest.raises(DocumentError) as caught:
        TOY.check(document)
    assert problem in caught.value.problem
    assert newer == caught.value.newer


def test_files(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"12345")
    assert b"12345" == documents.read_file(path, 5)
    with pytest.raises(DocumentError, match="more than 4 bytes"):
        documents.read_file(path, 4)
    for wrong in (tmp_path, tmp_path / "none", "a\0b"):
        with pytest.raises(DocumentError, match="cannot be read"):
            documents.read_file(wrong)
