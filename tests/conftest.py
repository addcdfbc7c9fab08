"""What every test finds."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch):
    """No width of a terminal: pytest sets one for its worker processes, and output would be cut to it."""
    monkeypatch.delenv("COLUMNS", raising=False)
