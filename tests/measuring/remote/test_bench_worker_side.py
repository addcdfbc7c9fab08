"""The worker's side of a bench: it is alone on the device, and keeps what it compiled."""

from __future__ import annotations

import pickle
import sys
from dataclasses import replace
from types import ModuleType

import loopy
import pytest

from perfmodel.errors import DeviceBusyError, KernelTravelError
from perfmodel.kernels.files import pickled_by_value
from perfmodel.measuring import Silent, lock, timing
from perfmodel.measuring.bench import Bench
from perfmodel.measuring.lock import locked
from perfmodel.measuring.remote.bench import WorkerSide, carry_out
from perfmodel.measuring.subject import FailedError, Subject
from tests.campaigns import SCALE, TINY
from tests.machine import device

pytestmark = pytest.mark.device
CODE = Subject(SCALE, {"factor": 2})
CODE.generated  # noqa: B018 -- it travels


@pytest.fixture(autouse=True)
def own_locks(tmp_path, monkeypatch):
    """Another campaign on this machine is not waited for."""
    monkeypatch.setattr(lock, "gettempdir", lambda: str(tmp_path))


def side() -> WorkerSide:
    return WorkerSide(device().slug, TINY)


def travelled(value):
    return pickle.loads(pickle.dumps(value))


def done(bench: WorkerSide, method: str, *arguments, subject: Subject | bytes = CODE):
    """Return value and error, as they arrive at the caller."""
    if method not in ("check", "trial", "timed"):
        return travelled(carry_out(bench, method, "", *arguments))
    content = subject if isinstance(subject, bytes) else pickled_by_value(subject)
    return travelled(carry_out(bench, method, "scale", content, *arguments))


def test_what_a_bench_does_is_done():
    bench = side()
    value, error = done(bench, "launch_overhead")
    assert (True, None) == (value > 0, error)
    assert done(bench, "trial", {"n": 256})[0] > 0
    assert (None, None) == done(bench, "check")
    assert "loopy" in done(bench, "versions")[0]
    (began_at, samples), _ = done(bench, "timed", {"n": 256})
    assert 6 == len(samples.host_s)
    assert began_at.startswith("20")


def test_what_was_compiled_is_kept(monkeypatch):
    bench, made = side(), []
    compiled = timing.compiled
    monkeypatch.setattr(timing, "compiled", lambda *given: made.append(1) or compiled(*given))
    for _ in range(3):
        assert (None, None) == done(bench, "check")
    assert [1] == made


def free() -> bool:
    """Whether a campaign without workers could begin."""
    try:
        with locked(device().facts, Silent()):
            return True
    except DeviceBusyError:
        return False


def test_a_campaign_has_the_device_from_its_first_task_until_it_leaves():
    first, second = side(), side()
    assert free()
    for _ in range(2):
        assert done(first, "launch_overhead")[0] > 0
        assert not free()
        value, error = done(second, "launch_overhead")
        assert (None, True) == (value, isinstance(error, DeviceBusyError))
        assert "process " in error.holder
    done(second, "leave")
    assert not free()
    done(first, "leave")
    assert free()


def test_a_campaign_that_is_forgotten_has_left():
    bench = side()
    assert done(bench, "launch_overhead")[0] > 0
    assert not free()
    del bench
    assert free()


def test_a_failure_keeps_the_device():
    bench = side()
    wrong = replace(SCALE, reference=lambda arguments, factor: {"out": 0})
    _, error = done(bench, "check", subject=Subject(wrong, {"factor": 2}))
    assert isinstance(error, FailedError)
    assert "correctness" == error.status
    assert not free()


def test_the_code_is_the_callers_and_nothing_is_generated_here(monkeypatch):
    """The class would build something else here."""
    here = Subject(replace(SCALE, build=lambda factor, **_: SCALE.build(factor + 1)), {"factor": 2})
    vars(here)["generated"] = CODE.generated
    sent = pickled_by_value(here)
    monkeypatch.setattr(loopy, "generate_code_v2", lambda *_: pytest.fail("code was generated"))
    assert (None, None) == done(side(), "check", subject=sent)
    assert CODE.hash == pickle.loads(sent).hash


def test_a_class_that_needs_what_is_not_installed_here_is_named():
    (tmp := ModuleType("only_the_caller_has_it")).__file__ = "/site-packages/only_the_caller_has_it.py"
    exec("def reference(arguments, factor): return {}", vars(tmp))
    sys.modules[tmp.__name__] = tmp
    sent = pickled_by_value(Subject(replace(SCALE, reference=tmp.reference), {"factor": 2}))
    del sys.modules[tmp.__name__]
    _, error = done(side(), "check", subject=sent)
    assert isinstance(error, KernelTravelError)
    assert "'scale' cannot be sent to a worker: there, ModuleNotFoundError: " in str(error)
    assert "only_the_c" in str(error)


def test_whatever_else_is_raised_is_an_error_of_the_task(monkeypatch):
    def fails(*arguments):
        raise LookupError("two\nlines")

    monkeypatch.setattr(Bench, "launch_overhead", fails)
    _, error = done(side(), "launch_overhead")
    assert ("runtime", "LookupError: two lines") == (error.status, error.message)
