r"""How soon tuners find fast configurations of recorded spaces, as the score of Kernel Tuner's methodology.

The methodology holds a tuner's best time so far against that of random search. With :math:`r_k` the expected best of
:math:`k` random evaluations, :math:`s_k` the mean over runs of a tuner's best after :math:`k`, and :math:`o` the best
of the space, the score is

.. math:: \frac{1}{K} \sum_{k=1}^{K} \frac{r_k - s_k}{r_k - o} .

0 is as good as random search, 1 is the best at once. :math:`K` is the number of evaluations after which random search
has come 95 % of the way from the median to the best, 200 at most. Evaluations are counted, not seconds, since nobody
recorded what building took. A configuration that failed costs one, and counts as the slowest of the space.

Source: F.-J. Willemsen, R. Schoonhoven, J. Filipovic, J. O. Torring, R. van Nieuwpoort, B. van Werkhoven, *A
Methodology for Comparing Optimization Algorithms for Auto-Tuning*, Future Generation Computer Systems 159 (2024).
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate
from pathlib import Path
from statistics import fmean, geometric_mean, median
from typing import Any

import numpy as np

from perfmodel.display import columns_text
from perfmodel.fitting.selection import Scatter
from perfmodel.fitting.types import Floats
from perfmodel.predicting.prediction import Prediction
from perfmodel.tuning.posterior import Search, prior_of
from scripts.benchmarks.tuner_recorded import ENDING, space_of
from scripts.benchmarks.tuner_rivals import RANDOM, Point, shuffled, simulated, space_table, visits, write_cache
from scripts.benchmarks.tuner_table import Table, read_table
from scripts.lab.markdown import below_marker, markdown_table

OURS, ORDER, BEST = "perfmodel", "order of predictions", "best strategy"
#: The five strategies of Kernel Tuner that were the best on the spaces of ``scripts/bench tuner``.
STRATEGIES = ("hybrid_vndx", "bayes_opt", "adaptive_tabu_greywolf", "dual_annealing", "genetic_algorithm")
WITHIN = 1.05
REACHED = 0.95  # of the way from the median to the best, by random search
STALLED_S = 1.0  # as of tuner_rivals, for many runs
LONGEST = 200  # evaluations of a score; perfmodel's search takes minutes beyond, and is not followed further
RESULTS = "results.json"
BEGIN = "<!-- what follows is drawn by scripts/redraw tuning -->"
FIGURES = {"evaluations": "Evaluations to within 5 % of the best, median of runs", "score": "Score"}
LARGE = 20.0  # evaluations that are shown as whole numbers


# {{{ the score

def expected_best(seconds: Sequence[float], most: int) -> Floats:
    """Return the expected best of 1, 2, ... `most` draws from some times, none drawn twice.

    >>> expected_best([3.0, 1.0, 2.0], 3).round(4).tolist()
    [2.0, 1.3333, 1.0]
    """
    times = np.sort(np.asarray(seconds, dtype=np.float64))
    slower = np.arange(len(times), 0, -1)  # times from each one on
    none_before = np.ones(len(times))  # probability that all draws are among these
    found = []
    for draw in range(most):
        none_before = none_before * np.maximum(slower - draw, 0) / (len(times) - draw)
        found.append(times[0] + np.diff(times) @ none_before[1:])
    return np.array(found)


def budget(seconds: Sequence[float]) -> int:
    """Return after how many draws the expected best has come 95 % of the way from the median to the best, at most 200.

    >>> budget([1.0, 2.0, 3.0, 4.0, 5.0])
    5
    """
    best, middle = min(seconds), float(np.median(seconds))
    near = best + (1 - REACHED) * (middle - best)
    expected = expected_best(seconds, min(LONGEST, len(seconds)))
    return int(np.searchsorted(-expected, -near)) + 1 if expected[-1] <= near else len(expected)


def score(curves: Sequence[Sequence[float]], seconds: Sequence[float]) -> float:
    """Return the score of runs by their times in the order in which they were tried; a short run keeps its best.

    >>> round(score([[1.0]], [1.0, 2.0, 3.0, 4.0, 5.0]), 4)
    1.0
    """
    best, expected = min(seconds), expected_best(seconds, budget(seconds))
    lows = np.mean([_lows(curve, len(expected)) for curve in curves], axis=0)
    away = expected > best * (1 + 1e-12)
    return float(np.mean((expected[away] - lows[away]) / (expected[away] - best)))


def _lows(curve: Sequence[float], most: int) -> list[float]:
    lows = list(accumulate(curve[:most], min))
    return lows + lows[-1:] * (most - len(lows))


def until_near(curve: Sequence[float], best: float) -> int | None:
    """Return the number of trials until one was within 5 % of the best; None if none was.

    >>> until_near([3.0, 1.04, 1.0], 1.0)
    2
    """
    return next((number + 1 for number, seconds in enumerate(curve) if seconds <= WITHIN * best), None)

# }}}


# {{{ runs

def curve_of(points: Iterable[Point], slowest: float, best: float, most: int) -> list[float]:
    """Return the times of points in their order, until one is near the best and `most` were tried."""
    curve: list[float] = []
    near = False
    for point in points:
        curve.append(slowest if point.seconds is None else point.seconds)
        near = near or curve[-1] <= WITHIN * best
        if near and len(curve) >= most:
            break
    return curve


def raced(table: Table, points: Sequence[Point]) -> Iterator[Point]:
    """Yield points in the order of perfmodel's search, which continues after it would have named the best."""
    space = space_of(table)
    where = {tuple(values.values()): place for place, values in enumerate(space.configurations)}
    known = [place for place, row in enumerate(table.rows) if row.predicted is not None]
    coordinates = space.coordinates[[where[tuple(table.rows[place].values.values())] for place in known]]
    predictions = [Prediction(table.rows[place].predicted, table.rows[place].terms) for place in known]
    search = Search(prior_of(predictions, Scatter(**table.scatter) if table.scatter else None, coordinates))
    while len(search.times) < LONGEST and (place := search.following) is not None:
        point = points[known[place]]
        search.note(place, point.seconds)
        yield point


