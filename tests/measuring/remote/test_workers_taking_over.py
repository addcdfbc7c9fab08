"""One of the workers that have a device does all of a campaign; another takes over where it dies."""

from __future__ import annotations

import json
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from distributed.scheduler import KilledWorker

from perfmodel import cluster, store
from perfmodel.errors import BrokenDeviceError, DeviceBusyError, NoWorkerError, SchedulerError
from perfmodel.facts import DeviceFacts
from perfmodel.measuring.remote import workers as module
from perfmodel.measuring.remote.workers import Caller, workers_device
from perfmodel.measuring.subject import FailedError
from tests.measuring.remote.fakes import ADDRESS, SLUG, FakeClient, Queue, Worker
from tests.measuring.test_run_session import Hears
from tests.store.test_files import measurement

ROW = measurement()
BUSY = DeviceBusyError("H200", 0.0, "process 7", "a lock")
ENDED = ("under_way", (None,))


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """Nothing is waited for."""
    monkeypatch.setattr(module, "LOOK_S", 0.0)
    monkeypatch.setattr(module, "RETURN_S", 0.01)
    dask = SimpleNamespace(Queue=Queue, scheduler=SimpleNamespace(KilledWorker=KilledWorker))
    monkeypatch.setattr(cluster, "dask", lambda: dask)


@pytest.fixture
def ready(tmp_path):
    def begin(wait_s: float = 9.0, **workers: Worker) -> tuple[Caller, FakeClient, Hears]:
        client, hears = FakeClient(**workers), Hears()
        return Caller(workers_device(client), [tmp_path / "rows.jsonl"], hears, wait_s), client, hears

    return begin


def begins(n: int):
    """Report what a configuration of this size would be recorded as."""
    document = measurement(parameters={"n": n}).model_dump(mode="json", by_alias=True)
    return "under_way", ({"store": "", "record": document},)


def name(n: int) -> str:
    return f'{ROW.kernel} {store.canonical(ROW.variant)} {{"n":{n}}}'


def dies(*reports):
    return Worker(courses=[(list(reports), False)])


def test_a_campaign_is_one_task(ready):
    caller, client, hears = ready(a=Worker(courses=[([("advance", ("x", 0.0)), ("tell", ("y",))], True)]), b=Worker())
    caller.run(print)
    assert ["a"] == client.asked
    assert (["x"], ["y"]) == (hears.notes, hears.messages)


@pytest.mark.parametrize("error", [FailedError("compile", "no"), TimeoutError("of the device")])
def test_an_error_on_the_worker_is_raised_here(ready, error):
    caller, _, _ = ready(a=Worker(courses=[([], error)]))
    with pytest.raises(type(error), match=str(error)):
        caller.run(print)


def test_who_dies_is_replaced_and_the_campaign_goes_on(ready, tmp_path):
    caller, client, hears = ready(a=dies(begins(1), ENDED, begins(2)), b=Worker())
    caller.run(print)
    assert ["a", "b"] == client.asked
    assert [f"{name(2)}: the worker a was lost while this was under way; tried again"] == hears.messages
    assert not (tmp_path / "rows.jsonl").exists()


def test_a_worker_whose_process_dies_again_and_again_is_dead_too(ready):
    killed = KilledWorker("a task", None, 3)
    caller, client, hears = ready(a=Worker(courses=[([begins(2)], killed)]))
    caller.run(print)
    assert ["a", "a"] == client.asked
    assert [f"{name(2)}: the worker a was lost while this was under way; tried again"] == hears.messages


def test_a_second_death_over_the_same_condemns_it_and_others_go_on(ready, tmp_path):
    caller, client, hears = ready(a=dies(begins(2)), b=dies(begins(1), ENDED, begins(2)), c=Worker())
    caller.run(print)
    assert ["a", "b", "c"] == client.asked
    (line,) = (tmp_path / "rows.jsonl").read_text().splitlines()
    row = json.loads(line)
    assert ("runtime", {"n": 2}) == (row["status"], row["parameters"])
    message = "the process died of an unknown cause (its worker was lost) while this was under way, twice"
    assert message == row["message"]
    assert 1 == len(hears.messages)
    (note,) = hears.notes
    assert note.startswith(f"{ROW.kernel}: runtime (the process died of ")


def test_deaths_over_different_configurations_condemn_none(ready, tmp_path):
    caller, _, hears = ready(a=dies(begins(2)), b=dies(begins(3)), c=dies(begins(2)), d=Worker())
    caller.run(print)
    assert 3 == len(hears.messages)
    assert not (tmp_path / "rows.jsonl").exists()


