"""How many configurations other tuners try until they have one near the best, on a space that was measured in full.

Kernel Tuner runs in its simulation mode, on a cache file that is made of the measured space: its strategies run as
they are, with their own defaults, and each configuration costs what it cost when it was measured. A strategy that ends
before it has found a configuration near the best begins again with another seed, and what it knows by then costs
nothing again; so do people. Random search is without Kernel Tuner: an order of all configurations, drawn anew each
time. Values other than numbers are numbered, which helps strategies that move along an axis.
"""

from __future__ import annotations

import io
import json
import random
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np

from perfmodel.documents import canonical, one_line
from perfmodel.store import Status

#: Kernel Tuner's strategies that need no further library. Where no strategy is named, it is "brute_force".
STRATEGIES = (
    "brute_force", "random_sample", "basinhopping", "bayes_opt", "diff_evo", "dual_annealing", "firefly_algorithm",
    "genetic_algorithm", "greedy_ils", "greedy_mls", "mls", "pso", "simulated_annealing", "hybrid_vndx",
    "adaptive_tabu_greywolf",
)  # fmt: skip
DEFAULT = "brute_force"
RANDOM = "random search"
#: What Kernel Tuner writes for a configuration that failed.
_ERRORS = {"constraint": "InvalidConfig", "compile": "CompilationFailedConfig"}
_MS = 1e3
MOST_RESTARTS = 200
#: A strategy that only visits configurations anew, which some do for ever in a small space, ends after so long [s].
STALLED_S = 5.0


@dataclass(frozen=True)
class Point:
    """What a configuration took: its run [s], if it was ok, and all that a tuner spends on it [s]."""

    config: Mapping[str, Any]
    status: Status
    seconds: float | None
    spent_s: float


@dataclass(frozen=True)
class SpaceTable:
    """A space that was measured in full."""

    name: str  # of the space
    values: Mapping[str, Sequence[Any]]  # the values of each parameter, in their order
    points: tuple[Point, ...]  # each valid configuration

    @property
    def best_s(self) -> float:
        """The shortest run [s]."""
        return min(point.seconds for point in self.points if point.seconds is not None)

    @cached_property
    def codes(self) -> dict[str, dict[str, float]]:
        """For each parameter its values as text, with the number by which tuners know them."""
        return {
            name: {
                canonical(value): value if isinstance(value, (int, float)) and not isinstance(value, bool) else place
                for place, value in enumerate(values)
            }
            for name, values in self.values.items()
        }

    @cached_property
    def coded(self) -> dict[tuple[float, ...], Point]:
        """Each point by the numbers of its configuration."""
        return {
            tuple(self.codes[name][canonical(point.config[name])] for name in self.values): point
            for point in self.points
        }

    def near(self, point: Point, within: float) -> bool:
        """Whether a point is within a factor of the best."""
        return point.seconds is not None and point.seconds <= within * self.best_s


@dataclass(frozen=True)
class Run:
    """One run of a tuner until a configuration is near the best."""

    # tuner, seed: what ran.
    tuner: str
    seed: int
    # Configurations that were tried, each once; None if none was near the best after so many restarts.
    evaluations: int | None
    seconds: float | None  # what these cost when they were measured [s]
    restarts: int = 0  # how often the tuner ended before and began again
    problem: str = ""  # what it raised, if it did


def space_table(name: str, values: Mapping[str, Sequence[Any]], rows: Iterable[Any]) -> SpaceTable:
    """Return the table of rows that have ``values`` (a configuration), ``status``, ``seconds`` and ``evaluation_s``."""
    points = (
        Point(row.values, row.status, row.seconds if row.status == "ok" else None, row.evaluation_s) for row in rows
    )
    return SpaceTable(name, values, tuple(points))


def rivals(
    table: SpaceTable,
    within: float = 1.05,
    repeats: int = 30,
    strategies: Iterable[str] = STRATEGIES,
    report: Callable[[str], None] = lambda text: None,
) -> list[Run]:
    """Run random search and each strategy of Kernel Tuner, each `repeats` times; what is not random runs once.

    Parameters
    ----------
    table
        The measured space.
    within
        How near the best is near enough: a factor of its time.
    repeats
        Runs of each tuner, with the seeds 0, 1, ...
    strategies
        Of Kernel Tuner; none of them needs it installed if there are none.
    report
        Is given a line for each tuner.

    Returns
    -------
    list of Run
    """
    found = [_until_near(table, within, RANDOM, seed, shuffled) for seed in range(repeats)]
    with tempfile.TemporaryDirectory(prefix="rivals-") as folder:
        cache = write_cache(table, Path(folder) / "space.json") if (names := tuple(strategies)) else None
        for name in names:
            report(name)

            def tries(table: SpaceTable, seed: int, name: str = name) -> Iterator[Point]:
                return simulated(table, seed, cache, name)

            seeds = range(1 if name == DEFAULT else repeats)
            found += [_until_near(table, within, name, seed, tries) for seed in seeds]
    return found


