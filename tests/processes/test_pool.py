"""Processes that die, that grow, and that are interrupted; the workers of a cluster."""

import os
import signal
import subprocess
import sys
import time
import warnings
from collections import deque
from concurrent.futures import FIRST_COMPLETED, Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import cloudpickle
import pytest
from joblib import parallel_config

import perfmodel as pm
from perfmodel.errors import SchedulerError, VariantError, VersionError, WorkerDiedWarning
from perfmodel.processes import pool
from perfmodel.processes.pool import Processes, processes_for
from perfmodel.processes.variants import Outcome, Parcel
from tests.cluster import cluster
from tests.processes.variants import double, noted, write_file

ROOT = Path(__file__).parents[2]
LETTERS = dict.fromkeys("abcdefghijklmnop", double)


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


def _pid(kernel: object) -> int:
    return os.getpid()


@pytest.mark.slow
def test_killed_processes_lose_no_variant(tmp_path):
    ends = {2: "once", 3: "always"}
    variants = {f"v{i}": partial(noted, str(tmp_path), f"v{i}", i + 1, ends.get(i, "")) for i in range(6)}
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        counted = pm.count_all(variants, 2)
    assert {f"v{i}": -(-100 // (i + 1)) for i in range(6) if i != 3} == {
        name: counts.work_groups()(n=100) for name, counts in counted.items()
    }
    assert [name for name in variants if name != "v3"] == [*counted]
    assert isinstance(counted.errors["v3"], VariantError)
    texts = [str(one.message) for one in given if one.category is WorkerDiedWarning]
    assert 1 <= len(texts) <= 2
    assert len((tmp_path / "built").read_text().split()) <= len(variants) + 4 * len(texts)


@pytest.mark.nightly
@pytest.mark.parametrize("end", ["once", "always"])
def test_killed_workers_of_a_cluster_lose_no_variant(tmp_path, end):
    variants = {str(width): partial(noted, str(tmp_path), str(width), width, end if width == 6 else "")
                for width in range(1, 9)}  # fmt: skip
    with cluster(workers=2) as client, client.as_current(), parallel_config(backend="dask"), warnings.catch_warnings():
        warnings.simplefilter("ignore", WorkerDiedWarning)
        counted = pm.count_all(variants)
    assert [name for name in variants if name != "6" or end == "once"] == [*counted]
    assert {*variants} - {*counted} == {*counted.errors}


@pytest.mark.slow
def test_processes_end_with_their_results(monkeypatch):
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    variants = {str(width): partial(double, width) for width in range(1, 100)}
    found = pool.Pool(2).stream(lambda kernel: (os.getpid(), os.environ["OMP_NUM_THREADS"]), variants, "asking", most=1)
    (_, (one, threads)), (_, (two, _)) = next(found), next(found)
    assert ("7", True) == (threads, os.getpid() not in {one, two})
    found.close()
    for pid in {one, two}:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.slow
def test_given_processes_stay_for_later_variants():
    variants = {str(width): partial(double, width) for width in range(1, 5)}
    with pool.processes_for(1, 1) as processes:
        kept = pool.Pool(2, processes=processes)
        first, second = (kept.stream(lambda kernel: os.getpid(), variants, "asking") for _ in range(2))
        (_, pid) = next(first)
        first.close()  # before all variants are done
        assert {pid} == {found for _, found in second}


@pytest.mark.slow
def test_what_is_not_finished_in_time_is_left_out():
    def slow(width):
        time.sleep(600 if width == 2 else 0)
        return double(width)

    variants = {str(width): partial(slow, width) for width in range(1, 9)}
    with pool.processes_for(2, 8) as processes:
        kept = pool.Pool(2, processes=processes)
        dict(kept.stream(lambda kernel: 0, {"1": variants["1"], "3": variants["3"]}, "starting"))
        processes.until = time.monotonic() + 5
        found = dict(kept.stream(lambda kernel: os.getpid(), variants, "asking"))
        assert [name for name in variants if name != "2"] == [*found]
        for pid in {*found.values()}:
            with pytest.raises(ProcessLookupError):
                os.kill(pid, 0)


@pytest.mark.slow
@pytest.mark.parametrize(("group", "times"), [(True, 3), pytest.param(False, 1, marks=pytest.mark.nightly)])
def test_an_interrupt_leaves_no_process(group, times, tmp_path):
    """A terminal interrupts all processes, `kill -INT` only the first one."""
    path = write_file(tmp_path, tuple(range(1, 200)), "import pathlib, time; pathlib.Path(__file__).with_name('on')"
                      ".touch(); time.sleep(0.1)")  # fmt: skip
    command = [sys.executable, "-m", "perfmodel", "count", str(path), "--jobs", "2"]
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    until = time.monotonic() + 60
    while not (tmp_path / "on").exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert len(processes_of(process.pid)) >= 3
    for _ in range(times):
        (os.killpg if group else os.kill)(process.pid, signal.SIGINT)
        time.sleep(0.1)
    out, err = process.communicate(timeout=30)
    assert (130, "") == (process.returncode, out), err
    assert "perfmodel: interrupted" == err.splitlines()[-1]
    assert "Traceback" not in err
    until = time.monotonic() + 5
    while processes_of(process.pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert [] == processes_of(process.pid)


def test_an_interrupt_is_raised_after_processes_have_started():
    def interrupted_twice():
        with pool._interrupts_held():
            blocked = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()))"
            started = subprocess.run([sys.executable, "-c", blocked], capture_output=True, text=True, check=True)
            for _ in range(2):
                os.kill(os.getpid(), signal.SIGINT)
            outputs.append(started.stdout)

    outputs, before = [], signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            interrupted_twice()
        assert signal.default_int_handler is signal.getsignal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert ["True\n"] == outputs


