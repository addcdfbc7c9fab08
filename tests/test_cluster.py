"""Whether a scheduler answers, and whether its workers' versions are ours."""

from __future__ import annotations

import logging
import socket
import sys
from concurrent.futures import CancelledError
from importlib import metadata
from time import monotonic

import pytest

from perfmodel.cluster import SAME, asking, check_versions, connected, workers_of
from perfmodel.errors import MissingExtraError, SchedulerError, WorkerVersionError
from tests.measuring.remote.fakes import ADDRESS, FakeClient, Worker


def test_equal_versions_pass():
    check_versions(FakeClient(a=Worker(), b=Worker()), ["a", "b"])


@pytest.mark.parametrize("name", SAME)
def test_another_version_is_named(name):
    client = FakeClient(a=Worker(), b=Worker(versions={name: "0.0.7"}))
    with pytest.raises(WorkerVersionError) as caught:
        check_versions(client, ["a", "b"])
    assert ("b", (f"{name} 0.0.7 (here {metadata.version(name)})",)) == (caught.value.worker, caught.value.wrong)


def test_what_is_not_installed_and_another_python_are_named_together():
    client = FakeClient(a=Worker(versions={"islpy": None, "python": "3.9.1.final.0"}))
    with pytest.raises(WorkerVersionError) as caught:
        check_versions(client, ["a"])
    first, second = caught.value.wrong
    assert first.startswith("Python 3.9 (here 3.1")
    assert f"islpy not installed (here {metadata.version('islpy')})" == second


def test_workers_that_are_lost_are_not_judged():
    client = FakeClient(a=Worker(), b=Worker(versions={"loopy": "1"}, described=OSError("closed")))
    check_versions(client, ["a", "b", "c"])


@pytest.mark.parametrize("error", [OSError("gone"), TimeoutError("gone"), CancelledError("gone")])
def test_what_dask_raises_where_the_scheduler_is_lost_is_one_error(error):
    client = FakeClient()
    with pytest.raises(SchedulerError, match=f"'{ADDRESS}' does not answer: gone; give"), asking(client):
        raise error
    with pytest.raises(ZeroDivisionError), asking(client):
        raise ZeroDivisionError


def test_a_client_that_is_closed_has_lost_its_scheduler(monkeypatch):
    client = FakeClient()
    monkeypatch.setattr(client, "scheduler", None)
    monkeypatch.setattr(client, "_start_arg", ADDRESS, raising=False)
    with pytest.raises(SchedulerError, match=f"'{ADDRESS}' does not answer: the connection is lost"):
        workers_of(client)


def test_a_scheduler_that_does_not_answer_is_told_soon():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        began = monotonic()
        with pytest.raises(SchedulerError, match=r"does not answer: nothing in 0\.5 s; give the address"):
            connected(f"tcp://127.0.0.1:{silent.getsockname()[1]}", timeout_s=0.5)
        assert monotonic() - began < 10
    assert logging.CRITICAL != logging.getLogger("distributed").level


@pytest.mark.parametrize("address", ["nonsense://x", "tcp://host:99999999999999999999", "ucx://host:1", "", "host"])
def test_an_address_that_is_none(address):
    with pytest.raises(SchedulerError, match=f"'{address}' does not answer: [^;]+; give the address"):
        connected(address, timeout_s=0.5)


def test_without_dask_it_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'perfmodel\[scale\]'"):
        connected("tcp://127.0.0.1:1")
