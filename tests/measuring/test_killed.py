"""Killed at any instant and begun again, a campaign, a fit and a calibration end as if they had been left alone."""

import json
import random
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from perfmodel import store
from perfmodel.cli import application
from perfmodel.kernels import discover
from perfmodel.measuring import measure
from perfmodel.measuring.campaign import QUICK
from perfmodel.opencl import find
from perfmodel.store import Measurements
from tests.fuzz.workspace import ROOT, pristine

pytestmark = [pytest.mark.device, pytest.mark.slow, pytest.mark.usefixtures("times_are_believed")]

# One rung of sizes and no least time: what is measured does not hang on how fast a run is.
KERNEL = """
import loopy as lp
import numpy as np
from perfmodel.kernels import KernelClass, Ladder


def build(factor):
    t_unit = lp.make_kernel(
        "{{[i]: 0 <= i < n}}",
        f"out[i] = a[i] {sign} {{factor}}",
        [lp.GlobalArg("out, a", np.float32, shape="n"), lp.ValueArg("n", np.int32)],
        assumptions="n >= 1 and n mod 64 = 0",
        lang_version=(2018, 2),
        name="{name}",
    )
    return lp.split_iname(t_unit, "i", 64, outer_tag="g.0", inner_tag="l.0")


KERNEL = KernelClass(
    name="{name}", group="vector", build=build, variants=({{"factor": 2}}, {{"factor": 3}}),
    sizes=Ladder(lambda e: tuple({{"n": k * 2**e}} for k in (1, 2, 3)), start=6, rungs=1),
    reference=lambda arguments, factor: {{"out": arguments["a"] {sign} factor}}, tags=("paper", "overhead"),
)
"""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("kernels")
    for name, sign in (("plus", "+"), ("times", "*"), ("minus", "-")):
        (folder / f"{name}.py").write_text(KERNEL.format(name=name, sign=sign))
    return folder


CALIBRATE = """
import sys
from dataclasses import replace
from pathlib import Path
from perfmodel.calibration.calibrate import calibrate
from perfmodel.kernels import discover
from perfmodel.measuring.campaign import QUICK
from perfmodel.opencl import find
campaign = replace(QUICK, apart_s=0.0)
calibrate(find(), Path(sys.argv[1]), campaign, kernels=discover(sys.argv[2]), tests=discover(sys.argv[3]))
"""
MEASURE = """
import sys
from dataclasses import replace
from perfmodel.kernels import discover
from perfmodel.measuring import measure
from perfmodel.measuring.campaign import QUICK
from perfmodel.opencl import find
measure(discover(sys.argv[2]), find(), sys.argv[1], None, replace(QUICK, apart_s=0.0))
"""
COMMAND = "from perfmodel.cli import main; main()"
#: How often each is killed; scripts/nightly does it twenty times.
KILLS = (1, pytest.param(20, marks=pytest.mark.nightly))


