"""What every test finds."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial

import pytest

from perfmodel.store import files

#: Lines of stores that are kept: more than all committed ones.
LINES = 2**14


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
        patch.setattr(files, "Measurements", partial(files.Measurements, _read={}))
        yield
