"""Time the counting and ranking of many variants: a plain loop next to processes of joblib's loky, and of Dask.

The variants are matrix products with work-groups and register tiles of many sizes, unrolled loops, and tiles of one
matrix or both in local memory. Every run is a fresh process with empty caches, Loopy's too; the median of several runs
counts. The clock starts when everything is imported and, for Dask, its workers have started; loky's start with the work
and count. While a run goes on, the memory of its processes is read five times a second.

``lost`` is the share of the processes' time that is not the plain loop's work: 1 - plain / (workers * time).
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import Any, TextIO

ROOT = Path(__file__).parents[2]
WEIGHTS = ROOT / "fitted_weights" / "pocl-skylake-avx512-amd-epyc" / "stevens_kloeckner_2016.json"
SIZE = 4096
#: Most local memory of a variant [B].
LOCAL_BYTES = 32768
#: Ways to rank, each with the number of workers, and up to how many variants it is timed: more would take long.
WAYS = {("plain", 1): 10**6, ("dask", 1): 100, ("loky", 2): 10**6, ("dask", 2): 1000}
#: Python's hashes order what Loopy unrolls. Dask sets this seed in its workers whatever the environment says.
SEED = "6640"
EVERY_S = 0.2
SHARE_GOAL, MEMORY_GOAL = 0.6, 500e6


@dataclass(frozen=True)
class Run:
    """One way to rank so many variants, timed."""

    # way, workers, variants: what was done.
    way: str
    workers: int
    variants: int
    seconds: tuple[float, ...]  # times of all runs [s]
    peaks: tuple[int, ...]  # of each run the largest peak of a process that counts [B]
    callers: tuple[int, ...]  # of each run the peak of the process that asks [B]; in a plain loop it counts, too
    growth: float | None  # by how much the process of a plain loop grew for each variant [B]; None of other ways
    # Of each run the number of processes that counted: more than workers where some were replaced.
    processes: tuple[int, ...]
    rankings: tuple[str, ...]  # a hash of each run's ranking

    @property
    def median_s(self) -> float:
        """The median time [s]."""
        return median(self.seconds)


# {{{ the space

def build_product(
    width: int, height: int, rows: int, columns: int, depth: int, unroll: bool, prefetch: str
) -> Any:
    """Form c = a b of n by n matrices; `rows` by `columns` elements for each of width by height work-items."""
    import loopy as lp
    import numpy as np

    t_unit = lp.make_kernel(
        "{[i, j, k]: 0 <= i, j, k < n}",
        "c[i, j] = sum(k, a[i, k]*b[k, j])",
        [lp.GlobalArg("a, b, c", np.float32, shape="n, n"), lp.ValueArg("n", np.int32)],
        assumptions=f"n >= 1 and n mod {max(height * rows, width * columns, depth)} = 0",
        name="product",
        lang_version=(2018, 2),
        silenced_warnings=["v1_scheduler_fallback"],
    )
    for axis, items, several, place in (("i", height, rows, 1), ("j", width, columns, 0)):
        t_unit = lp.split_iname(t_unit, axis, items * several, inner_iname=f"{axis}_in", outer_tag=f"g.{place}")
        t_unit = lp.split_iname(
            t_unit, f"{axis}_in", items, inner_iname=f"{axis}_item", inner_tag=f"l.{place}", outer_tag="ilp.unr",
            outer_iname=f"{axis}_tile",
        )  # fmt: skip
    t_unit = lp.split_iname(t_unit, "k", depth, inner_iname="k_in", inner_tag="unr" if unroll else None)
    for array in {"none": "", "a": "a", "both": "ab"}[prefetch]:
        axis = {"a": "i", "b": "j"}[array]
        t_unit = lp.add_prefetch(
            t_unit, array, [f"{axis}_tile", f"{axis}_item", "k_in"], temporary_name=f"{array}_tile",
            fetch_outer_inames=frozenset({"i_outer", "j_outer", "k_outer"}), default_tag="l.auto",
        )  # fmt: skip
    return t_unit


def space() -> Any:
    """Return the space that the variants are taken from."""
    import perfmodel as pm

    powers = (1, 2, 4, 8)
    return pm.Space(
        build_product,
        {
            "width": (4, 8, 16, 32, 64, 128), "height": (1, 2, 4, 8, 16), "rows": powers, "columns": powers,
            "depth": (4, 8, 16, 32, 64), "unroll": (False, True), "prefetch": ("none", "a", "both"),
        },
        [
            lambda width, height: 16 <= width * height <= 1024,
            lambda unroll, depth, rows, columns: not unroll or depth * rows * columns <= 64,
            lambda prefetch, depth, width, height, rows, columns: _tile_bytes(
                prefetch, depth, height * rows, width * columns) <= LOCAL_BYTES,
        ],
    )  # fmt: skip


def _tile_bytes(prefetch: str, depth: int, high: int, wide: int) -> int:
    """Bytes of local memory that the tiles take."""
    return 4 * depth * {"none": 0, "a": high, "both": high + wide}[prefetch]


def chosen(count: int) -> dict[str, Any]:
    """Return so many variants, spread evenly over the space."""
    every = list(space().variants.items())
    if count > len(every):
        raise ValueError(f"the space has {len(every)} variants, and {count} were asked for; ask for fewer")
    return dict(every[place * len(every) // count] for place in range(count))

# }}}


# {{{ one run, in a separate process

def ranked(way: str, workers: int, count: int) -> dict[str, Any]:
    """Rank so many variants in this process, or from it, and return the time and a hash of the ranking."""
    from psutil import Process

    import perfmodel as pm

    variants, model = chosen(count), pm.load(WEIGHTS)
    with _cluster(way, workers):
        before, began = Process().memory_info().rss, time.perf_counter()
        jobs = {"plain": 1, "loky": workers, "dask": -1}[way]
        found = pm.rank(variants, model, n=SIZE, jobs=jobs, allow_unmeasured=True)
        seconds = time.perf_counter() - began
    listed = sorted((one.name, one.seconds.hex()) for one in found) + sorted(found.errors)
    return {
        "seconds": seconds, "ranking": hashlib.sha256(repr(listed).encode()).hexdigest(), "ranked": len(found),
        "growth": (Process().memory_info().rss - before) / count if way == "plain" else None,
    }  # fmt: skip


@contextmanager
def _cluster(way: str, workers: int) -> Iterator[None]:
    if way != "dask":
        yield
        return
    from dask.distributed import Client, LocalCluster
    from joblib import parallel_config

    options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "memory_limit": 0}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        client.wait_for_workers(workers)
        with parallel_config(backend="dask"):
            yield

# }}}


# {{{ many runs

@dataclass
class Watched:
    """The memory of a process and of all below it, by their numbers [B]."""

    peaks: dict[int, int] = field(default_factory=dict)  # peaks
    commands: dict[int, str] = field(default_factory=dict)  # what each runs

    def look(self, root: int) -> None:
        """Look at all processes now."""
        for pid in _below(root):
            try:
                lines = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
                command = Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
                peak = int(lines["VmHWM"].split()[0]) * 1024
            except (OSError, KeyError, ValueError):  # it has ended
                continue
            self.commands[pid] = command
            self.peaks[pid] = max(peak, self.peaks.get(pid, 0))

    def counting(self, way: str) -> list[int]:
        """Return the processes that count: not those that only look after others."""
        kind = {"plain": "scripts.benchmarks.scale", "loky": "popen_loky", "dask": "spawn_main"}[way]
        return [pid for pid, command in self.commands.items() if kind in command]


def run_once(way: str, workers: int, count: int) -> dict[str, Any]:
    """Rank in a fresh process with empty caches; return the time, the ranking's hash, and what memory it took."""
    watched = Watched()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        environment = {**os.environ, "XDG_CACHE_HOME": folder, "PYTHONHASHSEED": SEED, "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "scripts.benchmarks.scale", way, str(workers), str(count)]
        with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
            while process.poll() is None:
                watched.look(process.pid)
                time.sleep(EVERY_S)
            text, _ = process.communicate()
    if process.returncode:
        raise RuntimeError(f"ranking {count} variants by {way} with {workers} workers ended with {process.returncode}")
    found: dict[str, Any] = json.loads(text.splitlines()[-1])
    own = watched.counting(way)
    found["peak"], found["caller"] = max(watched.peaks[pid] for pid in own), watched.peaks[process.pid]
    found["processes"] = len(own)
    return found


def measure(counts: Sequence[int], repeats: int, progress: TextIO) -> dict[str, Any]:
    """Return all runs, as a JSON-able dictionary; ways take turns, so that a slow minute harms none alone."""
    rows = []
    for count in counts:
        ways = [way for way, most in WAYS.items() if count <= most]
        found: dict[tuple[str, int], list[dict[str, Any]]] = {way: [] for way in ways}
        for turn in range(repeats):
            for way, workers in ways:
                print(f"{count} variants, {way} {workers}, {turn + 1} of {repeats} ...", file=progress, flush=True)
                one = run_once(way, workers, count)
                print(f"... {one['seconds']:.1f} s, {one['peak'] / 1e6:.0f} MB", file=progress, flush=True)
                found[way, workers].append(one)
        rows += [_joined(way, workers, count, several) for (way, workers), several in found.items()]
    return {"repeats": repeats, "versions": _versions(), "cores": os.cpu_count(),
            "runs": [{**asdict(row), "median_s": row.median_s} for row in rows]}  # fmt: skip


def _versions() -> dict[str, str]:
    libraries = ("perfmodel", "loopy", "islpy", "joblib", "distributed")
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in libraries}}