def _ordered(table: Table, points: Sequence[Point]) -> Iterator[Point]:
    order = sorted(range(len(points)), key=lambda place: table.rows[place].predicted or float("inf"))
    return (points[place] for place in order)


def compared(table: Table, repeats: int, strategies: Iterable[str] = STRATEGIES) -> dict[str, Any]:
    """Return the results of every tuner on a table, with its runs."""
    space = space_table(table.space, space_of(table).values, table.rows)
    times = [point.seconds for point in space.points if point.seconds is not None]
    slowest, best = max(times), min(times)
    seconds = [point.seconds or slowest for point in space.points]
    most = budget(seconds)
    take = partial(curve_of, slowest=slowest, best=best, most=most)
    curves = {OURS: [take(raced(table, space.points))], ORDER: [take(_ordered(table, space.points))]}
    curves[RANDOM] = [take(shuffled(space, seed)) for seed in range(repeats)]
    with tempfile.TemporaryDirectory(prefix="recorded-") as folder:
        cache = write_cache(space, Path(folder) / "space.json")
        for name in strategies:
            print(f"  {name}", file=sys.stderr, flush=True)
            tries = partial(simulated, cache=cache, strategy=name, stalled_s=STALLED_S)
            curves[name] = [take(point for _, point in visits(space, seed, tries)) for seed in range(repeats)]
    return {
        "space": table.space, "device": table.device, "configurations": len(seconds),
        "failed": len(seconds) - len(times), "slower": float(np.median(times) / best), "budget": most,
        "near": sum(time <= WITHIN * best for time in times),
        "tuners": {name: _scores(runs, seconds, best) for name, runs in curves.items()},
    }  # fmt: skip