def summary(runs: Iterable[Run]) -> list[dict[str, Any]]:
    """Return for each tuner the mean and median of evaluations and seconds, and runs that came to nothing."""
    by_tuner: dict[str, list[Run]] = {}
    for run in runs:
        by_tuner.setdefault(run.tuner, []).append(run)
    rows = []
    for tuner, own in by_tuner.items():
        tried = [run.evaluations for run in own if run.evaluations is not None]
        seconds = [run.seconds for run in own if run.seconds is not None]
        rows.append(
            {
                "tuner": tuner,
                "runs": len(own),
                "failed": len(own) - len(tried),
                "evaluations_mean": fmean(tried) if tried else None,
                "evaluations_median": median(tried) if tried else None,
                "seconds_mean": fmean(seconds) if seconds else None,
                "seconds_median": median(seconds) if seconds else None,
                "restarts_mean": fmean(run.restarts for run in own),
            }
        )
    return sorted(rows, key=lambda row: (row["evaluations_mean"] is None, row["evaluations_mean"]))


def write_cache(table: SpaceTable, path: Path) -> Path:
    """Write the space as a cache file of Kernel Tuner, for its simulation mode; times are in milliseconds there.

    What a configuration costs is left out: it is added up from the table, and a limit on time (:data:`STALLED_S`) then
    only counts what the strategy takes itself.
    """
    entries = {}
    for values, point in table.coded.items():
        entry: dict[str, Any] = dict(zip(table.values, values, strict=True))
        if point.seconds is None:
            entry["__error__"] = _ERRORS.get(point.status, "RuntimeFailedConfig")
        else:
            entry |= {"time": _MS * point.seconds, "times": [_MS * point.seconds]}
        entry |= {"compile_time": 0, "verification_time": 0, "benchmark_time": 0}
        entries[",".join(map(str, values))] = entry
    head = {
        "device_name": "measured",
        "kernel_name": table.name,
        "problem_size": 1,
        "tune_params_keys": list(table.values),
        "tune_params": _tune_params(table),
        "objective": ["time"],
    }
    path.write_text(json.dumps({**head, "cache": entries}))
    return path


def _tune_params(table: SpaceTable) -> dict[str, list[float]]:
    return {name: list(codes.values()) for name, codes in table.codes.items()}


def visits(
    table: SpaceTable, seed: int, tries: Callable[[SpaceTable, int], Iterator[Point]]
) -> Iterator[tuple[int, Point]]:
    """Yield each point that a tuner tries, once, with how often the tuner began again before."""
    known: set[int] = set()
    for restart in range(MOST_RESTARTS):
        for point in tries(table, seed + 1000 * restart):
            if id(point) not in known:
                known.add(id(point))
                yield restart, point
        if len(known) == len(table.points):
            return


def _until_near(
    table: SpaceTable, within: float, tuner: str, seed: int, tries: Callable[[SpaceTable, int], Iterator[Point]]
) -> Run:
    """Count what a tuner tries until a point is near the best; it begins again where it ends before."""
    tried, spent, restart = 0, 0.0, 0
    try:
        for restart, point in visits(table, seed, tries):
            tried += 1
            spent += point.spent_s
            if table.near(point, within):
                return Run(tuner, seed, tried, spent, restart)
    except Exception as error:  # of a library: its run counts as one that came to nothing
        return Run(tuner, seed, None, None, restart, one_line(f"{type(error).__name__}: {error}"))
    return Run(tuner, seed, None, None, MOST_RESTARTS, f"nothing near the best after {MOST_RESTARTS} starts")


def shuffled(table: SpaceTable, seed: int) -> Iterator[Point]:
    """Return all points in a random order."""
    order = list(table.points)
    random.Random(seed).shuffle(order)
    return iter(order)


def simulated(
    table: SpaceTable, seed: int, cache: Path | None, strategy: str, stalled_s: float = STALLED_S
) -> Iterator[Point]:
    """Return the points that a strategy of Kernel Tuner tries, in order, in so many seconds at most."""
    from kernel_tuner import tune_kernel

    allowed = table.coded

    def measured(*values: Any, **config: Any) -> bool:
        return (values or tuple(config[name] for name in table.values)) in allowed

    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 -- the generator that Kernel Tuner draws from
    options = {} if strategy == DEFAULT else {"time_limit": stalled_s}
    silent = io.StringIO()
    with warnings.catch_warnings(), redirect_stdout(silent), redirect_stderr(silent):
        warnings.simplefilter("ignore")
        results, _ = tune_kernel(
            table.name, "", 1, [], _tune_params(table), restrictions=[measured], lang="C", cache=str(cache),
            simulation_mode=True, strategy=strategy, strategy_options=options, quiet=True, seed=seed,
        )  # fmt: skip
    return (allowed[tuple(one[name] for name in table.values)] for one in results)
