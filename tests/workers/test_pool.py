"""Processes that die, that grow, and that are interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import warnings
from functools import partial
from pathlib import Path

import pytest
from joblib import parallel_config

import perfmodel as pm
from perfmodel.errors import WorkerDiedError, WorkerDiedWarning
from perfmodel.workers import pool
from tests.cluster import cluster
from tests.workers.variants import double, noted, write_file

ROOT = Path(__file__).parents[2]


def processes_of(session: int) -> list[str]:
    """Return the commands of a session's processes."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == session and fields[0] != "Z":
                found.append((entry / "cmdline").read_text().replace("\0", " "))
        except (OSError, IndexError, ValueError):
            continue
    return found


@pytest.mark.slow
def test_killed_workers_lose_nothing_and_do_nothing_twice(tmp_path):
    ends = {3: "once", 5: "always"}
    variants = {
        f"v{place}": partial(noted, str(tmp_path), f"v{place}", place + 1, ends.get(place, "")) for place in range(8)
    }
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        counted = pm.count_all(variants, 2)
    assert {name: -(-100 // (int(name[1:]) + 1)) for name in variants if name != "v5"} == {
        name: counts.work_groups()(n=100) for name, counts in counted.items()
    }
    assert [name for name in variants if name != "v5"] == [*counted]
    assert {"v5": WorkerDiedError("v5")} == {**counted.errors}
    said = [str(one.message) for one in told if one.category is WorkerDiedWarning]
    assert 1 <= len(said) <= 3
    assert all("a process was killed or crashed: " in one and "\n" not in one for one in said)
    built = (tmp_path / "built").read_text().split()
    assert {*built} == {*variants} - {"v5"}
    assert len(built) <= len(variants) + 4 * len(said)  # of each death, only what was under way


@pytest.mark.slow
def test_a_killed_worker_of_a_cluster_loses_nothing_and_does_nothing_twice(tmp_path):
    variants = {f"v{width}": partial(noted, str(tmp_path), f"v{width}", width, "once" if width == 6 else "")
                for width in range(1, 17)}  # fmt: skip
    with (
        cluster(workers=2, resources={}) as client, client.as_current(), parallel_config(backend="dask"),
        pytest.warns(WorkerDiedWarning, match=r"^1 of 2 workers \(tcp://[\d.:]+\) of the cluster ended meanwhile") as told,
    ):  # fmt: skip
        counted = pm.count_all(variants)
    assert 1 == len(told)
    assert {name: -(-100 // int(name[1:])) for name in variants} == {
        name: counts.work_groups()(n=100) for name, counts in counted.items()
    }
    assert ([*variants], {}) == ([*counted], {**counted.errors})
    built = (tmp_path / "built").read_text().split()
    assert {*built} == {*variants}
    assert len(built) <= len(variants) + 4  # two batches of two variants: of the worker that was killed


@pytest.mark.nightly
def test_a_variant_that_kills_each_worker_of_a_cluster_gets_an_error(tmp_path):
    variants = {str(width): partial(noted, str(tmp_path), str(width), width, "always" if width == 6 else "")
                for width in range(1, 9)}  # fmt: skip
    with (
        cluster(workers=2, resources={}) as client, client.as_current(), parallel_config(backend="dask"),
        pytest.warns(WorkerDiedWarning),
    ):  # fmt: skip
        counted = pm.count_all(variants)
    assert ({"6": WorkerDiedError("6")}, [str(width) for width in range(1, 9) if width != 6]) == (
        {**counted.errors}, [*counted])  # fmt: skip


@pytest.mark.slow
def test_processes_that_grew_are_replaced(monkeypatch):
    """With a bound that the first batch breaks, each batch has processes of its own."""
    monkeypatch.setattr(pool, "GROWTH_BYTES", -1)
    monkeypatch.setattr(pool, "MOST", 1)
    rounds = []
    original = pool._Processes.replace
    monkeypatch.setattr(pool._Processes, "replace", lambda self: rounds.append(1) or original(self))
    found = pool.Pool(2).each(_pid, {str(width): partial(double, width) for width in range(1, 13)}, "asking")
    assert [str(width) for width in range(1, 13)] == [*found]
    assert 2 <= len(rounds)
    assert len({*found.values()} - {os.getpid()}) >= 3


def _pid(kernel: object) -> int:
    return os.getpid()


@pytest.mark.slow
@pytest.mark.parametrize("group", [True, pytest.param(False, marks=pytest.mark.nightly)])
def test_an_interrupt_leaves_no_process(group, tmp_path):
    """As a terminal sends it, to all processes at once, and as `kill -INT` does, to the first."""
    path = write_file(tmp_path, tuple(range(1, 200)), "import pathlib, time; pathlib.Path(__file__).with_name('on')"
                      ".touch(); time.sleep(0.1)")  # fmt: skip
    command = [sys.executable, "-m", "perfmodel", "count", str(path), "--jobs", "2"]
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    until = time.monotonic() + 60
    while not (tmp_path / "on").exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert len(processes_of(process.pid)) >= 3
    (os.killpg if group else os.kill)(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert 130 == process.returncode, err
    assert "" == out
    assert "perfmodel: interrupted" == err.splitlines()[-1]
    assert "Traceback" not in err
    until = time.monotonic() + 5
    while processes_of(process.pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert [] == processes_of(process.pid)
