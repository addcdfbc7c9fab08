"""Processes of this machine and of a cluster."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures.process import BrokenProcessPool
from types import SimpleNamespace

import pytest
from joblib import Parallel, cpu_count, delayed
from joblib.externals.loky.process_executor import TerminatedWorkerError

import perfmodel as pm
from perfmodel.errors import EmptyClusterError, WorkerVersionError
from perfmodel.processes import pool
from perfmodel.processes.pool import OwnProcesses, is_death, processes_for
from tests.cluster import cluster
from tests.processes.variants import double


def cluster_of(workers):
    """Pretend to be the client of a cluster with threads by address."""
    return SimpleNamespace(
        nthreads=lambda: workers, get_executor=lambda pure: None, wait_for_workers=lambda number, timeout: None,
        scheduler=SimpleNamespace(address="tcp://host:1"),
    )  # fmt: skip


@pytest.mark.slow
def test_a_cluster_without_workers_is_told(monkeypatch):
    monkeypatch.setattr(pool, "COMES_S", 0.3)
    with cluster(workers=0) as client, pytest.raises(EmptyClusterError, match=r"waited 0.3 s\); start some, as 'dask"):
        pool.ClusterProcesses(client, 9)


def test_a_worker_of_a_cluster_with_other_versions_is_refused(monkeypatch):
    wrong = WorkerVersionError("tcp://a:1", ("loopy 2024.1 (here 2025.2)",))
    asked = []

    def refuse(client, workers):
        asked.append(workers)
        raise wrong

    monkeypatch.setattr("perfmodel.cluster.check_versions", refuse)
    client = cluster_of({"tcp://b:1": 1, "tcp://a:1": 2})
    monkeypatch.setattr("joblib.parallel.get_active_backend", lambda: (SimpleNamespace(client=client), 2))
    with pytest.raises(WorkerVersionError, match=r"loopy 2024\.1 \(here 2025\.2\)"):
        pm.count_all({"a": double(4)}, 2)
    assert [["tcp://a:1", "tcp://b:1"]] == asked


def test_the_cluster_of_the_block_is_used_in_full_or_in_part(monkeypatch):
    monkeypatch.setattr("perfmodel.cluster.check_versions", lambda client, workers: None)
    client = cluster_of(dict.fromkeys("abc", 4))
    monkeypatch.setattr("joblib.parallel.get_active_backend", lambda: (SimpleNamespace(client=client), 12))
    for jobs, expected in ((-1, 3), (2, 2), (64, 3)):
        with processes_for(jobs, 100) as found:
            assert (expected, "tcp://host:1") == (found.count, found.address)


@pytest.mark.parametrize(("jobs", "most", "expected"), [(24, 1, 1), (24, 3, 3), (2, 3, 2), (-1, 1, 1)])
def test_there_are_no_more_processes_than_variants(monkeypatch, jobs, most, expected):
    with processes_for(jobs, most) as found:
        assert expected == found.count
    monkeypatch.setattr("perfmodel.cluster.check_versions", lambda client, workers: None)
    client = cluster_of(dict.fromkeys(map(str, range(48)), 1))
    monkeypatch.setattr("joblib.parallel.get_active_backend", lambda: (SimpleNamespace(client=client), 48))
    with processes_for(jobs, most) as found:
        assert expected == found.count


def test_who_is_gone_is_named(monkeypatch):
    monkeypatch.setattr("perfmodel.cluster.check_versions", lambda client, workers: None)
    there = dict.fromkeys("abcde", 1)
    found = pool.ClusterProcesses(cluster_of(there), 9)
    assert "" == found.gone()
    there["new"] = there.pop("d")
    assert "1 of 5 workers (d)" == found.gone()
    for name in "abc":
        del there[name]
    assert "4 of 5 workers (a, b, c, ...)" == found.gone()


@pytest.mark.slow
def test_processes_of_the_program_itself_go_on(monkeypatch):
    """Those of a `Parallel` that is under way are not ours to end; ours have threads of their own."""
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    theirs = Parallel(n_jobs=2, return_as="generator")(delayed(os.getpid)() for _ in range(20))
    first = next(theirs)
    ours = OwnProcesses(1)
    assert os.getpid() != ours.submit(os.getpid).result() not in {first, os.getpid()}
    assert "6640" == ours.submit(os.getenv, "PYTHONHASHSEED").result()
    assert "7" == ours.submit(os.getenv, "OMP_NUM_THREADS").result()
    assert str(cpu_count()) == ours.submit(os.getenv, "MKL_NUM_THREADS").result()
    ours.end(kill=True)
    assert 19 == len([*theirs])


def test_what_a_death_is():
    assert is_death(BrokenProcessPool())
    assert is_death(TerminatedWorkerError())
    assert is_death(type("KilledWorker", (Exception,), {})())
    assert not is_death(RuntimeError())


def interrupted_thrice(heard):
    with pool._interrupts_held():
        blocked = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()))"
        begun = subprocess.run([sys.executable, "-c", blocked], capture_output=True, text=True, check=True)
        for _ in range(3):
            os.kill(os.getpid(), signal.SIGINT)
        heard.append(begun.stdout)


@pytest.fixture
def interruptible():
    """A shell's background job ignores interrupts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_is_heard_after_processes_have_begun(interruptible):
    """It comes while they begin: they never hear it, and the block is not left in its middle."""
    heard = []
    with pytest.raises(KeyboardInterrupt):
        interrupted_thrice(heard)
    assert ["True\n"] == heard
    assert signal.default_int_handler is signal.getsignal(signal.SIGINT)
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
