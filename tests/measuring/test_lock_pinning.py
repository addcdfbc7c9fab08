from __future__ import annotations

import os

import pytest

from perfmodel.measuring import pin_threads
from perfmodel.measuring.timing import versions

EVERY = {"POCL_AFFINITY": "1", "DPCPP_CPU_CU_AFFINITY": "close", "DPCPP_CPU_PLACES": "threads"}


@pytest.mark.parametrize(
    ("cores", "before", "after"),
    [
        ({0, 1}, {}, EVERY),
        ({0, 1, 2}, {}, EVERY),
        ({1}, {}, {}),
        ({0, 1}, {"POCL_AFFINITY": "0"}, {**EVERY, "POCL_AFFINITY": "0"}),
        ({0, 1}, {"DPCPP_CPU_PLACES": "cores"}, {**EVERY, "DPCPP_CPU_PLACES": "cores"}),
    ],
)
def test_threads_are_pinned_where_all_cores_are_ours_and_nobody_decided(monkeypatch, cores, before, after):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: cores, raising=False)
    monkeypatch.setattr(os, "environ", dict(before))
    pin_threads()
    assert after == os.environ


def test_records_name_the_settings(monkeypatch):
    monkeypatch.setattr(os, "environ", {**EVERY, "OTHER": "1"})
    found = versions.__wrapped__()
    assert EVERY.items() <= found.items()
    assert "OTHER" not in found
