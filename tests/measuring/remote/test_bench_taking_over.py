"""One of the workers that have a device does all tasks; another takes over where it dies."""

from __future__ import annotations

import pytest

from perfmodel.errors import BrokenDeviceError, DeviceBusyError, NoWorkerError, SchedulerError
from perfmodel.facts import DeviceFacts
from perfmodel.measuring import Campaign
from perfmodel.measuring.remote import bench as module
from perfmodel.measuring.remote.bench import WorkersBench, workers_device
from perfmodel.measuring.subject import FailedError
from tests.measuring.remote.fakes import ADDRESS, SLUG, FakeClient, Future, Worker
from tests.measuring.test_run_session import Hears

BUSY = None, DeviceBusyError("H200", 0.0, "process 7", "a lock")


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """Nothing is waited for."""
    monkeypatch.setattr(module, "LOOK_S", 0.0)
    monkeypatch.setattr(module, "POLL_S", 0.0)
    monkeypatch.setattr(module, "RETURN_S", 0.01)


def ready(wait_s: float = 9.0, **workers: Worker) -> tuple[WorkersBench, FakeClient, Hears]:
    client, hears = FakeClient(**workers), Hears()
    return WorkersBench(workers_device(client), Campaign("a test", wait_s=wait_s), hears), client, hears


def ask(bench: WorkersBench, name: str = "it"):
    return bench._done(name, "launch_overhead", "")


def test_all_tasks_go_to_one_worker_while_it_lives():
    bench, client, _ = ready(a=Worker(), b=Worker())
    assert ["by a"] * 3 == [ask(bench) for _ in range(3)]
    assert ["a"] * 3 == client.asked


def test_a_failure_on_the_worker_is_raised_here():
    bench, _, _ = ready(a=Worker(answers=[(None, FailedError("compile", "no")), (None, FailedError("runtime", "no"))]))
    with pytest.raises(FailedError, match="no") as caught:
        ask(bench)
    assert "compile" == caught.value.status
    with pytest.raises(BrokenDeviceError, match="no"):
        bench.launch_overhead()


def test_who_dies_is_replaced_and_the_task_is_tried_again():
    bench, client, hears = ready(a=Worker(answers=[None]), b=Worker())
    assert "by b" == ask(bench)
    assert ["a", "b"] == client.asked
    assert ["it: the worker a was lost while this was under way; tried again"] == hears.messages


def test_a_second_death_over_the_same_condemns_it_and_others_go_on():
    bench, _, hears = ready(a=Worker(answers=[None]), b=Worker(answers=[None]), c=Worker())
    with pytest.raises(FailedError, match=r"the process died of an unknown cause .*twice") as caught:
        ask(bench)
    assert "runtime" == caught.value.status
    assert "by c" == ask(bench, "another")
    assert 1 == len([said for said in hears.messages if "tried again" in said])


def test_deaths_over_different_configurations_condemn_none():
    bench, _, _ = ready(a=Worker(answers=[None]), b=Worker(answers=[(1, None), None]), c=Worker())
    assert 1 == ask(bench, "first")
    assert "by c" == ask(bench, "second")


def test_two_deaths_with_a_success_between_them_condemn_nothing():
    bench, client, _ = ready(a=Worker(answers=[None]), b=Worker(answers=[(1, None), None]), c=Worker())
    assert [1, "by c"] == [ask(bench), ask(bench)]
    assert ["a", "b", "b", "c"] == client.asked


@pytest.mark.parametrize("error", [TimeoutError("of the device"), ValueError("of\nthe device")])
def test_what_the_worker_raises_is_a_failure_that_names_it(error):
    bench, _, _ = ready(a=Worker(answers=[error]))
    with pytest.raises(FailedError, match=f"gave no answer: {type(error).__name__}: of the device") as caught:
        ask(bench)
    assert "runtime" == caught.value.status


def test_a_worker_whose_device_does_not_open_fails_no_configuration():
    bench, _, _ = ready(a=Worker(answers=[ValueError("depends on it")], opens=OSError("no driver")))
    with pytest.raises(BrokenDeviceError, match="OSError: no driver"):
        ask(bench)


def test_a_worker_that_is_busy_is_left_after_a_while(monkeypatch):
    monkeypatch.setattr(module, "LEAVE_S", 0.0)
    bench, _, _ = ready(a=Worker())
    ask(bench)
    monkeypatch.setattr(bench, "_submitted", lambda *arguments: Future(None))
    bench.leave()
    assert bench._there is None
    monkeypatch.undo()
    assert "by a" == ask(bench)  # another campaign may begin on it


def test_leaving_reaches_the_worker_and_one_that_is_gone_is_not_waited_for():
    for gone in (False, True):
        bench, client, _ = ready(a=Worker(), b=Worker())
        ask(bench)
        if gone:
            del client.workers["a"]
        bench.leave()
        assert ["a"] * (2 - gone) == client.asked


def test_a_worker_that_left_between_tasks_is_replaced_in_one_line():
    bench, client, hears = ready(a=Worker(), b=Worker())
    ask(bench)
    del client.workers["a"]
    assert "by b" == ask(bench)
    assert ["the worker a is gone; going on with b"] == hears.messages


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (Worker(facts=DeviceFacts("H200", "NVIDIA CUDA", "999", ())), "another device, or has another driver"),
        (Worker(versions={"loopy": "1999.1"}), "loopy 1999.1 (here "),
        (Worker(described=OSError("lost")), "it was lost"),
    ],
)
def test_only_an_equal_worker_takes_over(other, said):
    bench, client, hears = ready(a=Worker(answers=[None]), c=Worker())
    client.workers = {"a": client.workers["a"], "b": other, "c": Worker()}
    assert "by c" == ask(bench)
    assert said in hears.messages[1]
    assert hears.messages[1].startswith("the worker b is not used: ")


def test_a_worker_that_was_lost_for_a_moment_takes_over_later():
    bench, client, hears = ready(a=Worker(answers=[None]))
    client.workers["b"] = Worker(described=OSError("lost"))
    before = hears.tell

    def tell(message):
        before(message)
        if "is not used" in message:
            client.workers["b"].described = None

    hears.tell = tell
    assert "by b" == ask(bench)
    assert ["the worker b is not used: it was lost"] == hears.messages[1:]


def test_without_a_worker_it_says_what_there_is():
    bench, _, _ = ready(a=Worker(answers=[None]))
    bench._client.workers["b"] = Worker(slugs=("another",))
    with pytest.raises(NoWorkerError, match=f"'{SLUG}' .waited 0.01 s.; its workers have: another; on") as caught:
        ask(bench)
    assert ADDRESS == caught.value.address


def test_another_campaign_is_waited_for_and_named_once():
    bench, _, hears = ready(a=Worker(answers=[BUSY, BUSY]))
    assert "by a" == ask(bench)
    assert ["waiting up to 9 s for another campaign on H200: process 7"] == hears.messages


def test_another_campaign_that_does_not_end_is_an_error():
    bench, _, _ = ready(wait_s=0.0, a=Worker(answers=[BUSY]))
    with pytest.raises(DeviceBusyError) as caught:
        ask(bench)
    assert (0.0, "process 7") == (caught.value.waited_s, caught.value.holder)


def test_a_scheduler_that_is_lost_is_told(monkeypatch):
    bench, client, _ = ready(a=Worker())

    def lost(n_workers):
        raise OSError("connection closed")

    monkeypatch.setattr(client.scheduler, "identity", lost)
    with pytest.raises(SchedulerError, match="does not answer: connection closed; give the address"):
        ask(bench)