def _joined(way: str, workers: int, count: int, found: Sequence[dict[str, Any]]) -> Run:
    growth = [one["growth"] for one in found if one["growth"] is not None]
    return Run(
        way, workers, count, tuple(one["seconds"] for one in found), tuple(one["peak"] for one in found),
        tuple(one["caller"] for one in found), median(growth) if growth else None,
        tuple(one["processes"] for one in found), tuple(one["ranking"] for one in found),
    )  # fmt: skip


def _below(root: int) -> list[int]:
    """Return a process and all that it started, by their numbers."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError, ValueError):
                continue
    found = [root]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found


def text(result: dict[str, Any]) -> str:
    """Return the runs as a table, and the goals."""
    lines = ["variants  way    workers  runs  time [s]  of plain  lost  peak [MB]  caller [MB]  processes  growth [kB]"]
    plain = {row["variants"]: row["median_s"] for row in result["runs"] if row["way"] == "plain"}
    for row in result["runs"]:
        share = row["median_s"] / plain[row["variants"]]
        lost = f"{1 - 1 / (row['workers'] * share):.0%}"
        grown = "-" if row["growth"] is None else f"{row['growth'] / 1e3:.0f}"
        peak, caller = (f"{max(row[which]) / 1e6:.0f}" for which in ("peaks", "callers"))
        lines.append(
            f"{row['variants']:8d}  {row['way']:5s}  {row['workers']:7d}  {len(row['seconds']):4d}"
            f"  {row['median_s']:8.2f}  {share:8.0%}  {lost:>4s}"
            f"  {peak:>9s}  {caller:>11s}  {max(row['processes']):9d}  {grown:>11s}"
        )
    return "\n".join([*lines, "", *goals(result)])


def goals(result: dict[str, Any]) -> list[str]:
    """Return the goals at the largest number of variants and whether they are met."""
    largest = max(row["variants"] for row in result["runs"])
    rows = {(row["way"], row["workers"]): row for row in result["runs"] if row["variants"] == largest}
    share = rows["loky", 2]["median_s"] / rows["plain", 1]["median_s"]
    peak = max(max(row["peaks"]) for row in result["runs"] if row["way"] == "loky")
    by_count = {row["variants"]: set[str]() for row in result["runs"]}
    for row in result["runs"]:
        by_count[row["variants"]].update(row["rankings"])
    return [
        _goal(share <= SHARE_GOAL, f"{largest} variants on two cores: {share:.0%} of a plain loop's time (goal 60)"),
        _goal(peak < MEMORY_GOAL, f"peak memory of a worker {peak / 1e6:.0f} MB (goal 500)"),
        _goal(all(len(one) == 1 for one in by_count.values()), "all ways rank alike"),
    ]


def _goal(met: bool, words: str) -> str:
    return f"{'met   ' if met else 'MISSED'}  {words}"

# }}}


if __name__ == "__main__":
    print(json.dumps(ranked(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
