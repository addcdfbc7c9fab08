"""Predictions, tables, advice and projections of a recording, against the same numbers computed another way."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import perfmodel as pm
from perfmodel.display import csv_text
from perfmodel.errors import NoWeightsError, OptionError
from perfmodel.facts import DeviceFacts, published
from perfmodel.io import shipped
from perfmodel.watching import tables
from perfmodel.watching.explained import OVERHEADS, Explanation, explain, slowed
from perfmodel.watching.page import recording_page, trace_events
from perfmodel.watching.recording import Recording, _beside, read_recording
from tests.watching.programs import SPMV, matrix

SIZES, TIMES = (1000, 4000), 4
MODEL = shipped("fitted_weights") / "pocl-skylake-avx512-amd-epyc" / "bottleneck.json"


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """A run with each kernel alone at its end."""
    path = tmp_path_factory.mktemp("watched") / "recording"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PERFMODEL_WATCH_REPLAY", "1")
        with pm.watch(path):
            names: dict[str, object] = {}
            exec(SPMV, names)
            names["run"](TIMES, SIZES)
    return read_recording(path)


@pytest.fixture(scope="module")
def explanation(recording: Recording) -> Explanation:
    """Its explanation by weights that do not depend on this machine."""
    return explain(recording, {0: pm.load(MODEL)}, jobs=1)


def test_predictions_are_those_of_the_kernel_with_its_data(explanation: Explanation) -> None:
    names: dict[str, object] = {}
    exec(SPMV, names)
    model = pm.load(MODEL).by_clock("device")
    for each in explanation.kernels:
        unit, n = each.row.unit, each.row.sizes["n"]
        assert unit is not None
        assert each.predicted is not None
        if unit.name == "spmv":
            starts, columns, values = matrix(n)
            counts = pm.count(names["spmv"](), model.fitted.subgroup_size, arrays={
                "starts": starts, "columns": columns, "values": values, "x": np.ones(n),
            })  # fmt: skip
        else:
            counts = pm.count(names["two_launches"](), model.fitted.subgroup_size)
        expected = model.predict(counts, {name: each.row.sizes[name] for name in counts.parameters})
        assert float(expected.seconds) == pytest.approx(float(each.predicted.seconds), rel=1e-9)
        assert expected.interval == pytest.approx(each.predicted.interval, rel=1e-9)


def test_each_kernel_is_run_alone(explanation: Explanation) -> None:
    for each in explanation.kernels:
        assert each.row.alone_s is not None
        assert 0 < each.row.alone_s < 1


def test_time_to_win_is_what_the_roofs_and_the_launches_leave(explanation: Explanation) -> None:
    for each in explanation.kernels:
        assert each.predicted is not None
        assert each.point is not None
        launches = sum(each.predicted.terms.get(name, 0.0) for name in OVERHEADS)
        left = each.row.total_s - each.row.calls * (each.point.bound_s + launches)
        assert each.to_win_s == pytest.approx(max(left, 0.0))


def test_a_whole_program_takes_the_sum_of_its_calls(explanation: Explanation) -> None:
    parts = [(each.row.calls, each.predicted) for each in explanation.kernels if each.predicted]
    assert explanation.seconds == pytest.approx(sum(calls * part.seconds for calls, part in parts))
    low, high = explanation.interval
    assert low == pytest.approx(sum(calls * part.interval[0] for calls, part in parts))
    assert high == pytest.approx(sum(calls * part.interval[1] for calls, part in parts))
    assert 0 < explanation.launch_s < explanation.seconds


def test_a_device_without_weights_has_measured_times_only(recording: Recording) -> None:
    unknown = replace(recording.devices[0], name="a device of nobody")
    bare = explain(replace(recording, devices=(unknown,)), jobs=1)
    text = "\n".join(tables.lines(bare, {}))
    assert "predicted" not in text.split("note:")[0]
    assert "note: no predictions: no weights were found of the device in use, 'a device of nobody'" in text
    assert "perfmodel calibrate" in text
    assert "spmv" in text


def test_the_table_has_each_kernel_at_each_size(explanation: Explanation) -> None:
    records = tables.kernel_table(explanation).records
    assert {(name, n) for name in ("spmv", "two_launches") for n in SIZES} == {
        (record["kernel"], int(record["sizes_text"].split("n=")[1].split()[0])) for record in records
    }
    total = sum(record["share"] for record in records) + sum(row.total_s for row in explanation.recording.others) / (
        explanation.recording.device_s
    )
    assert total == pytest.approx(1)
    assert csv_text(list(records[0]), records).count("\n") == len(records) + 1


def changed(recording: Recording, folder: Path, lasted_ns: int, intervals: str, totals: dict[str, int]) -> Recording:
    """A copy of a recording with another run time, timeline and times of rows [ns], by the names of other commands."""
    shutil.copytree(recording.folder, folder)
    (about,) = folder.glob("*/recording.json")
    about.write_text(json.dumps({**json.loads(about.read_text()), "lasted_ns": lasted_ns}))
    about.with_name("timeline.csv").write_text(intervals)
    rows = json.loads(about.with_name("rows.json").read_text())
    rows = [{**row, "total_ns": totals.get(row.get("name", ""), 10**6)} for row in rows]
    about.with_name("rows.json").write_text(json.dumps(rows))
    return read_recording(folder)


def test_advice_names_what_limits_the_run(recording: Recording, tmp_path: Path) -> None:
    builds = changed(recording, tmp_path / "builds", 1000, "0,600,-2\n600,700,0\n", {"divide": 10**9})
    advice = explain(builds, {}, jobs=1).advice
    assert "60.0 % of the run generates and builds code, which a longer run does once" in advice
    assert any(sentence.startswith("the device is busy 10.0 % of the run; in 30.0 % (300 ns)") for sentence in advice)
    assert any("array operations outside of Loopy" in sentence for sentence in advice)
    waits = changed(recording, tmp_path / "waits", 1000, "0,900,-1\n800,1000,0\n", {"": 10**9})
    assert "in 80.0 % of the run the host waits while no kernel runs" in explain(waits, {}, jobs=1).advice


def test_advice_names_the_threads_that_are_not_pinned(explanation: Explanation) -> None:
    def advice(seconds: float, environment: dict[str, str]) -> str:
        recording = explanation.recording
        rows = tuple(replace(row, times_s=(seconds,)) for row in recording.rows)
        processes = tuple(
            replace(process, about=process.about.model_copy(update={"environment": environment}))
            for process in recording.processes
        )
        return " ".join(replace(explanation, recording=replace(recording, processes=processes, rows=rows)).advice)

    assert "set POCL_AFFINITY=1" in advice(5e-5, {"POCL_DEVICES": "cpu"})
    assert "POCL_AFFINITY" not in advice(5e-5, {"POCL_AFFINITY": "1"})
    assert "POCL_AFFINITY" not in advice(5e-4, {})


def test_the_host_slows_launches_that_use_all_cores() -> None:
    cpu = DeviceFacts.from_json(json.loads(MODEL.read_text())["facts"])
    assert cpu.known("compute_units") == 2
    assert slowed(cpu, groups=64, beside=0.0, seconds=1e-4) == 1.0
    assert slowed(cpu, groups=64, beside=0.5, seconds=1e-4) == pytest.approx(4 / 3)
    assert slowed(cpu, groups=64, beside=1.0, seconds=1e-4) == 2.0
    assert slowed(cpu, groups=64, beside=1.0, seconds=1e-2) == 1.5  # three threads on two cores
    assert slowed(cpu, groups=1, beside=1.0, seconds=1e-4) == 1.0  # the host has a core of its own
    assert slowed(published("titan-v"), groups=64, beside=1.0, seconds=1e-4) == 1.0


def test_the_share_beside_the_host_is_that_of_each_nanosecond() -> None:
    generator = np.random.default_rng(5)
    for _ in range(20):
        kinds = generator.integers(-3, 3, 40)
        starts = generator.integers(0, 300, 40)
        timeline = np.stack([starts, starts + generator.integers(0, 40, 40), kinds], axis=1)
        waits = {time for start, end, kind in timeline if kind == -1 for time in range(start, end)}
        free: dict[int, list[bool]] = {}
        for start, end, kind in timeline:
            if kind >= 0:
                free.setdefault(kind, []).extend(time not in waits for time in range(start, end))
        expected = {kind: np.mean(times) for kind, times in free.items() if times}
        assert _beside(timeline) == pytest.approx(expected)
    assert _beside(np.zeros((0, 3), np.int64)) == {}


def test_the_document_is_json(explanation: Explanation) -> None:
    document = tables.document(explanation, {"elsewhere": explanation})
    again = json.loads(json.dumps(document, allow_nan=False))
    assert len(explanation.kernels) == len(again["kernels"])
    assert again["elsewhere"]["elsewhere"]["seconds"] == pytest.approx(explanation.seconds)


def test_the_trace_has_each_interval(recording: Recording) -> None:
    events = [event for event in trace_events(recording) if event["ph"] == "X"]
    assert len(recording.processes[0].timeline) == len(events)
    on_device = sum(event["dur"] for event in events if event["tid"] == "device 0")
    assert on_device == pytest.approx(1e6 * recording.device_s, rel=1e-6)


def test_the_report_shows_every_kernel(explanation: Explanation) -> None:
    page = recording_page(explanation, {"another device": explanation}, {"written": "today"})
    assert all(f">{name} <code>" in page for name in ("spmv", "two_launches"))
    assert "On other devices" in page
    assert all(f'data-figure="{name}"' in page for name in ("parts", "to-win", "roofline", "alone", "timeline"))


def test_a_device_is_found_by_its_weights_or_by_published_facts() -> None:
    from perfmodel.cli.watch import model_of

    assert "NVIDIA TITAN V" == model_of("titan-v").device
    assert "nvidia-titan-v" in str(model_of("titan-v").path)
    transferred = model_of("h100")
    assert transferred.fitted.transferred_from
    with pytest.raises(NoWeightsError, match=r"with weights \(.*nvidia-titan-v.*\), or with published facts \(a100, "):
        model_of("no such device")


@pytest.mark.parametrize(("program", "message"), [
    (["missing.py"], "the file 'missing.py' does not exist"), (["-m"], "-m was given without a module"),
    (["no-such-command"], "neither a Python file, nor a command, nor the folder of a recording"),
])  # fmt: skip
def test_what_cannot_run_is_refused(program: list[str], message: str) -> None:
    from perfmodel.cli.watch import command_of

    with pytest.raises(OptionError, match=message):
        command_of(program)


def test_the_command_passes_the_status_and_the_output_on(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(f"{SPMV}\nrun(int(sys.argv[1]), (1000,))\nsys.exit(3)\n")
    command = [sys.executable, "-m", "perfmodel", "watch", "--out", "kept", "app.py", "2"]
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(pm.__file__).parents[1]), *sys.path])}
    done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True)
    assert 3 == done.returncode, done.stderr
    assert "two_launches" in done.stdout
    assert "the recording is in kept" in done.stderr


def test_a_terminated_command_terminates_the_program_and_explains_it(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(f"{SPMV}\nimport time\nrun(2, (1000,))\ntime.sleep(100)\n")
    command = [sys.executable, "-m", "perfmodel", "watch", "--out", "kept", "app.py"]
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(pm.__file__).parents[1]), *sys.path])}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=tmp_path, env=variables, stdout=pipe, stderr=pipe) as watch:
        for _ in range(600):
            time.sleep(0.1)
            rows = [row for path in (tmp_path / "kept").glob("*/rows.json") for row in json.loads(path.read_text())]
            if sum("unit" in row and row["calls"] > 0 for row in rows) > 1:  # of both kernels, with a whole call
                break
        watch.terminate()
        output, messages = watch.communicate(timeout=60)
    assert 128 + signal.SIGTERM == watch.returncode
    assert b"two_launches" in output
    assert b"the program was ended by SIGTERM" in messages
