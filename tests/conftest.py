"""What every test finds."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any

import pytest

from perfmodel.opencl import Device, Health, selection
from perfmodel.store import files

#: Lines of stores that are kept: more than all committed ones.
LINES = 2**14


class Shared(dict[str, Any]):
    """Counts by hash that all tests of a process share; a copy is empty."""

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, ()


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """No width of a terminal: pytest sets one for its worker processes, and output would be cut to it."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture(scope="session", autouse=True)
def lines_are_read_once() -> Iterator[None]:
    """A line of a store, and the counts in it, are read once for all tests of a process: many fit committed stores."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("read_row", "read_counts"):
            patch.setattr(files, name, lru_cache(LINES)(getattr(files, name)))
        patch.setattr(files, "Measurements", partial(files.Measurements, _read=Shared()))
        yield


@pytest.fixture(scope="session", autouse=True)
def a_device_is_checked_once() -> Iterator[None]:
    """A device that once built and ran a kernel is not checked again for each command that a test calls."""
    healthy: dict[tuple[int, str], Health] = {}
    check = selection.check

    def checked(device: Device) -> Health:
        key = device.index, device.name
        known = healthy.get(key) or check(device)
        if known.ok:
            healthy[key] = known
        return known

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selection, "check", checked)
        yield
