from __future__ import annotations

import os

import pytest

from perfmodel.measuring import pin_threads


@pytest.mark.parametrize(
    ("cores", "before", "after"),
    [({0, 1}, None, "1"), ({0, 1, 2}, None, "1"), ({1}, None, None), ({0, 1}, "0", "0")],
)
def test_threads_are_pinned_where_all_cores_are_ours_and_nobody_decided(monkeypatch, cores, before, after):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: cores, raising=False)
    monkeypatch.setattr(os, "environ", {} if before is None else {"POCL_AFFINITY": before})
    pin_threads()
    assert after == os.environ.get("POCL_AFFINITY")
