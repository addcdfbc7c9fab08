"""``perfmodel worker``: a device of this machine becomes a Dask worker's."""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic, sleep
from types import SimpleNamespace
from typing import Any

import dask
import psutil
import pytest
from typer.testing import CliRunner

from perfmodel import cluster as clusters, opencl
from perfmodel.cli import application
from perfmodel.errors import SchedulerError, TlsError
from perfmodel.measuring.remote.workers import OWN_DEVICE, having, workers_device
from tests.certificates import Certificates, certificates
from tests.cli.program import RUN, perfmodel
from tests.cluster import cluster
from tests.machine import ROOT, device, fake_device


@pytest.fixture(autouse=True)
def refused_connections_end_here():
    """Dask leaves the socket of a connection that TLS refuses to the collector, whose warning is no other test's."""
    gc.freeze()  # what is there already is looked through in nobody's time
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@contextmanager
def working(client: Any, *options: str) -> Iterator[subprocess.Popen[str]]:
    """Start a worker with the tests' device, and wait until the scheduler knows it."""
    command = [sys.executable, "-c", RUN, "worker", client.scheduler.address, "--device", device().slug, *options]
    running = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        until = monotonic() + 60
        while not having(client) and running.poll() is None and monotonic() < until:
            sleep(0.1)
        assert [device().slug] == list(having(client)), running.stderr.read() if running.poll() is not None else ""
        yield running
    finally:
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=30)
        running.said = said


def listening(process: int) -> list[tuple[str, int]]:
    """Return the addresses and ports on which a process and all below it listen."""
    main = psutil.Process(process)
    sockets = [one for each in (main, *main.children(recursive=True)) for one in each.net_connections("inet")]
    return [tuple(one.laddr) for one in sockets if one.status == psutil.CONN_LISTEN]


def elsewhere() -> list[str]:
    """Other addresses of this machine, to which a stranger's connection would come."""
    addresses = [one for each in psutil.net_if_addrs().values() for one in each]
    found = {one.address for one in addresses if one.family in (socket.AF_INET, socket.AF_INET6)}
    return sorted((found | {"127.0.0.2"}) - {"127.0.0.1"})


@pytest.mark.device
@pytest.mark.slow
def test_a_worker_learns_its_device_and_offers_it():
    with cluster(workers=0) as client, working(client) as running:
        found = workers_device(client)
        assert (device().index, device().facts.hash) == (found.index, found.facts.hash)
        profile = client.run(dask.config.get, "distributed.worker.profile.enabled")
        assert [False] == list(profile.values())
        heard = listening(running.pid)
        assert ["127.0.0.1"] * 2 == [host for host, _ in heard]  # of the worker, and of the nanny that restarts it
        for _, port in heard:
            for host in elsewhere():
                with pytest.raises(OSError, match="refused"):
                    socket.create_connection((host, port))
    offered, told = running.said.splitlines()[:2]
    assert offered.startswith(f"offering {device().name} (")
    assert f"--resources perfmodel:{device().slug}=1" in offered
    assert told.startswith("listening on 127.0.0.1, neither encrypted nor authenticated: who can connect there can ")


@pytest.fixture(scope="module")
def signed(tmp_path_factory) -> Certificates:
    return certificates(tmp_path_factory.mktemp("tls") / "ours")


@pytest.fixture(scope="module")
def foreign(tmp_path_factory) -> Certificates:
    return certificates(tmp_path_factory.mktemp("tls") / "theirs")


@pytest.fixture(scope="module")
def encrypted(signed) -> Iterator[str]:
    """The address of a scheduler that speaks TLS only."""
    with cluster(workers=0, resources={}, protocol="tls://", security=signed.security) as client:
        yield client.scheduler.address


@pytest.mark.device
@pytest.mark.slow
def test_tls_there_and_back_and_no_stranger(signed, foreign):
    options = {"protocol": "tls://", "security": signed.security, "host": "[::1]"}
    with cluster(workers=0, **options) as client:
        with working(client, *signed.options) as running:
            assert device().facts.hash == workers_device(client).facts.hash
            heard = listening(running.pid)
            assert ["::1"] * 2 == [host for host, _ in heard]
            for _, port in heard:
                with pytest.raises(TlsError, match="the certificates of one side were refused"):
                    clusters.connected(f"tls://[::1]:{port}", 5, foreign.security)
                with pytest.raises(SchedulerError, match="does not answer"):
                    clusters.connected(f"tcp://[::1]:{port}", 2)
        assert "listening on ::1 by TLS: who has a certificate of the same authority" in running.said.splitlines()[1]


def worker(*arguments: str):
    return CliRunner().invoke(application(), ["worker", *arguments])


def refused(result, *said: str) -> None:
    assert 2 == result.exit_code
    assert 1 == len(result.stderr.splitlines()), result.stderr
    for text in said:
        assert text in result.stderr


def test_other_certificates_are_refused(encrypted, foreign):
    refused(worker(encrypted, *foreign.options), "no encrypted connection to the Dask scheduler", "were refused (")


def test_a_certificate_that_only_the_scheduler_does_not_know_is_refused(encrypted, signed, foreign):
    mixed = Certificates(signed.authority, foreign.cert, foreign.key)
    refused(worker(encrypted, *mixed.options), "no encrypted connection to the Dask scheduler", "were refused (")


def test_a_scheduler_without_tls_is_told(signed):
    with cluster(workers=0, resources={}) as client:
        address = client.scheduler.address.replace("tcp", "tls")
        refused(worker(address, *signed.options), f"'{address}'", "give")


