"""Killed at any instant and begun again, a campaign ends as if it had been left alone."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from perfmodel import store
from perfmodel.store import Measurements

pytestmark = [pytest.mark.device, pytest.mark.slow]

KILLS = 10

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
    name="{name}",
    group="vector",
    build=build,
    variants=({{"factor": 2}}, {{"factor": 3}}),
    sizes=Ladder(lambda e: tuple({{"n": k * 2**e}} for k in (1, 2, 3, 4, 5, 6)), start=6, rungs=1),
    reference=lambda arguments, factor: {{"out": arguments["a"] {sign} factor}},
    tags=("paper", "overhead"),
)
"""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("kernels")
    for name, sign in (("plus", "+"), ("times", "*"), ("minus", "-")):
        (folder / f"{name}.py").write_text(KERNEL.format(name=name, sign=sign))
    return folder


def campaign(kernels: Path, path: Path) -> subprocess.Popen[str]:
    """Start ``perfmodel measure`` in a process of its own."""
    command = [sys.executable, "-c", "from perfmodel.cli import main; main()", "measure", "--quick"]
    return subprocess.Popen(
        [*command, "--store", str(path), "--kernels", str(kernels)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def octets(folder: Path) -> int:
    """Size of all files in a folder."""
    return sum(path.stat().st_size for path in folder.iterdir())


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
    return sorted(row.place for row in found.current)


def visited(path: Path) -> list[tuple[store.Key, str]]:
    """Which configuration each record is of, and when its visit began."""
    return [(row.place, row.visits[0].began_at) for row in store.read(path).rows] if path.exists() else []


def test_ten_kills_lose_nothing_and_repeat_nothing(tmp_path, kernels):
    alone, killed = tmp_path / "alone", tmp_path / "killed"
    killed.mkdir()
    process = campaign(kernels, alone / "m.jsonl")
    _, said = process.communicate()
    assert 0 == process.returncode, said
    expected = places(store.read(alone / "m.jsonl"))
    assert 3 * 2 * 6 == len(expected)

    moments = random.Random(20260113)
    share = octets(alone) // KILLS
    kept: list[tuple[store.Key, str]] = []
    for _ in range(KILLS):
        process = campaign(kernels, killed / "m.jsonl")
        assert kill_after(process, killed, moments.randrange(share), moments.uniform(0, 0.01))
        before, kept = kept, visited(killed / "m.jsonl")
        assert before == kept[: len(before)]

    process = campaign(kernels, killed / "m.jsonl")
    _, said = process.communicate()
    assert 0 == process.returncode, said
    found = store.read(killed / "m.jsonl")
    assert expected == places(found)
    assert {"ok"} == {row.status for row in found.rows}
    assert kept == visited(killed / "m.jsonl")[: len(kept)]
    assert len(set(visited(killed / "m.jsonl"))) == len(found.rows) == sum(len(row.visits) for row in found.current)
    assert {3, 4, 5, 6, 7, 8} >= {len(row.visits) for row in found.current}
    assert () == found.set_aside
    assert {row.counts_hash for row in found} == set(found.counts)
    for name in ("m.jsonl", "m.plan.jsonl", "counts.jsonl"):
        lines = (killed / name).read_text().splitlines()
        assert len(lines) == len(set(lines))
        assert all(json.loads(line) for line in lines)
