"""One of the workers that have a device carries out orders; another takes over where it dies."""

from __future__ import annotations

import pytest

from perfmodel.errors import BrokenDeviceError, DeviceBusyError, NoWorkerError, SchedulerError, WorkerVersionError
from perfmodel.facts import DeviceFacts
from perfmodel.measuring import Campaign
from perfmodel.measuring.remote import crew as module
from perfmodel.measuring.remote.crew import Crew
from perfmodel.measuring.remote.order import Answer, Order
from perfmodel.measuring.subject import FailedError
from tests.measuring.remote.fakes import ADDRESS, FACTS, SLUG, FakeClient, Future, Worker
from tests.measuring.test_session import Hears

ORDER = Order(SLUG, Campaign("a test"), "token", "launch_overhead")
BUSY = Answer(error=DeviceBusyError("H200", 0.0, "process 7", "a lock"))


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """Nothing is waited for."""
    monkeypatch.setattr(module, "LOOK_S", 0.0)
    monkeypatch.setattr(module, "POLL_S", 0.0)
    monkeypatch.setattr(module, "RETURN_S", 0.01)


def ready(**workers: Worker) -> tuple[Crew, FakeClient]:
    client = FakeClient(**workers)
    crew = Crew(client, SLUG)
    assert crew.station.facts == FACTS
    return crew, client


def ask(crew: Crew, hears: Hears, name: str = "it", wait_s: float = 9.0):
    return crew.ask(ORDER, name, hears, wait_s)


def test_all_orders_go_to_one_worker_while_it_lives():
    crew, client = ready(a=Worker(), b=Worker())
    assert ["by a"] * 3 == [ask(crew, Hears()) for _ in range(3)]
    assert ["a"] * 3 == client.asked


def test_a_failure_on_the_worker_is_raised_here():
    crew, _ = ready(a=Worker(answers=[Answer(error=FailedError("compile", "no"))]))
    with pytest.raises(FailedError, match="no") as caught:
        ask(crew, Hears())
    assert "compile" == caught.value.status


def test_who_dies_is_replaced_and_the_order_is_tried_again():
    crew, client = ready(a=Worker(answers=[None]), b=Worker())
    hears = Hears()
    assert "by b" == ask(crew, hears)
    assert ["a", "b"] == client.asked
    assert ["it: the worker a was lost while this was under way; tried again"] == hears.messages


def test_a_second_death_over_the_same_condemns_it_and_others_go_on():
    crew, _ = ready(a=Worker(answers=[None]), b=Worker(answers=[None]), c=Worker())
    hears = Hears()
    with pytest.raises(FailedError, match=r"the process died of an unknown cause .*twice") as caught:
        ask(crew, hears)
    assert "runtime" == caught.value.status
    assert "by c" == ask(crew, hears, "another")
    assert 1 == len([said for said in hears.messages if "tried again" in said])


def test_deaths_over_different_configurations_condemn_none():
    crew, _ = ready(a=Worker(answers=[None]), b=Worker(answers=[Answer(1), None]), c=Worker())
    assert 1 == ask(crew, Hears(), "one")
    assert "by c" == ask(crew, Hears(), "two")


def test_two_deaths_with_a_success_between_them_condemn_nothing():
    crew, client = ready(a=Worker(answers=[None]), b=Worker(answers=[Answer(1), None]), c=Worker())
    assert [1, "by c"] == [ask(crew, Hears()), ask(crew, Hears())]
    assert ["a", "b", "b", "c"] == client.asked


@pytest.mark.parametrize("error", [TimeoutError("of the device"), ValueError("of\nthe device")])
def test_what_the_worker_raises_is_a_failure_that_names_it(error):
    crew, _ = ready(a=Worker(answers=[error]))
    with pytest.raises(FailedError, match=f"gave no answer: {type(error).__name__}: of the device") as caught:
        ask(crew, Hears())
    assert "runtime" == caught.value.status


