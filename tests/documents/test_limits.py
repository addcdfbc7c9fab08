"""Values in messages: short ones as they are, the middle of long ones left out."""

from __future__ import annotations

import pytest

from perfmodel.documents import shortened


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
