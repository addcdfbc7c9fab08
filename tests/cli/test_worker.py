"""``perfmodel worker``: a device of this machine becomes a Dask worker's."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from time import monotonic, sleep
from types import SimpleNamespace

import dask
import pytest
from typer.testing import CliRunner

from perfmodel import cluster as clusters
from perfmodel.cli import application
from perfmodel.measuring.workers.bench import workers_device
from perfmodel.measuring.workers.client import having
from perfmodel.measuring.workers.order import OWN_DEVICE
from tests.cli.program import RUN, perfmodel
from tests.cluster import cluster
from tests.machine import ROOT, device


@pytest.mark.device
@pytest.mark.slow
def test_a_worker_learns_its_device_and_offers_it():
    with cluster(workers=0) as client:
        command = [sys.executable, "-c", RUN, "worker", client.scheduler.address, "--device", device().slug]
        running = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, start_new_session=True)
        try:
            until = monotonic() + 60
            while not having(client) and running.poll() is None and monotonic() < until:
                sleep(0.1)
            assert [device().slug] == list(having(client))
            found = workers_device(client)
            assert (device().index, device().facts.hash) == (found.index, found.facts.hash)
            profile = client.run(dask.config.get, "distributed.worker.profile.enabled")
            assert [False] == list(profile.values())
        finally:
            running.send_signal(signal.SIGINT)
            _, said = running.communicate(timeout=30)
    assert said.startswith(f"offering {device().name} (")
    assert f"--resources perfmodel:{device().slug}=1" in said.splitlines()[0]


def test_without_a_scheduler_it_says_so_at_once():
    done = perfmodel("worker", "localhost")
    assert 2 == done.returncode
    assert 1 == len(done.stderr.splitlines())
    assert "the Dask scheduler at 'localhost' does not answer: missing port number" in done.stderr


@pytest.mark.device
def test_with_json_it_says_what_it_becomes(monkeypatch):
    became = []
    monkeypatch.setattr(clusters, "connected", lambda address: SimpleNamespace(close=lambda: None))
    monkeypatch.setattr(os, "execve", lambda program, command, environment: became.append((command, environment)))
    slug = device().slug
    said = CliRunner().invoke(application(), ["worker", "tcp://host:1", "--device", slug, "--json"]).stdout
    document = json.loads(said)
    assert ("perfmodel.worker/1", slug, device().index) == tuple(document[key] for key in ("schema", "slug", "index"))
    ((command, environment),) = became
    assert command == document["command"]
    assert ["--resources", f"perfmodel:{slug}=1"] == command[-2:]
    assert str(device().index) == environment[OWN_DEVICE]