def started(program: str, *arguments: str | Path) -> subprocess.Popen[str]:
    """Start a program of Python in a process of its own."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen[str]) -> None:
    """Wait for a process that nobody kills."""
    _, said = process.communicate()
    assert 0 == process.returncode, said


def octets(folder: Path) -> int:
    """Size of all files in a folder."""
    found = 0
    for path in folder.iterdir():
        with suppress(FileNotFoundError):  # a temporary file
            found += path.stat().st_size
    return found


def kill_after(process: subprocess.Popen[str], folder: Path, written: int, pause_s: float) -> bool:
    """Kill a process a moment after it wrote so many bytes; whether it was still at work."""
    before = octets(folder)
    while process.poll() is None and octets(folder) - before < written:
        time.sleep(0.001)
    time.sleep(pause_s)
    at_work = process.poll() is None
    process.kill()
    process.communicate()
    return at_work


def places(found: Measurements) -> list[store.Key]:
    return sorted(row.case_key for row in found.current)


def visited(path: Path) -> list[tuple[store.Key, str]]:
    """Which configuration each record is of, and when its visit began."""
    return [(row.case_key, row.visits[0].began_at) for row in store.read(path).rows] if path.exists() else []


def whole_and_once(folder: Path, expected: list[store.Key], rows: str) -> None:
    """Check that a store holds each visit once, and each record with its counts."""
    found = store.read(folder / rows)
    assert expected == places(found)
    assert {"ok"} == {row.status for row in found.rows}
    assert len(set(visited(folder / rows))) == len(found.rows) == sum(len(row.visits) for row in found.current)
    assert {2, 3} >= {len(row.visits) for row in found.current}  # as many as a quick campaign makes
    assert () == found.set_aside
    assert {row.counts_hash for row in found} <= set(found.counts)
    for path in folder.glob("*.jsonl"):
        lines = path.read_text().splitlines()
        assert len(lines) == len(set(lines))
        assert all(json.loads(line) for line in lines)


@pytest.mark.parametrize("kills", KILLS)
def test_a_killed_campaign_loses_nothing_and_repeats_nothing(tmp_path, kernels, kills):
    alone, killed = tmp_path / "alone", tmp_path / "killed"
    killed.mkdir()
    measure(discover(kernels), find(), alone / "m.jsonl", None, replace(QUICK, apart_s=0.0))
    expected = places(store.read(alone / "m.jsonl"))
    assert 3 * 2 * 3 == len(set(expected)) == len(expected)
    moments = random.Random(20260113)
    share = octets(alone) // kills
    kept: list[tuple[store.Key, str]] = []
    for _ in range(kills):
        process = started(MEASURE, killed / "m.jsonl", kernels)
        assert kill_after(process, killed, moments.randrange(share), moments.uniform(0, 0.01))
        before, kept = kept, visited(killed / "m.jsonl")
        assert before == kept[: len(before)]
    ended(started(MEASURE, killed / "m.jsonl", kernels))
    assert kept == visited(killed / "m.jsonl")[: len(kept)]
    whole_and_once(killed, expected, "m.jsonl")


@pytest.mark.parametrize("kills", KILLS[1:])
def test_a_killed_fit_leaves_whole_files_only(tmp_path, kills):
    for name, content in pristine().items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    alone, out = tmp_path / "alone", tmp_path / "out"
    fit = ("fit", "--all", "--from", str(tmp_path / "store"), "--out")
    assert 0 == CliRunner().invoke(application(), [*fit, str(alone)]).exit_code
    expected = {path.name: path.read_bytes() for path in alone.iterdir()}
    moments = random.Random(20260114)
    for _ in range(kills):
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        written = moments.randrange(octets(alone) - len(expected["verdict.txt"]))
        process = started(COMMAND, *fit, out)
        assert kill_after(process, out, written, moments.uniform(0, 0.01))
        found = {path.name: path.read_bytes() for path in out.iterdir() if path.suffix != ".new"}
        assert found.items() <= expected.items()
    ended(started(COMMAND, *fit, out))
    found = {path.name: path.read_bytes() for path in out.iterdir() if path.suffix != ".new"}
    assert expected.keys() == found.keys()
    del expected["verdict.txt"], found["verdict.txt"]  # which says how long the fits took
    assert expected == found
    for name, content in pristine().items():
        assert content == (tmp_path / name).read_bytes()


def apart_from_the_recommended(folder: Path) -> set[str]:
    """Files of a calibration but for the families one of which a probe chooses by times."""
    found = {path.name for path in folder.iterdir() if path.suffix not in (".new", ".torn")}
    assert json.loads((folder / "recommended.json").read_text())["family"] + ".json" in found
    return found - {"bottleneck.json", "multithreaded.json"}


@pytest.mark.parametrize("kills", KILLS[1:])
def test_a_killed_calibration_goes_on(tmp_path, kernels, kills):
    tests, alone, killed = tmp_path / "tests", tmp_path / "alone", tmp_path / "killed"
    tests.mkdir()
    killed.mkdir()
    (tests / "quotient.py").write_text(KERNEL.format(name="quotient", sign="/"))
    ended(started(CALIBRATE, alone, kernels, tests))
    expected = {name: places(store.read(alone / name)) for name in ("measurements.jsonl", store.TESTS_FILE)}
    files = apart_from_the_recommended(alone)
    moments = random.Random(20260115)
    share = sum((alone / name).stat().st_size for name in expected) // kills
    at_work = [
        kill_after(started(CALIBRATE, killed, kernels, tests), killed, moments.randrange(share), moments.random() / 100)
        for _ in range(kills)
    ]
    assert kills == sum(at_work)
    ended(started(CALIBRATE, killed, kernels, tests))
    for name, keys in expected.items():
        whole_and_once(killed, keys, name)
    assert files == apart_from_the_recommended(killed)
