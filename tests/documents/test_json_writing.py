"""JSON that perfmodel writes: what is finite as Python writes it, anything else an error that says where it is."""

from __future__ import annotations

import json
import math

import pytest

from perfmodel.documents import json_document, json_text
from perfmodel.errors import NotFiniteError

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