def _scores(runs: Sequence[Sequence[float]], seconds: Sequence[float], best: float) -> dict[str, Any]:
    middle = median(until_near(run, best) or math.inf for run in runs)
    evaluations = middle if middle < math.inf else None
    return {"runs": len(runs), "evaluations": evaluations, "score": round(score(runs, seconds), 3)}


def search(
    folder: Path, names: Iterable[str] = (), repeats: int = 30, strategies: Iterable[str] = STRATEGIES
) -> dict[str, Any]:
    """Search the tables of a folder, by default all, and return what was found with the results of earlier searches.

    What other tuners needed on the same times is kept until they search again, as they do not use predictions.
    """
    path = folder / RESULTS
    found: dict[str, Any] = json.loads(path.read_text()) if path.is_file() else {}
    for name in names or sorted(table.name.removesuffix(ENDING) for table in folder.glob(f"*{ENDING}")):
        print(name, file=sys.stderr, flush=True)
        before, now = found.get(name, {}), compared(read_table(folder / f"{name}{ENDING}"), repeats, strategies)
        found[name] = {**now, "tuners": {**before.get("tuners", {}), **now["tuners"]}}
        path.write_text(json.dumps(dict(sorted(found.items())), indent=1) + "\n")
    return found

# }}}


# {{{ tables

def lines(found: Mapping[str, Any], figure: str) -> Iterator[tuple[str, ...]]:
    """Yield the rows of a table of a figure, "evaluations" or "score": each space, and the mean over spaces.

    The last column is of the strategy of Kernel Tuner that was the best on the space. The mean is over the spaces that
    all tuners have searched. A search that was not followed until it was near the best counts as 200 evaluations there.
    """
    tuners = (OURS, ORDER, RANDOM, *STRATEGIES, BEST)
    yield ("space", "configurations", "near the best", *tuners)
    figures = {name: _by_tuner(one["tuners"], figure) for name, one in sorted(found.items())}
    for name, by_tuner in figures.items():
        cells = (_cell(figure, by_tuner[tuner]) if tuner in by_tuner else "-" for tuner in tuners)
        yield (name, str(found[name]["configurations"]), str(found[name]["near"]), *cells)
    mean, name = (fmean, "mean") if figure == "score" else (geometric_mean, "geometric mean")
    if whole := [by_tuner for by_tuner in figures.values() if by_tuner.keys() >= {*tuners}]:
        over = ([LONGEST if (value := one[tuner]) is None else value for one in whole] for tuner in tuners)
        yield (f"{name} of {len(whole)}", "", "", *(_cell(figure, mean(of)) for of in over))


def _by_tuner(scores: Mapping[str, Any], figure: str) -> dict[str, float | None]:
    """Return a figure of each tuner, and of the best of Kernel Tuner's strategies where any has searched."""
    found = {tuner: one[figure] for tuner, one in scores.items()}
    known = [found[name] for name in STRATEGIES if found.get(name) is not None]
    return {**found, BEST: max(known) if figure == "score" else min(known)} if known else found


def _cell(figure: str, value: float | None) -> str:
    if value is None:
        return f"over {LONGEST}"
    if figure == "score":
        return f"{value:.2f}"
    return f"{value:.1f}" if value < LARGE else f"{value:.0f}"


def text(found: Mapping[str, Any]) -> str:
    """Return both tables."""
    return "\n\n".join(f"{figure}\n{columns_text(list(lines(found, figure)))}" for figure in FIGURES)


def draw(folder: Path, page: Path) -> None:
    """Draw both tables into the laboratory's page."""
    found = json.loads((folder / RESULTS).read_text())
    sections = []
    for figure, title in FIGURES.items():
        head, *rows = lines(found, figure)
        aligned = ("---", *("---:" for _ in head[1:]))
        sections += [f"## {title}", markdown_table((head, aligned, *rows))]
    page.write_text(below_marker(page.read_text(), BEGIN, sections) + "\n")

# }}}
