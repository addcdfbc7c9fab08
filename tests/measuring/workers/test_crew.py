"""One of the workers that have a device carries out orders; another takes over where it dies."""

from __future__ import annotations

import pytest

from perfmodel.errors import DeviceBusyError, NoWorkerError, SchedulerError, WorkerVersionError
from perfmodel.facts import DeviceFacts
from perfmodel.measuring import Campaign
from perfmodel.measuring.subject import FailedError
from perfmodel.measuring.workers import crew as module
from perfmodel.measuring.workers.crew import Crew
from perfmodel.measuring.workers.order import Answer, Order
from tests.measuring.test_session import Hears
from tests.measuring.workers.fakes import ADDRESS, FACTS, SLUG, FakeClient, Worker

ORDER = Order(SLUG, Campaign("a test"), "token", "launch_overhead")
BUSY = Answer(error=DeviceBusyError("H200", 0.0, "process 7", "a lock"))


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """Nothing is waited for."""
    monkeypatch.setattr(module, "LOOK_S", 0.0)
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
