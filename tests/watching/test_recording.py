"""Recordings of real runs, against what the programs do by their text."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array as cla
import pytest

import perfmodel as pm
from perfmodel.cli.watch import environment
from perfmodel.errors import OptionError, StoreError
from perfmodel.versions import difference
from perfmodel.versions.sides import read_side
from perfmodel.watching.recorder import Recorder
from perfmodel.watching.recording import Recording, read_recording
from tests.watching.programs import SPMV

TIMES = 3
SIZES = (1000, 4000)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recording of a run in this process."""
    path = tmp_path_factory.mktemp("watched") / "recording"
    queue_type, launch = cl.CommandQueue, cl.enqueue_nd_range_kernel
    with pm.watch(path):
        names: dict[str, object] = {}
        exec(SPMV, names)
        names["run"](TIMES, SIZES)
    assert (queue_type, launch) == (cl.CommandQueue, cl.enqueue_nd_range_kernel)
    return path


@pytest.fixture(scope="module")
def recording(folder: Path) -> Recording:
    """The recording, as read."""
    return read_recording(folder)


def test_each_call_of_a_kernel_is_recorded_with_its_sizes(recording: Recording) -> None:
    calls = {(row.name, row.sizes["n"]): row.calls for row in recording.kernels}
    assert {(name, n): TIMES for name in ("spmv", "two_launches") for n in SIZES} == calls


def test_a_kernel_of_two_launches_is_timed_whole(recording: Recording) -> None:
    for row in recording.kernels:
        launches = row.launches
        assert (2 if row.name == "two_launches" else 1) == len(launches)
        assert all(launch.calls == TIMES for launch in launches)
        assert sum(launch.total_s for launch in launches) == pytest.approx(row.total_s)
        assert all(launch.total_s > 0 for launch in launches)


def test_other_commands_are_recorded_by_name(recording: Recording) -> None:
    others = {row.name: (row.calls, row.transfer) for row in recording.others}
    assert (3 * len(SIZES), True) == others["write_buffer"]  # the matrix
    assert (len(SIZES), True) == others["read_buffer"]  # x.get()
    assert (TIMES * len(SIZES), False) == others["divide"]  # x / max


def test_statistics_are_those_of_the_matrix(recording: Recording) -> None:
    for unit in recording.units:
        if unit.name.startswith("spmv"):
            rows = [row for row in recording.kernels if row.unit is not None and row.unit.content == unit.content]
            n, entries = rows[0].sizes["n"], rows[0].sizes["entries"]
            assert unit.statistics["k"] == pytest.approx(entries / n, rel=1e-6)
            assert n / 2 < unit.statistics["x:span"] <= n  # columns are anywhere


def test_parts_of_the_run_time_add_up(recording: Recording) -> None:
    (process,) = recording.processes
    shares, rows = process.shares, process.rows
    assert shares.total == pytest.approx(process.lasted_s, rel=0.01)
    assert shares.device == pytest.approx(sum(row.total_s for row in rows), rel=0.05)  # one queue runs in order
    assert shares.builds > 0


def test_counts_are_those_of_the_program_text(recording: Recording) -> None:
    """The same kernel is counted from its translation unit, with the mean trips of the matrix given by hand."""
    names: dict[str, object] = {}
    exec(SPMV, names)
    for row in recording.kernels:
        unit = row.unit
        assert unit is not None
        recorded = unit.counted(8)
        if unit.name.startswith("spmv"):
            n, entries = row.sizes["n"], row.sizes["entries"]
            assert entries == pytest.approx(float(recorded.operations(kind="mul")(n=n, entries=entries)), rel=1e-6)
        else:
            given = pm.count(names["two_launches"](), subgroup_size=8)
            at = {name: row.sizes[name] for name in given.parameters}
            assert given.to_json()["operation_table"] == recorded.to_json()["operation_table"]
            assert given.work_groups()(**at) == recorded.work_groups()(**at)


