"""Waiting for a quiet machine, with readings and a clock that are given."""

from __future__ import annotations

import pytest

from perfmodel.errors import OptionError
from perfmodel.measuring import load
from perfmodel.measuring.load import MachineTimes, wait_until_quiet


@pytest.fixture
def machine(monkeypatch):
    """A machine on which others use so many cores in each second from 0 on; the last number holds from then on."""
    monkeypatch.delenv(load.VARIABLE)

    def of(*cores: float) -> list[float]:
        clock = [0.0]

        def busy_s(now: float) -> float:
            whole = int(now)
            used = [cores[min(second, len(cores) - 1)] for second in range(whole + 1)]
            return sum(used[:-1]) + (now - whole) * used[-1]

        monkeypatch.setattr(load, "reading", lambda: MachineTimes(clock[0], busy_s(clock[0]), 0.0))
        monkeypatch.setattr(load, "monotonic", lambda: clock[0])
        monkeypatch.setattr(load, "sleep", lambda seconds: clock.__setitem__(0, clock[0] + seconds))
        return clock

    return of


def test_a_quiet_machine_is_known_at_once(machine):
    clock = machine(0.1)
    assert wait_until_quiet(pytest.fail)
    assert load.WINDOW_S == clock[0]


def test_what_ends_within_a_second_is_no_load(machine):
    clock = machine(0.5, 0.0)
    clock[0] = 0.8
    assert wait_until_quiet(pytest.fail)


def test_it_waits_until_others_end(machine):
    clock, told = machine(1.5, 1.5, 1.5, 1.5, 0.0), []
    assert wait_until_quiet(told.append)
    assert 5.0 <= clock[0] <= 6.3
    assert told[0].startswith("others use 1.5 of the machine's ")
    assert "waiting up to 30 s until they end (PERFMODEL_WAIT_S=0 does not wait)" in told[0]
    assert ["the machine is quiet now"] == told[1:]


def test_it_goes_on_in_the_end(machine, monkeypatch):
    clock, told = machine(2.0), []
    monkeypatch.setenv(load.VARIABLE, "5")
    assert not wait_until_quiet(told.append)
    assert 5.0 <= clock[0] <= 7.3
    assert "the machine is not quiet after 5 s: measuring all the same" == told[-1]


def test_nobody_has_to_wait(machine, monkeypatch):
    clock = machine(2.0)
    monkeypatch.setenv(load.VARIABLE, "0")
    assert wait_until_quiet(pytest.fail)
    assert 0 == clock[0]


def test_where_the_system_tells_nothing_nobody_waits(machine, monkeypatch):
    machine(2.0)
    monkeypatch.setattr(load, "reading", lambda: None)
    assert wait_until_quiet(pytest.fail)


@pytest.mark.parametrize("given", ["-1", "soon", "inf", "nan"])
def test_the_variable_holds_seconds(machine, monkeypatch, given):
    monkeypatch.setenv(load.VARIABLE, given)
    with pytest.raises(OptionError, match=f"PERFMODEL_WAIT_S is '{given}'"):
        wait_until_quiet(pytest.fail)
