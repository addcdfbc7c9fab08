"""Families are found by walking the folder."""

from __future__ import annotations

import pytest

from perfmodel.errors import UnknownNameError
from perfmodel.models import families, find_family


@pytest.mark.parametrize("family", families().values(), ids=lambda family: family.name)
def test_a_family_is_found_by_its_name(family):
    assert family is find_family(family.name)
    assert family is find_family(family)


def test_an_unknown_family_is_answered_with_those_that_exist():
    with pytest.raises(UnknownNameError) as caught:
        find_family("roofine")
    assert all(name in str(caught.value) for name in ("roofine", *families()))