def test_a_recording_is_text(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            assert path.suffix == ".csv" or json.loads(text) is not None


def test_equal_processes_are_merged(folder: Path, recording: Recording, tmp_path: Path) -> None:
    (part,) = [path for path in folder.iterdir() if path.is_dir()]
    for rank in ("rank0", "rank1"):
        shutil.copytree(part, tmp_path / rank)
    both = read_recording(tmp_path)
    assert [2 * row.calls for row in recording.rows] == [row.calls for row in both.rows]
    assert both.device_s == pytest.approx(2 * recording.device_s)
    assert [unit.name for unit in recording.units] == [unit.name for unit in both.units]


def damaged(folder: Path, tmp_path: Path, name: str, change) -> Path:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    (path,) = copy.glob(f"*/{name}")
    path.write_bytes(change(path.read_bytes()))
    return copy


@pytest.mark.parametrize(("name", "change", "message"), [
    ("recording.json", lambda text: text.replace(b"recording/1", b"recording/9"), "newer than 'perfmodel.recording/1'"),
    ("recording.json", lambda text: text.replace(b"recording/1", b"recording/0"), "older schema"),
    ("recording.json", lambda text: text[:40], "recording.json'.* is not valid JSON"),
    ("rows.json", lambda text: text.replace(b'"calls"', b'"call"'), "rows.json'.* is not valid"),
    ("units.json", lambda text: b"[]", "rows.json'.* has a kernel that units.json lacks"),
    ("timeline.csv", lambda text: text.replace(b",", b";"), "timeline.csv'.* cannot be read"),
])  # fmt: skip
def test_a_damaged_file_is_named(folder: Path, tmp_path: Path, name: str, change, message: str) -> None:
    with pytest.raises(StoreError, match=message):
        _ = read_recording(damaged(folder, tmp_path, name, change)).shares


def test_a_folder_without_a_recording_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="has no recording: nothing was executed"):
        read_recording(tmp_path)


def test_a_folder_with_files_is_not_used(folder: Path) -> None:
    with pytest.raises(OptionError, match="give a folder that does not exist"), pm.watch(folder):
        pass


def test_a_block_inside_of_another_is_refused(tmp_path: Path) -> None:
    with pm.watch(tmp_path / "first"), pytest.raises(OptionError, match="recorded already"), pm.watch(tmp_path / "b"):
        pass


def test_a_queue_without_profiling_is_timed_by_the_host(tmp_path: Path) -> None:
    context = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(context)
    with pm.watch(tmp_path / "recording"):
        buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096)
        for _ in range(2):
            cl.enqueue_copy(queue, buffer, np.zeros(1024, np.float32))
    (row,) = read_recording(tmp_path / "recording").rows
    assert ("write_buffer", 2) == (row.name, row.calls)
    assert 2 == read_recording(tmp_path / "recording").processes[0].about.unprofiled
    assert row.total_s > 0


def run_app(tmp_path: Path, code: str, status: int = 0) -> Recording:
    """The recording of a program that ends with this status."""
    (tmp_path / "app.py").write_text(code)
    path = tmp_path / "recording"
    path.mkdir()
    variables = environment(path) | {"PYTHONPATH": os.pathsep.join([environment(path)["PYTHONPATH"], *sys.path])}
    done = subprocess.run([sys.executable, "app.py"], cwd=tmp_path, env=variables, capture_output=True, text=True)
    assert status == done.returncode, done.stderr
    return read_recording(path)


ENDS = {
    "raises": ("run(1)\nraise ValueError('bad')", 1), "leaves": ("run(1)\nsys.stdout.flush()\nos._exit(3)", 3),
    "forks": ("run(1)\nif os.fork() == 0:\n    os._exit(0)\nos.wait()", 0),
    "is killed early": ("run(1)\nimport time\ntime.sleep(0.5)\nos.kill(os.getpid(), 9)", -signal.SIGKILL),
    "crashes": ("run(1)\nimport ctypes, time\ntime.sleep(0.5)\nctypes.string_at(0)", -signal.SIGSEGV),
    "is killed": ("run(1)\nimport time\ntime.sleep(2.1)\nrun(1)\nos.kill(os.getpid(), 9)", -signal.SIGKILL),
}  # fmt: skip


@pytest.mark.parametrize("end", ENDS)
def test_a_recording_is_readable_however_the_program_ends(end: str, tmp_path: Path) -> None:
    code, status = ENDS[end]
    recording = run_app(tmp_path, f"{SPMV}\n{code}\n", status)
    assert (status >= 0) == recording.processes[0].about.finished
    assert {"spmv", "two_launches"} == {row.name for row in recording.kernels}
    assert 1 == len(recording.processes)


