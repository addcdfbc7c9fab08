"""The lock of a worker's device is one campaign's until it leaves or is silent."""

from __future__ import annotations

from time import monotonic, sleep

import pytest

from perfmodel.errors import DeviceBusyError
from perfmodel.facts import DeviceFacts
from perfmodel.measuring import Silent, lock
from perfmodel.measuring.lock import locked
from perfmodel.measuring.remote import hold as module
from perfmodel.measuring.remote.hold import Hold

FACTS = DeviceFacts("H200", "NVIDIA CUDA", "570", ())


@pytest.fixture(autouse=True)
def own_locks(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "gettempdir", lambda: str(tmp_path))


def free() -> bool:
    """Whether a campaign without workers could begin."""
    try:
        with locked(FACTS, Silent()):
            return True
    except DeviceBusyError:
        return False


def test_it_is_kept_between_orders_until_the_campaign_leaves():
    hold = Hold(FACTS)
    for _ in range(2):
        with hold.kept("a"):
            assert not free()
        assert not free()
    with pytest.raises(DeviceBusyError, match="process "), hold.kept("b"):
        pass
    hold.leave("b")
    assert not free()
    hold.leave("a")
    assert free()
    with hold.kept("b"):
        assert not free()
    hold.leave("b")


def test_a_campaign_that_is_silent_has_left(monkeypatch):
    monkeypatch.setattr(module, "KEPT_S", 0.2)
    hold = Hold(FACTS)
    with hold.kept("a"):
        sleep(0.3)  # an order may take longer
        assert not free()
    with pytest.raises(DeviceBusyError), hold.kept("b"):
        pass
    until = monotonic() + 10
    while not free() and monotonic() < until:
        sleep(0.02)
    assert free()


def test_the_next_takes_over_where_the_thread_is_late(monkeypatch):
    monkeypatch.setattr(module, "KEPT_S", 0.0)
    monkeypatch.setattr(Hold, "_watch", lambda self: None)
    hold = Hold(FACTS)
    with hold.kept("a"):
        pass
    with hold.kept("b"):
        assert not free()


def test_a_block_that_fails_keeps_it_too():
    hold = Hold(FACTS)
    with pytest.raises(ZeroDivisionError), hold.kept("a"):
        raise ZeroDivisionError
    assert not free()
    hold.leave("a")