def test_workers_that_are_lost_over_the_first_question_are_not_asked_for_ever(monkeypatch):
    client = FakeClient(a=Worker(), b=Worker(), c=Worker())

    def submit(function, argument, workers, **options):
        del client.workers[workers[0]]
        return Future(None)

    monkeypatch.setattr(client, "submit", submit)
    with pytest.raises(BrokenDeviceError, match="2 of its workers were lost when they were asked for it"):
        Crew(client, SLUG).station  # noqa: B018
    assert {"c"} == set(client.workers)


def test_a_worker_that_cannot_say_what_its_device_is(monkeypatch):
    client = FakeClient(a=Worker())
    monkeypatch.setattr(client, "submit", lambda *arguments, **options: Future(ValueError("no")))
    with pytest.raises(BrokenDeviceError, match="gave no answer: ValueError: no"):
        Crew(client, SLUG).station  # noqa: B018


def test_leaving_reaches_the_worker_and_one_that_is_gone_is_not_waited_for(monkeypatch):
    crew, client = ready(a=Worker(), b=Worker())
    crew.leave(ORDER)
    assert ["a"] == client.asked
    del client.workers["a"]
    crew.leave(ORDER)
    assert ["a"] == client.asked


def test_a_worker_that_left_between_orders_is_replaced_in_one_line():
    crew, client = ready(a=Worker(), b=Worker())
    hears = Hears()
    ask(crew, hears)
    del client.workers["a"]
    assert "by b" == ask(crew, hears)
    assert ["the worker a is gone; going on with b"] == hears.messages


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (Worker(facts=DeviceFacts("H200", "NVIDIA CUDA", "999", ())), "another device, or has another driver"),
        (Worker(versions={"loopy": "1999.1"}), "loopy 1999.1 (here "),
    ],
)
def test_only_an_equal_worker_takes_over(other, said):
    crew, _ = ready(a=Worker(answers=[None]), c=Worker())
    crew.client.workers = {"a": crew.client.workers["a"], "b": other, "c": Worker()}
    hears = Hears()
    assert "by c" == ask(crew, hears)
    assert said in hears.messages[1]
    assert hears.messages[1].startswith("the worker b is not used: ")


def test_without_a_worker_it_says_what_there_is():
    crew, _ = ready(a=Worker(answers=[None]), b=Worker(slugs=("another",)))
    with pytest.raises(NoWorkerError, match=f"'{SLUG}' .waited 0.01 s.; its workers have: another; on") as caught:
        ask(crew, Hears())
    assert ADDRESS == caught.value.address


def test_no_worker_with_the_device_from_the_start():
    with pytest.raises(NoWorkerError, match="its workers have: none"):
        Crew(FakeClient(), SLUG).station  # noqa: B018


def test_a_worker_with_other_versions_is_refused_from_the_start():
    with pytest.raises(WorkerVersionError, match="the worker b has other versions"):
        Crew(FakeClient(a=Worker(), b=Worker(versions={"islpy": "1"})), SLUG).station  # noqa: B018


def test_another_campaign_is_waited_for_and_named_once():
    crew, _ = ready(a=Worker(answers=[BUSY, BUSY]))
    hears = Hears()
    assert "by a" == ask(crew, hears)
    assert ["waiting up to 9 s for another campaign on H200: process 7"] == hears.messages


def test_another_campaign_that_does_not_end_is_an_error():
    crew, _ = ready(a=Worker(answers=[BUSY]))
    with pytest.raises(DeviceBusyError) as caught:
        ask(crew, Hears(), wait_s=0.0)
    assert (0.0, "process 7") == (caught.value.waited_s, caught.value.holder)


def test_a_scheduler_that_is_lost_is_told(monkeypatch):
    crew, client = ready(a=Worker())

    def lost(n_workers):
        raise OSError("connection closed")

    monkeypatch.setattr(client.scheduler, "identity", lost)
    with pytest.raises(SchedulerError, match="does not answer: connection closed; give the address"):
        ask(crew, Hears())
