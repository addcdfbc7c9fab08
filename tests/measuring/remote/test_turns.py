"""Devices that share a lock are measured in turn."""

from __future__ import annotations

from perfmodel.measuring.remote.turns import turns
from tests.measuring.remote.fakes import FakeClient, Worker


def test_drivers_of_one_processor_have_turns_and_all_else_is_at_once():
    client = FakeClient(
        a=Worker(("pocl",), lock="cpu"), b=Worker(("intel",), lock="cpu"), c=Worker(("h200",), lock="h200"),
        d=Worker(("pocl-2",), machine="other", lock="cpu"), e=Worker(("h200",), machine="other", lock="h200"),
    )  # fmt: skip
    assert {("intel", "pocl"), ("h200",), ("pocl-2",)} == set(turns(client))
