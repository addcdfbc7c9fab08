"""Processes that die, that grow, and that are interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ALL_COMPLETED, FIRST_COMPLETED, Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import cloudpickle
import numpy as np
import pytest
from joblib import parallel_config

import perfmodel as pm
from perfmodel.errors import JobsError, SchedulerError, UnpicklableVariantError, WorkerDiedError, WorkerDiedWarning
from perfmodel.processes import pool
from perfmodel.processes.pool import checked_jobs
from perfmodel.processes.variants import Outcome, Parcel
from tests.cluster import cluster
from tests.processes.variants import double, noted, write_file

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
        pytest.warns(WorkerDiedWarning, match=r"^1 of 2 workers \(tcp://[\d.:]+\) of the cluster ended") as told,
    ):  # fmt: skip
        counted = pm.count_all(variants)
    assert 1 == len(told)
    assert {name: -(-100 // int(name[1:])) for name in variants} == {
        name: counts.work_groups()(n=100) for name, counts in counted.items()
    }
    assert ([*variants], {}) == ([*counted], {**counted.errors})
    built = (tmp_path / "built").read_text().split()
    assert {*built} == {*variants}
    assert len(built) <= len(variants) + 4  # those that the killed worker had, and not much more


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
def test_processes_that_grew_are_replaced():
    """Each variant keeps more than a process may grow; loky looks after a variant, once a second."""
    variants = {str(width): partial(double, width) for width in range(1, 7)}
    found = pool.Pool(2).each(_grown, variants, "growing")
    assert [*variants] == [*found]
    assert len({*found.values()} - {os.getpid()}) >= 3


def _grown(kernel: object) -> int:
    vars(sys).setdefault("_held", []).append(b"x" * 320 * 2**20)
    time.sleep(1.1)
    return os.getpid()


def _pid(kernel: object) -> int:
    return os.getpid()


class Pretended:
    """Processes that do a variant when somebody waits for it: the oldest first, or one that dies with all others."""

    address = "tcp://host:1"

    def __init__(self, count: int = 2, deadly: tuple[str, ...] = (), dead: int = 0) -> None:
        self.count, self.deadly, self.dead = count, deadly, dead
        self.waiting: dict[Future, Parcel] = {}
        self.rounds: list[list[str]] = []  # what was under way at each look
        self.ended: list[bool] = []

    def shared(self, value):
        return value

    def submit(self, function, task, parcel):
        if self.dead:
            self.dead -= 1
            raise BrokenProcessPool("killed while it was idle")
        future = Future()
        self.waiting[future] = parcel
        return future

    def end(self, kill=False):
        assert kill or not self.waiting
        self.ended.append(kill)

    def gone(self):
        return ""

    def wait(self, futures, return_when=ALL_COMPLETED):
        """In place of `concurrent.futures.wait`."""
        if not all(future.done() for future in futures):
            names = [parcel.name for parcel in self.waiting.values()]
            self.rounds.append(names)
            if {*names} & {*self.deadly}:
                for future in self.waiting:
                    future.set_exception(BrokenProcessPool("killed"))
                self.waiting.clear()
            for future in [*self.waiting][: 1 if return_when == FIRST_COMPLETED else None]:
                future.set_result(Outcome(cloudpickle.dumps((self.waiting.pop(future).name, ()))))
        return {future for future in futures if future.done()}, {future for future in futures if not future.done()}


@pytest.fixture
def pretend(monkeypatch):
    def begin(**properties):
        found = Pretended(**properties)
        monkeypatch.setattr(pool, "wait", found.wait)
        monkeypatch.setattr(pool, "processes_for", lambda jobs, most: nullcontext(found))
        return found

    return begin


LETTERS = dict.fromkeys("abcdefghijklmnop", double)


def test_a_bounded_number_is_under_way(pretend):
    processes = pretend()
    assert [(name, name) for name in LETTERS] == [*pool.Pool(2).stream(_pid, LETTERS, "asking")]
    assert {2 * 2} == {len(names) for names in processes.rounds[:-3]}  # processes, variants of each
    assert [] == processes.ended


def test_nothing_runs_far_ahead_of_who_takes_it(pretend, monkeypatch):
    monkeypatch.setattr(pool, "SENT", 1)
    processes = pretend(count=1)
    found = pool.Pool(2).stream(_pid, LETTERS, "asking", most=1)
    assert ("a", "a") == next(found)
    assert [["a"]] == processes.rounds
    found.close()
    assert ["a"] == processes.rounds[-1]


def test_suspects_are_tried_alone_until_the_deadly_one_is_known(pretend):
    processes = pretend(deadly=("c",))
    with pytest.warns(WorkerDiedWarning, match="4 of 16 variants were under way and are done again") as told:
        found = pool.Pool(2).each(_pid, LETTERS, "asking")
    assert {name: name for name in LETTERS} | {"c": WorkerDiedError("c")} == found
    assert [*LETTERS] == [*found]
    assert 1 == len(told)
    assert [[*"abcd"], ["a"], ["b"], ["c"], ["d"]] == [names for names in processes.rounds if names][:5]
    assert [True, True] == processes.ended


def test_a_process_that_died_while_it_was_idle_condemns_nothing(pretend):
    processes = pretend(dead=2)
    assert {name: name for name in LETTERS} == pool.Pool(2).each(_pid, LETTERS, "asking")
    assert [True, True] == processes.ended


def test_what_cannot_be_pickled_is_left_out(pretend):
    pretend()
    lock = threading.Lock()
    found = pool.Pool(2).each(_pid, {**LETTERS, "held": lambda: lock}, "asking")
    assert isinstance(found.pop("held"), UnpicklableVariantError)
    assert {name: name for name in LETTERS} == found


def test_a_lost_scheduler_is_told(pretend, monkeypatch):
    processes = pretend()
    monkeypatch.setattr(pool, "wait", lambda futures, return_when="": ([one for one in futures if one.cancel()], []))
    with pytest.raises(SchedulerError, match="at 'tcp://host:1' does not answer: the connection is lost"):
        pool.Pool(2).each(_pid, LETTERS, "asking")
    assert 4 == len(processes.waiting)


@pytest.mark.slow
def test_processes_end_where_results_are_not_wanted_any_more():
    variants = {str(width): partial(double, width) for width in range(1, 100)}
    found = pool.Pool(2).stream(_pid, variants, "asking", most=1)
    (_, one), (_, two) = next(found), next(found)
    assert os.getpid() not in {one, two}
    found.close()
    for pid in {one, two}:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("group", "times"), [(True, 3), *(pytest.param(one, 1, marks=pytest.mark.nightly) for one in (True, False))]
)
def test_an_interrupt_leaves_no_process(group, times, tmp_path):
    """As a terminal sends it, to all processes at once, and as `kill -INT` does, to the first; also again and again."""
    path = write_file(tmp_path, tuple(range(1, 200)), "import pathlib, time; pathlib.Path(__file__).with_name('on')"
                      ".touch(); time.sleep(0.1)")  # fmt: skip
    command = [sys.executable, "-m", "perfmodel", "count", str(path), "--jobs", "2"]
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # a shell's background job ignores it
    )  # fmt: skip
    until = time.monotonic() + 60
    while not (tmp_path / "on").exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert len(processes_of(process.pid)) >= 3
    for _ in range(times):
        (os.killpg if group else os.kill)(process.pid, signal.SIGINT)
        time.sleep(0.1)
    out, err = process.communicate(timeout=30)
    assert 130 == process.returncode, err
    assert "" == out
    assert "perfmodel: interrupted" == err.splitlines()[-1]
    assert "Traceback" not in err
    until = time.monotonic() + 5
    while processes_of(process.pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert [] == processes_of(process.pid)


def test_integers_of_all_kinds_are_numbers_of_jobs():
    assert [2, -1] == [checked_jobs(np.int64(2)), checked_jobs(-1)]
    with pytest.raises(JobsError, match="jobs=False; give the number"):
        checked_jobs(False)
