"""The load of other processes, from readings that are given: nothing here depends on what the machine does."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from perfmodel import store
from perfmodel.measuring import load
from perfmodel.measuring.load import LoadWatch, MachineTimes, others, reading
from perfmodel.store.measurement import Visit
from tests.campaigns import SCALE, measured

STAT = "cpu  1000 20 300 9000 40 5 6 70 800 9\ncpu0 1 2 3\n"


def test_the_system_s_counters(monkeypatch):
    """1000 + 20 + 300 + 5 + 6 + 70 hundredths of a second; idle cores and waits do not count, guests are users."""
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: STAT)
    monkeypatch.setattr(os, "sysconf", lambda name: 100)
    assert 14.01 == reading().busy_s
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: "something else")
    assert reading() is None

    def missing(*_, **__):
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", missing)
    assert reading() is None


BOTH_CORES, HALF, ROUNDED, NONE = (4.0, 4.0, 0.0), (4.0, 2.0, 1.0), (3.9, 4.0, 0.0), (2.0, 0.0, 1.0)


@pytest.mark.parametrize(("busy_s", "own_s", "cores"), [BOTH_CORES, HALF, ROUNDED, NONE])
def test_what_others_use(busy_s, own_s, cores):
    assert cores == others(MachineTimes(10.0, 7.0, 1.0), MachineTimes(12.0, 7.0 + busy_s, 1.0 + own_s))


def watch(*readings, tell=None):
    left = iter(readings)
    return LoadWatch(tell, lambda: next(left))


def test_it_looks_over_a_time_that_is_long_enough_and_tells_once():
    told = []
    seen = watch(
        MachineTimes(0, 0, 0), MachineTimes(0.1, 0.2, 0), MachineTimes(1, 1, 1), MachineTimes(2, 3, 1.5),
        MachineTimes(2.1, 9, 1.5),
        MachineTimes(3, 5, 1.5), MachineTimes(4, 5.2, 1.5), tell=told.append,
    )  # fmt: skip
    # after a tenth of a second nothing is known; then 0, 1.5, as before, 2 and 0.2 cores
    assert [(None, False), (0.0, False), (1.5, True), (1.5, True), (2.0, True), (0.2, False)] == [
        (seen.look(), seen.busy) for _ in range(6)
    ]
    (text,) = told
    assert text.startswith("others use 1.5 of the machine's ")
    assert "quiet machine" in text


def test_where_the_system_tells_nothing_nothing_is_said():
    silent = watch(None, None, tell=pytest.fail)
    assert (None, False) == (silent.look(), silent.busy)


@pytest.mark.device
def test_rows_measured_under_load_are_marked_and_the_user_is_told(tmp_path, monkeypatch):
    """Others use one core all the time; the clock is made up."""
    seconds = iter(range(10**6))

    def loaded() -> MachineTimes:
        now = float(next(seconds))
        return MachineTimes(now, now, 0.0)

    monkeypatch.setattr(load, "reading", loaded)
    told = []

    class Listener:
        def tell(self, message):
            told.append(message)

        def __getattr__(self, name):
            return lambda *_, **__: None

    rows = measured(tmp_path, SCALE, progress=Listener()).rows
    assert rows
    assert all("load" in row.flags for row in rows)
    assert {1.0} == {visit.load for row in rows for visit in row.visits}
    assert 1 == sum("others use 1.0 of" in message for message in told)
    again = store.read(tmp_path).rows
    assert [row.visits for row in rows] == [row.visits for row in again]


def test_old_visits_have_no_load_and_new_ones_write_none_where_it_is_not_known():
    assert Visit(runs=3, dropped=1).load is None
    assert {"began_at", "runs", "dropped"} == set(json.loads(Visit(runs=3, dropped=1).model_dump_json()))
    assert 0.5 == Visit.model_validate_json(Visit(runs=3, dropped=1, load=0.5).model_dump_json()).load
