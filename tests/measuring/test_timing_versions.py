"""Versions in records."""

from __future__ import annotations

from perfmodel.measuring.timing import LIBRARIES, versions


def test_versions_are_of_python_and_the_libraries():
    assert {"python", *LIBRARIES} <= set(versions())
    assert all(versions().values())