@pytest.mark.parametrize("how", ["spawn", "fork"])
def test_processes_of_a_pool_lose_nothing_when_it_terminates_them(how: str, tmp_path: Path) -> None:
    (tmp_path / "parts.py").write_text(SPMV)
    recording = run_app(tmp_path, f"""
import multiprocessing, pyopencl

def run(times):
    import parts
    parts.run(times)

if __name__ == "__main__":
    with multiprocessing.get_context("{how}").Pool(2) as pool:
        pool.map(run, (1, 2, 3), chunksize=1)
""")
    for name in ("spmv", "two_launches"):
        assert 6 * len(SIZES) == sum(row.calls for row in recording.kernels if row.name == name)
    assert all(unit.program is not None for unit in recording.units)


def test_a_program_that_another_replaces_in_its_process_is_recorded_too(tmp_path: Path) -> None:
    end = "if len(sys.argv) == 1:\n    run(2)\n    os.execl(sys.executable, sys.executable, 'app.py', 'again')\nrun(3)"
    recording = run_app(tmp_path, f"{SPMV}\n{end}\n")
    assert 2 == len(recording.processes)
    assert {5} == {row.calls for row in recording.kernels}


def test_a_fork_within_a_block_does_not_change_the_recording(tmp_path: Path) -> None:
    names: dict[str, object] = {}
    exec(SPMV, names)
    with pm.watch(tmp_path / "recording"):
        names["run"](1)
        if os.fork() == 0:
            os._exit(0)
        os.wait()
        names["run"](1)
    assert {2} == {row.calls for row in read_recording(tmp_path / "recording").kernels}


def test_queues_and_classes_of_the_program_remain_queues(tmp_path: Path) -> None:
    context = cl.create_some_context(interactive=False)
    before = cl.CommandQueue(context)
    with pm.watch(tmp_path / "recording"):

        class Own(cl.CommandQueue):
            def name(self) -> str:
                return "own"

        own = Own(context)
        assert "own" == own.name()
        assert all(isinstance(queue, cl.CommandQueue) for queue in (before, own, cl.CommandQueue(context)))
        assert issubclass(Own, cl.CommandQueue)
        assert not isinstance(context, cl.CommandQueue)
        assert 1000 == cla.zeros(before, 1000, np.float32).size
        assert own.properties & cl.command_queue_properties.PROFILING_ENABLE
    assert isinstance(own, cl.CommandQueue)


def test_a_recording_is_a_side_of_a_comparison(folder: Path, recording: Recording) -> None:
    side = read_side(str(folder), 8)
    assert {unit.name for unit in recording.units} == {*side.kernels} | {*side.errors}
    points = [point for name, each in side.kernels.items() if "launches" in name for point in each.points]
    assert {*SIZES} == {point["n"] for point in points}
    found = difference(side, side)
    assert [()] * len(side.kernels) == [each.changes for each in found.kernels]


def test_a_group_whose_shape_is_a_size_is_counted_at_its_size(tmp_path: Path) -> None:
    """Of the first call, in which each of 30 groups doubles 4 numbers."""
    queue = cl.CommandQueue(cl.create_some_context(interactive=False))
    rows = lp.make_kernel("{[p, i]: 0 <= p < n and 0 <= i < m}", "out[p, i] = 2*a[p, i]", lang_version=(2018, 2))
    rows = lp.tag_inames(rows, {"p": "g.0", "i": "l.0"})
    with pm.watch(tmp_path / "recording"):
        rows.executor(queue.context)(queue, a=cla.zeros(queue, (30, 4), np.float32))
    (unit,) = read_recording(tmp_path / "recording").units
    assert "so these counts hold for m = 4 only" in unit.notes[0]
    assert 120 == unit.counted(8).operations(kind="mul")(n=30, m=4)


def test_rows_that_were_read_are_written_while_the_program_only_computes(tmp_path: Path) -> None:
    recorder, written = Recorder(tmp_path / "recording"), threading.Event()
    recorder.writer.write = lambda *given, **named: written.set()
    recorder.unwritten = True  # events were read, and none is left
    thread = threading.Thread(target=recorder._write_often, daemon=True)
    thread.start()
    assert written.wait(30)
    recorder.ending.set()
    thread.join(30)
    assert not recorder.unwritten
