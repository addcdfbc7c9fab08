"""The connection to a scheduler, its devices, and the versions of its workers."""

import logging
import socket
import sys
from concurrent.futures import CancelledError
from types import SimpleNamespace

import pytest

from perfmodel.cluster import asking, check_versions, connected, devices_of
from perfmodel.errors import MissingExtraError, SchedulerError, VersionError

ADDRESS = "tcp://host:8786"
HERE = {"python": "3.11.7.final.0", "perfmodel": "0.1", "loopy": "2025.2", "islpy": "2025.2", "pyopencl": "2026.1"}


def client_of(**workers):
    """Return a client whose workers have these versions, where they differ."""
    answers = {name: {"packages": {**HERE, **versions}} for name, versions in workers.items()}
    return SimpleNamespace(
        scheduler=SimpleNamespace(address=ADDRESS), _start_arg=ADDRESS,
        get_versions=lambda packages: {"client": {"packages": HERE}, "workers": answers},
    )  # fmt: skip


def test_workers_must_have_equal_versions():
    check_versions(client_of(a={}, b={"loopy": "1"}), ["a", "gone"])
    with pytest.raises(VersionError, match=r"^the worker b has other versions: loopy 1 \(here 2025\.2\); its code"):
        check_versions(client_of(a={}, b={"loopy": "1"}), ["a", "b"])
    client = client_of(a={"islpy": None, "python": "3.9.1.final.0"})
    with pytest.raises(VersionError, match=r"Python 3\.9 \(here 3\.11\), islpy not installed \(here 2025\.2\)"):
        check_versions(client, ["a"])


def test_the_resources_of_workers_are_their_devices():
    workers = {"b": {"resources": {"pocl": 1.0, "full": 0.0}}, "a": {"resources": {"pocl": 2.0, "gpu": 1.0}}}
    client = client_of()
    client.scheduler.identity = None
    client.sync = lambda function, n_workers: {"workers": workers}
    assert {"gpu": ["a"], "pocl": ["a", "b"]} == devices_of(client)


@pytest.mark.parametrize("error", [OSError("gone"), TimeoutError("gone"), CancelledError("gone")])
def test_a_lost_scheduler_is_one_error(error):
    client = client_of()
    with pytest.raises(SchedulerError, match=f"'{ADDRESS}' does not answer: gone; give"), asking(client):
        raise error
    with pytest.raises(ZeroDivisionError), asking(client):
        raise ZeroDivisionError
    client.scheduler = None
    with pytest.raises(SchedulerError, match="the connection is lost"), asking(client):
        raise ValueError("closed")


def test_a_scheduler_that_does_not_answer_is_refused_soon():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with pytest.raises(SchedulerError, match=r"does not answer: .*; give the address"):
            connected(f"tcp://127.0.0.1:{silent.getsockname()[1]}", timeout_s=0.5)
    assert logging.CRITICAL != logging.getLogger("distributed").level


@pytest.mark.parametrize("address", ["nonsense://x", "tcp://host:99999999999999999999", "", "host"])
def test_an_invalid_address_is_refused(address):
    with pytest.raises(SchedulerError, match=f"'{address}' does not answer: [^;]+; give the address"):
        connected(address, timeout_s=0.5)


def test_without_dask_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'perfmodel\[scale\]'"):
        connected(ADDRESS)