def test_two_deaths_with_a_success_between_them_condemn_nothing(ready, tmp_path):
    caller, client, _ = ready(a=dies(begins(2)), b=dies(begins(2), ENDED, begins(2)), c=Worker())
    caller.run(print)
    assert ["a", "b", "c"] == client.asked
    assert not (tmp_path / "rows.jsonl").exists()


STARTED = ("start", ("measuring", 2, 0.0))
INTERRUPT = KeyboardInterrupt()


def interrupted(*step):
    raise KeyboardInterrupt


@pytest.mark.parametrize("end", [False, INTERRUPT, FailedError("runtime", "no")])
def test_a_task_that_is_shown_is_stopped_however_it_ends(ready, end):
    """Also where the worker is lost between two configurations."""
    reports = [STARTED, begins(1), ENDED, ("advance", ("x", 0.0))]
    second = Worker(courses=[([STARTED, ("stop", ())], True)])
    caller, _, hears = ready(a=Worker(courses=[(reports, True if end is INTERRUPT else end)]), b=second)
    steps = []
    hears.start, hears.stop = (lambda *told: steps.append("start")), (lambda: steps.append("stop"))
    if end is INTERRUPT:  # this process is interrupted
        hears.advance = interrupted
    with nullcontext() if end is False else pytest.raises(type(end)):
        caller.run(print)
    assert ["start", "stop"] * (2 if end is False else 1) == steps


def test_what_has_no_record_is_named(ready):
    caller, _, hears = ready(a=dies(("under_way", ({"name": "probe lanes"},))), b=Worker())
    caller.run(print)
    assert ["probe lanes: the worker a was lost while this was under way; tried again"] == hears.messages


def test_workers_that_die_before_they_begin_are_not_tried_for_ever(ready):
    caller, client, _ = ready(a=dies(), b=dies(begins(1), ENDED), c=dies(), d=dies(), e=Worker())
    with pytest.raises(BrokenDeviceError, match="two workers were lost when they opened it"):
        caller.run(print)
    assert [*"abcd"] == client.asked


def test_a_worker_that_left_between_configurations_is_replaced_in_one_line(ready):
    caller, _, hears = ready(a=dies(begins(1), ENDED), b=Worker())
    caller.run(print)
    assert ["the worker a is gone; going on with b"] == hears.messages


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (Worker(facts=DeviceFacts("H200", "NVIDIA CUDA", "999", ())), "another device, or has another driver"),
        (Worker(versions={"loopy": "1999.1"}), "loopy 1999.1 (here "),
        (Worker(described=OSError("lost")), "it was lost"),
    ],
)
def test_only_an_equal_worker_takes_over(ready, other, said):
    caller, client, hears = ready(a=dies(begins(1)), c=Worker())
    client.workers = {"a": client.workers["a"], "b": other, "c": Worker()}
    caller.run(print)
    assert ["a", "c"] == client.asked
    assert said in hears.messages[1]
    assert hears.messages[1].startswith("the worker b is not used: ")


def test_a_worker_that_was_lost_for_a_moment_takes_over_later(ready):
    caller, client, hears = ready(a=dies(begins(1)))
    client.workers["b"] = Worker(described=OSError("lost"))
    before = hears.tell

    def tell(message):
        before(message)
        if "is not used" in message:
            client.workers["b"].described = None

    hears.tell = tell
    caller.run(print)
    assert ["a", "b"] == client.asked
    assert ["the worker b is not used: it was lost"] == hears.messages[1:]


def test_without_a_worker_it_says_what_there_is(ready):
    caller, client, _ = ready(a=dies(begins(1)))
    client.workers["b"] = Worker(slugs=("another",))
    with pytest.raises(NoWorkerError, match=f"'{SLUG}' .waited 0.01 s.; its workers have: another; on") as caught:
        caller.run(print)
    assert ADDRESS == caught.value.address


def test_another_campaign_is_waited_for_and_named_once(ready):
    caller, _, hears = ready(a=Worker(busy=[BUSY, BUSY]))
    caller.run(print)
    assert ["waiting up to 9 s for another campaign on H200: process 7"] == hears.messages


def test_another_campaign_that_does_not_end_is_an_error(ready):
    caller, _, _ = ready(wait_s=0.0, a=Worker(busy=[BUSY]))
    with pytest.raises(DeviceBusyError) as caught:
        caller.run(print)
    assert (0.0, "process 7") == (caught.value.waited_s, caught.value.holder)


def test_a_scheduler_that_is_lost_is_told(ready, monkeypatch):
    caller, client, _ = ready(a=Worker())

    def lost(n_workers):
        raise OSError("connection closed")

    monkeypatch.setattr(client.scheduler, "identity", lost)
    with pytest.raises(SchedulerError, match="does not answer: connection closed; give the address"):
        caller.run(print)