def test_a_file_that_is_missing_is_named(encrypted, signed):
    for place in (1, 3, 5):
        options = [*signed.options]
        options[place] = "nowhere.pem"
        refused(worker(encrypted, *options), "there is no file 'nowhere.pem'", "--tls-ca-file CA.PEM")


def test_a_file_that_is_none_of_tls_is_named(encrypted, signed):
    swapped = Certificates(signed.authority, signed.key, signed.cert)
    refused(worker(encrypted, *swapped.options), f"'{signed.key}' and '{signed.cert}' cannot be used with the")


@pytest.mark.parametrize(
    ("place", "lacking"),
    [(0, "no certificate is given"), (2, "no certificate authority"), (4, "no certificate authority")],
)
def test_one_file_alone_does_not_do(encrypted, signed, place, lacking):
    refused(worker(encrypted, *signed.options[place : place + 2]), lacking, "--tls-cert CERT.PEM")


def test_tls_is_in_the_address(signed):
    refused(
        worker("tcp://127.0.0.1:1", *signed.options),
        "--tls-ca-file and --tls-cert and --tls-key were given with the address 'tcp://127.0.0.1:1'; give ", "tls://host",
    )  # fmt: skip


@pytest.mark.parametrize("listen", ["", "localhost", "203.0.113.7", "127.0.0.1:80", "tcp://127.0.0.1", "2001:db8::1"])
def test_only_addresses_of_this_machine_are_listened_on(listen):
    refused(worker("tcp://127.0.0.1:1", "--listen", listen), f"--listen '{listen}' is no IP address of this machine")


@pytest.fixture
def became(monkeypatch) -> list[tuple[list[str], dict[str, str]]]:
    """What a worker's process becomes, each with its environment; its device is only a name."""
    found: list[tuple[list[str], dict[str, str]]] = []
    monkeypatch.setattr(os, "execve", lambda program, command, environment: found.append((command, environment)))
    monkeypatch.setattr(opencl, "find", lambda name: fake_device(3, "a card", "a platform"))
    return found


def host_of(command: list[str]) -> str:
    return command[command.index("--host") + 1]


@pytest.mark.parametrize(
    ("scheduler", "reached", "listens"),
    [
        ("127.0.0.1", "127.0.0.1", "127.0.0.1"), ("127.0.0.1", "localhost", "127.0.0.1"), ("[::1]", "[::1]", "[::1]"),
        ("0.0.0.0", "127.0.0.1", "127.0.0.1"), ("0.0.0.0", "0.0.0.0", "127.0.0.1"),
    ],
)  # fmt: skip
def test_it_listens_where_the_scheduler_is_reached_from(became, scheduler, reached, listens):
    with cluster(workers=0, resources={}, host=scheduler) as client:
        port = client.scheduler.address.rpartition(":")[2]
        assert 0 == worker(f"tcp://{reached}:{port}").exit_code
        assert 0 == worker(f"{reached}:{port}").exit_code
    assert [listens] * 2 == [host_of(command) for command, _ in became]


def test_all_addresses_only_if_asked_for(became):
    with cluster(workers=0, resources={}) as client:
        address = client.scheduler.address
        for listen, host in (("0.0.0.0", "0.0.0.0"), ("::", "[::]"), ("127.0.0.2", "127.0.0.2")):
            result = worker(address, "--listen", listen)
            assert 0 == result.exit_code
            where = "all addresses of this machine" if listen != "127.0.0.2" else listen
            assert f"listening on {where}, neither encrypted nor authenticated" in result.stderr
            assert host == host_of(became.pop()[0])


def test_files_for_tls_may_be_those_of_dasks_configuration(became, encrypted, signed):
    files = {"ca-file": str(signed.authority), "worker": {"cert": str(signed.cert), "key": str(signed.key)}}
    with dask.config.set({"distributed.comm.tls": {**dask.config.get("distributed.comm.tls"), **files}}):
        document = json.loads(worker(encrypted, "--json").stdout)
        assert (True, "127.0.0.1") == (document["encrypted"], document["listen"])
        with pytest.raises(TlsError, match="no certificate is given"):  # for a client it has none
            clusters.connected(encrypted)
    ((command, _),) = became
    assert not [one for one in command if one.startswith("--tls")]  # Dask's worker reads it too


def test_without_a_scheduler_it_says_so_at_once():
    done = perfmodel("worker", "localhost")
    assert 2 == done.returncode
    assert 1 == len(done.stderr.splitlines())
    assert "the Dask scheduler at 'localhost' does not answer: missing port number" in done.stderr


def test_with_json_it_says_what_it_becomes(became, monkeypatch):
    @contextmanager
    def connected(address: str, security: Any) -> Iterator[Any]:
        yield SimpleNamespace(scheduler_comm=SimpleNamespace(comm=SimpleNamespace(local_address="tcp://192.0.2.1:5")))

    monkeypatch.setattr(clusters, "connected", connected)
    document = json.loads(worker("tcp://host:1", "--json").stdout)
    slug = opencl.find(None).slug
    assert ("perfmodel.worker/1", slug, 3) == tuple(document[key] for key in ("schema", "slug", "index"))
    assert ("192.0.2.1", False) == (document["listen"], document["encrypted"])
    ((command, environment),) = became
    assert command == document["command"]
    assert ["--resources", f"perfmodel:{slug}=1"] == command[-2:]
    assert "3" == environment[OWN_DEVICE]
