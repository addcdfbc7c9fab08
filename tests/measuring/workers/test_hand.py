"""The worker's side: orders are carried out alone on the device, and what was compiled is kept."""

from __future__ import annotations

import pickle
import platform
from dataclasses import replace

import pytest

from perfmodel.errors import DeviceBusyError, UnknownDeviceError
from perfmodel.kernels.by_value import pickled_by_value
from perfmodel.measuring import Silent, lock
from perfmodel.measuring.bench import Bench
from perfmodel.measuring.lock import lock_path, locked
from perfmodel.measuring.subject import FailedError, Subject
from perfmodel.measuring.workers import hand
from perfmodel.measuring.workers.hand import carry_out, own_device, station
from perfmodel.measuring.workers.order import OWN_DEVICE, Answer, Order
from tests.campaigns import SCALE, TINY
from tests.machine import device

pytestmark = pytest.mark.device
CODE = Subject(SCALE, {"factor": 2})


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    """Locks and places of its own: another campaign on this machine is not waited for."""
    monkeypatch.setattr(lock, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(hand, "_places", {})
    own_device.cache_clear()
    yield
    own_device.cache_clear()


def order(method: str, **changes) -> Order:
    blank = Order(device().slug, TINY, "token", method)
    kernel = {"kernel": pickled_by_value(SCALE), "variant": {"factor": 2}, "code": CODE.generated.hash}
    return replace(blank, **{**(kernel if method in ("check", "trial", "timed") else {}), **changes})


def travelled(one):
    return pickle.loads(pickle.dumps(one))


def test_orders_and_answers_travel():
    asked = order("timed", parameters={"n": 256})
    assert asked == travelled(asked)
    began_at, samples = travelled(carry_out(travelled(asked))).taken()
    assert 6 == len(samples.host_s)
    assert began_at.startswith("20")


def test_what_a_bench_does_is_done():
    assert carry_out(order("launch_overhead")).taken() > 0
    assert carry_out(order("trial", parameters={"n": 256})).taken() > 0
    assert carry_out(order("check")).taken() is None
    assert "loopy" in carry_out(order("versions")).taken()


def test_code_is_generated_once_for_a_campaign(monkeypatch):
    made = []
    monkeypatch.setattr(hand, "Bench", lambda *arguments: made.append(1) or Bench(*arguments))
    for token in ("a", "a", "b", "b"):
        assert carry_out(order("check", token=token)).taken() is None
    assert 2 == len(made)


def test_a_failure_is_an_answer():
    wrong = replace(SCALE, reference=lambda arguments, factor: {"out": 0})
    answer = travelled(carry_out(order("check", kernel=pickled_by_value(wrong))))
    assert isinstance(answer.error, FailedError)
    assert "correctness" == answer.error.status
    with pytest.raises(FailedError):
        answer.taken()


def test_other_code_than_the_callers_is_refused():
    answer = carry_out(order("check", code="another"))
    assert "the worker generates other code than the caller" in answer.error.message


def test_a_device_that_another_campaign_holds_is_not_waited_for():
    with locked(device().facts, Silent()):
        answer = travelled(carry_out(order("launch_overhead")))
    assert isinstance(answer.error, DeviceBusyError)


def test_a_station_tells_device_machine_and_lock():
    found = travelled(station(device().slug)).taken()
    assert (device().index, device().facts.hash) == (found.index, found.facts.hash)
    assert (platform.node(), str(lock_path(device().facts))) == (found.machine, found.lock)


def test_of_equal_devices_the_environment_names_the_own_one(monkeypatch):
    twins = [replace(device(), index=index) for index in range(3)]
    monkeypatch.setattr(hand, "devices", lambda: tuple(twins))
    assert 0 == own_device(device().slug).index
    own_device.cache_clear()
    monkeypatch.setenv(OWN_DEVICE, "2")
    assert 2 == own_device(device().slug).index


def test_a_device_that_is_not_here_is_an_answer():
    assert isinstance(station("none").error, UnknownDeviceError)
    assert isinstance(carry_out(order("check", slug="none")).error, UnknownDeviceError)


def test_an_answer_is_its_value():
    assert 7 == Answer(7).taken()
