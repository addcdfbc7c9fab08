"""The worker's side: orders are carried out alone on the device, and what was compiled is kept."""

from __future__ import annotations

import pickle
import platform
import sys
from dataclasses import replace
from types import ModuleType

import loopy
import pytest

from perfmodel.errors import DeviceBusyError, KernelTravelError, UnknownDeviceError
from perfmodel.kernels.by_value import pickled_by_value
from perfmodel.measuring import Silent, lock
from perfmodel.measuring.bench import Bench
from perfmodel.measuring.lock import lock_path, locked
from perfmodel.measuring.remote import hand
from perfmodel.measuring.remote.hand import PLACES, carry_out, own_device, station
from perfmodel.measuring.remote.order import OWN_DEVICE, Answer, Order
from perfmodel.measuring.subject import FailedError, Subject
from tests.campaigns import SCALE, TINY
from tests.machine import device

pytestmark = pytest.mark.device
CODE = Subject(SCALE, {"factor": 2})
CODE.generated  # noqa: B018 -- it travels


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    """Locks and places of its own: another campaign on this machine is not waited for."""
    monkeypatch.setattr(lock, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(hand, "_places", {})
    monkeypatch.setattr(hand, "_holds", {})
    own_device.cache_clear()
    yield
    own_device.cache_clear()


def order(method: str, **changes) -> Order:
    blank = Order(device().slug, TINY, "token", method)
    subject = {"kernel": "scale", "subject": pickled_by_value(CODE)} if method in ("check", "trial", "timed") else {}
    return replace(blank, **{**subject, **changes})


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


def test_what_several_campaigns_compiled_is_kept(monkeypatch):
    made = []
    monkeypatch.setattr(hand, "Bench", lambda *arguments: made.append(1) or Bench(*arguments))
    for token in ("a", "b", "a", "b", "b"):
        assert carry_out(order("check", token=token)).taken() is None
        carry_out(order("leave", token=token))
    assert 2 == len(made)
    for token in "cdefa":
        carry_out(order("check", token=token))
        carry_out(order("leave", token=token))
    assert (7, PLACES) == (len(made), len(hand._places))


def test_times_of_two_campaigns_do_not_interleave():
    assert carry_out(order("launch_overhead", token="a")).taken() > 0
    other = travelled(carry_out(order("launch_overhead", token="b")))
    assert isinstance(other.error, DeviceBusyError)
    assert carry_out(order("launch_overhead", token="a")).taken() > 0
    assert carry_out(order("leave", token="b")).taken() is None  # it is not b's to give
    assert isinstance(carry_out(order("launch_overhead", token="b")).error, DeviceBusyError)
    carry_out(order("leave", token="a"))
    assert carry_out(order("launch_overhead", token="b")).taken() > 0


def test_a_failure_is_an_answer():
    wrong = replace(SCALE, reference=lambda arguments, factor: {"out": 0})
    answer = travelled(carry_out(order("check", subject=pickled_by_value(Subject(wrong, {"factor": 2})))))
    assert isinstance(answer.error, FailedError)
    assert "correctness" == answer.error.status
    with pytest.raises(FailedError):
        answer.taken()


def test_the_code_is_the_callers_and_nothing_is_generated_here(monkeypatch):
    """The class would build something else here."""
    here = Subject(replace(SCALE, build=lambda factor, **_: SCALE.build(factor + 1)), {"factor": 2})
    vars(here)["generated"] = CODE.generated
    sent = pickled_by_value(here)
    monkeypatch.setattr(loopy, "generate_code_v2", lambda *_: pytest.fail("code was generated"))
    assert carry_out(order("check", subject=sent)).taken() is None
    assert CODE.hash == pickle.loads(sent).hash


def test_a_class_that_needs_what_is_not_installed_here_is_named():
    (tmp := ModuleType("only_the_caller_has_it")).__file__ = "/site-packages/only_the_caller_has_it.py"
    exec("def reference(arguments, factor): return {}", vars(tmp))
    sys.modules[tmp.__name__] = tmp
    sent = pickled_by_value(Subject(replace(SCALE, reference=tmp.reference), {"factor": 2}))
    del sys.modules[tmp.__name__]
    with pytest.raises(KernelTravelError, match=r"'scale' cannot be sent .*: there, ModuleNotFoundError: .*only_the_c"):
        travelled(carry_out(order("check", subject=sent))).taken()


def test_whatever_else_is_raised_is_an_answer(monkeypatch):
    def fails(*arguments):
        raise LookupError("two\nlines")

    monkeypatch.setattr(Bench, "launch_overhead", fails)
    answer = travelled(carry_out(order("launch_overhead")))
    assert ("runtime", "LookupError: two lines") == (answer.error.status, answer.error.message)
    monkeypatch.setattr(hand, "lock_path", fails)
    assert "LookupError: two lines" == travelled(station(device().slug)).error.problem


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
