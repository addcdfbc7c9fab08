"""The benchmark's own machinery, and one short run of it as a user starts it."""

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import loopy as lp
import pytest

from perfmodel.counts import count
from scripts.benchmarks.forked import forked
from scripts.benchmarks.kernel_sets import chosen
from scripts.benchmarks.table import ratio, table
from tests.machine import ROOT
from tests.scripts import bench_kernels

pytestmark = pytest.mark.nightly  # research code, and long


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "scripts.bench", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def row(kernel: str, ours: float | None, peer: float | None, **changed: Any) -> dict[str, Any]:
    times = {"loopy_cold_s": 0.04, "count_cold_s": ours and ours / 2, "ours_total_s": ours, "peer_total_s": peer}
    times |= {"ours_cold_s": ours, "peer_cold_s": peer, "ours_warm_s": 1e-5, "peer_warm_s": peer and peer / 2}
    speed = {"slowest_evaluations_per_s": 2e6, "slowest_call_us": 3.0}
    times["check_cold_s"] = 0.0625
    rest = {"ours_disk_s": 0.01, "all_cold_s": 0.1, "failures": {}, "peak_bytes": 80_000_000, "instructions": 2}
    return {"kernel": kernel, **times, **rest, "evaluation": speed, **changed}


def result(*rows: dict[str, Any]) -> dict[str, Any]:
    versions = {"barvinok": True, "loopy": "2025.2", "python": "3.11"}
    return {"kernels": list(rows), "refused": {"c": "CountError: no"}, "repeats": 3, **versions}


def test_what_a_child_changes_stays_there_and_its_error_is_an_answer() -> None:
    memory: list[int] = []
    ran = forked(lambda: memory.append(os.getpid()) or memory[0])
    assert [] == memory
    assert (os.getpid(), "") != (ran.value, ran.error)
    assert "" == ran.error
    assert 10_000_000 < ran.peak_bytes
    ran = forked(lambda: [][1])
    assert (None, "IndexError: list index out of range") == (ran.value, ran.error)


def test_a_kernel_on_which_the_peer_fails_has_no_ratio() -> None:
    failed = row("b", 0.01, None, failures={"peer cold": "TypeError: no"})
    assert (None, 4.0) == (ratio(failed, "cold"), ratio(row("a", 0.01, 0.04), "cold"))
    text = table(result(row("a", 0.01, 0.04), failed))
    assert "0.0050    0.0625    0.0100" in text, "count, check, ours"
    assert "b: peer cold failed: TypeError: no" in text
    assert "c: perfmodel refuses it: CountError: no" in text
    assert "2 kernels were timed, the peer cannot count 1 of them; 1 are refused" in text
    assert "cold, scheduled before, geometric mean 4.0 times faster (goal 4)" in text
    assert "count's own share, geometric mean 1/8.0 of Loopy's (goal 1/4)" in text


def test_one_kernel_as_json() -> None:
    ran = bench("counts", "measurement_kernels/matmul_naive", "--repeats", "1", "--json")
    assert 0 == ran.returncode, ran.stderr
    (found,) = json.loads(ran.stdout)["kernels"]
    assert ("measurement_kernels/matmul_naive", {}) == (found["kernel"], found["failures"])
    times = [value for name, value in found.items() if name.endswith("_s")]
    assert 11 == len(times)
    assert all(0 < value < 60 for value in times)
    assert 0 < found["evaluation"]["slowest_call_us"] < 1e6


def test_kernels_of_another_module_can_be_added() -> None:
    everything = chosen([], ["tests.scripts.bench_kernels"])
    assert 40 < len(everything)
    assert len({kernel.name for kernel in everything}) == len(everything)
    (added,) = chosen(["tests.scripts.bench_kernels/double"], ["tests.scripts.bench_kernels"])
    assert 10 == count(added.build(), cache=False).accesses(direction="load")(n=10)


def test_captured_kernels_are_timed_alone_and_refusals_are_named(tmp_path: Path) -> None:
    folder = tmp_path / "some"
    folder.mkdir()
    (double,) = [build for _, build in bench_kernels.kernels()]
    code = lp.CInstruction("i", "a[i] = 0;")
    opaque = lp.make_kernel("{[i]: 0 <= i < n}", [code], lang_version=(2018, 2))
    for name, unit in (("double", double()), ("opaque", opaque)):
        (folder / f"{name}.pickle").write_bytes(pickle.dumps({"source": f"t.py::{name}", "unit": unit}))
    ran = bench("counts", "--captured", str(folder), "--repeats", "1", "--json")
    assert 0 == ran.returncode, ran.stderr
    found = json.loads(ran.stdout)
    assert ["some/double"] == [row["kernel"] for row in found["kernels"]]
    assert ["some/opaque"] == list(found["refused"])
    assert "CountError" in found["refused"]["some/opaque"]


def test_an_unknown_kernel_is_answered_in_one_line() -> None:
    ran = bench("counts", "no_such_kernel")
    assert (2, "") == (ran.returncode, ran.stdout)
    assert "no kernel is called 'no_such_kernel'" in ran.stderr.splitlines()[-1]


