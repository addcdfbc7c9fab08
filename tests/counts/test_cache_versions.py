"""Where a library of a version that is not the pinned one fails, the error says so and how to install the right one."""

from __future__ import annotations

from importlib import metadata
from typing import Any

import loopy as lp
import pytest

from perfmodel.counts import count, counting
from perfmodel.counts.cache import failure_in_library, pinned
from perfmodel.errors import LibraryVersionError


def fails(*_: Any) -> None:
    raise AttributeError("'Aff' object has no attribute 'is_equal'")


def kernel() -> lp.TranslationUnit:
    return lp.make_kernel("{[i]: 0 <= i < 8}", "out[i] = 2.0", lang_version=(2018, 2))


def test_a_newer_islpy_is_named_with_the_command_that_replaces_it(monkeypatch: pytest.MonkeyPatch) -> None:
    versions = {"islpy": "2026.2.2"}
    original = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: versions.get(name) or original(name))
    monkeypatch.setattr(counting.schedule, "schedule", fails)
    with pytest.raises(LibraryVersionError) as raised:
        count(kernel(), cache=False)
    text = str(raised.value)
    assert "\n" not in text
    assert "no attribute 'is_equal'" in text
    assert "with islpy 2026.2.2; perfmodel needs islpy==" in text
    assert " -m pip install islpy==" in text


def test_with_the_pinned_versions_an_error_stays_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {"islpy", "loopy", "pymbolic"} <= {one.name for one in pinned()}
    assert failure_in_library(AttributeError("x")) is None
    monkeypatch.setattr(counting.schedule, "schedule", fails)
    with pytest.raises(AttributeError, match="is_equal"):
        count(kernel(), cache=False)


def test_without_an_installed_perfmodel_nothing_is_pinned(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> list[str]:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", missing)
    assert [] == pinned()