class Replaced(Processes):
    """Finishes the oldest variant when the pool waits; all variants die together with one of the deadly ones."""

    def __init__(self, count: int = 2, deadly: tuple[str, ...] = (), dead: int = 0) -> None:
        super().__init__(count)
        self.deadly, self.dead = deadly, dead
        self.waiting: dict[Future, Parcel] = {}
        self.rounds: deque[list[str]] = deque()  # the variants under way at each wait
        self.ends = 0

    def submit(self, function, task, parcel):
        if self.dead:
            self.dead -= 1
            raise BrokenProcessPool("killed while it was idle")
        future = Future()
        self.waiting[future] = parcel
        return future

    def end(self, kill=False):
        self.ends += 1

    def wait(self, futures, timeout, return_when):
        if not all(future.done() for future in futures):
            names = [parcel.name for parcel in self.waiting.values()]
            self.rounds.append(names)
            if {*names} & {*self.deadly}:
                for future in self.waiting:
                    future.set_exception(BrokenProcessPool("killed"))
                self.waiting.clear()
            for future in [*self.waiting][: 1 if return_when == FIRST_COMPLETED else None]:
                future.set_result(Outcome(cloudpickle.dumps((self.waiting.pop(future).name, ()))))
        return SimpleNamespace(done={future for future in futures if future.done()})


@pytest.fixture
def replace(monkeypatch):
    def made(**properties):
        processes = Replaced(**properties)
        monkeypatch.setattr(pool, "wait", processes.wait)
        monkeypatch.setattr(pool, "processes_for", lambda jobs, most: nullcontext(processes))
        return processes

    return made


def test_a_bounded_number_is_under_way(replace):
    processes = replace()
    assert [(name, name) for name in LETTERS] == [*pool.Pool(2).stream(_pid, LETTERS, "asking")]
    assert {2 * 2} == {len(names) for names in [*processes.rounds][:-3]}
    assert 0 == processes.ends


def test_variants_under_way_are_tried_again_alone(replace):
    processes = replace(deadly=("c",))
    with pytest.warns(WorkerDiedWarning, match="4 of 16 variants were under way and are done again") as given:
        found = dict(pool.Pool(2).stream(_pid, LETTERS, "asking"))
    assert isinstance(found["c"], VariantError)
    assert {name: name for name in LETTERS if name != "c"} == {name: found[name] for name in found if name != "c"}
    assert ([*LETTERS], 1, 2) == ([*found], len(given), processes.ends)
    assert [[*"abcd"], ["a"], ["b"], ["c"], ["d"]] == [names for names in processes.rounds if names][:5]


def test_a_process_that_died_while_idle_ends_no_variant(replace):
    replace(dead=1)
    with pytest.warns(WorkerDiedWarning):
        assert {name: name for name in LETTERS} == dict(pool.Pool(2).stream(_pid, LETTERS, "asking"))


def test_a_lost_scheduler_is_an_error(replace, monkeypatch):
    replace()
    monkeypatch.setattr(
        pool, "wait", lambda futures, *others: SimpleNamespace(done={one for one in futures if one.cancel()})
    )
    with pytest.raises(SchedulerError, match="the connection to the Dask scheduler is lost"):
        dict(pool.Pool(2).stream(_pid, LETTERS, "asking"))


def cluster_of(workers, wait=lambda number, timeout: None):
    """Return a client of a cluster whose workers have these numbers of threads by address."""
    return SimpleNamespace(
        nthreads=lambda: workers, get_executor=lambda pure: None, wait_for_workers=wait,
        scheduler=SimpleNamespace(address="tcp://host:1"),
    )  # fmt: skip


@pytest.mark.parametrize(("jobs", "most", "expected"), [(-1, 100, 3), (2, 100, 2), (64, 100, 3), (-1, 1, 1)])
def test_jobs_bound_the_workers_of_a_cluster(monkeypatch, jobs, most, expected):
    monkeypatch.setattr("perfmodel.cluster.check_versions", lambda client, workers: None)
    client = cluster_of(dict.fromkeys("abc", 4))
    monkeypatch.setattr("joblib.parallel.get_active_backend", lambda: (SimpleNamespace(client=client), 12))
    with processes_for(jobs, most) as found:
        assert expected == found.count


@pytest.mark.parametrize(("jobs", "most", "expected"), [(24, 1, 1), (24, 3, 3), (2, 3, 2), (-1, 1, 1)])
def test_there_are_no_more_processes_than_variants(jobs, most, expected):
    with processes_for(jobs, most) as found:
        assert expected == found.count


def test_a_cluster_without_suitable_workers_is_refused(monkeypatch):
    def refuse(client, workers):
        raise VersionError(f"other versions: {workers}")

    def none(number, timeout):
        raise TimeoutError

    monkeypatch.setattr("perfmodel.cluster.check_versions", refuse)
    with pytest.raises(VersionError, match=r"\['tcp://a:1', 'tcp://b:1'\]"):
        pool.ClusterProcesses(cluster_of({"tcp://b:1": 1, "tcp://a:1": 2}), 9)
    with pytest.raises(SchedulerError, match=r"has no workers \(waited 10 s\); start some: dask worker tcp://host:1"):
        pool.ClusterProcesses(cluster_of({}, none), 9)
