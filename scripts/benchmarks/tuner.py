"""perfmodel's search on a measured space, next to random search and Kernel Tuner's strategies.

All of them pay for a configuration what building and running it took when the space was measured. perfmodel also pays
for counting and predicting every configuration before the first runs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from perfmodel.calibration.recommended import find_weights
from perfmodel.display import columns_text, seconds_text
from perfmodel.fitting.selection import Scatter
from perfmodel.kernels.space import Space
from perfmodel.predicting.model import load
from perfmodel.predicting.prediction import Prediction
from perfmodel.tuning.posterior import Search, prior_of
from scripts.benchmarks.tuner_rivals import RANDOM, STRATEGIES, Run, rivals, space_table, summary
from scripts.benchmarks.tuner_spaces import BENCHMARKS
from scripts.benchmarks.tuner_table import Table, measure_table, predicted_again, read_table

OURS = "perfmodel"
WITHIN = 1.05
SHARE = 0.2  # of random search's evaluations: the goal


def measured(folder: Path, spaces: Iterable[str], predict: bool, repeats: int) -> dict[str, Any]:
    """Measure some spaces into a folder first, and predict all in it again where asked to; then compare all in it.

    Both take the weights of the device in use. A space that the folder holds gets another pass: the lowest time counts.
    """
    for name in spaces:
        weights = find_weights()
        _tell(f"measuring {name}, about 2 s a configuration; {weights.text}")
        path = folder / f"{weights.folder.name}-{name}.jsonl"
        table = measure_table(BENCHMARKS[name], load(weights.path))
        (table.after(read_table(path)) if path.is_file() else table).write(path)
    for path in sorted(folder.glob("*.jsonl")) if predict else ():
        table = read_table(path)
        predicted_again(table, BENCHMARKS[table.space].space, load(find_weights().path)).write(path)
    return compare(folder, repeats, STRATEGIES if repeats else ())


def replay(table: Table, space: Space, within: float = WITHIN, level: float = 0.9) -> dict[str, Any]:
    """Run perfmodel's search on a table; return when it was near the best, and when it ended by itself."""
    where = {_key(values): place for place, values in enumerate(space.configurations)}
    rows = [row for row in table.rows if row.predicted is not None]
    places = [where[_key(row.values)] for row in rows]
    predictions = [Prediction(row.predicted, row.terms) for row in rows]
    scatter = None if table.scatter is None else Scatter(**table.scatter)
    search = Search(prior_of(predictions, scatter, space.coordinates[places]))
    best_s = min(row.seconds for row in table.rows if row.seconds is not None)
    spent = sum(row.build_s + row.count_s for row in table.rows)
    counting, near, end = spent, None, None
    while (place := search.following) is not None and (near is None or end is None):
        row = rows[place]
        search.note(place, row.seconds)
        spent += row.evaluation_s - row.build_s
        reached = (search.least or float("inf")) / best_s
        if near is None and reached <= within:
            near = Run(OURS, 0, len(search.times), spent)
        if end is None and search.settled >= level:
            end = {"evaluations": len(search.times), "seconds": spent, "times_the_best": reached}
    return {"near": near or Run(OURS, 0, None, None), "end": end, "counting_s": counting}


def compare(folder: Path, repeats: int, strategies: Iterable[str] = STRATEGIES) -> dict[str, Any]:
    """Return the results of every tuner on every table of a folder."""
    found = {}
    for path in sorted(folder.glob("*.jsonl")):
        table = read_table(path)
        space = BENCHMARKS[table.space].space
        others = rivals(space_table(table.space, space.values, table.rows), WITHIN, repeats, strategies, _tell)
        own = replay(table, space)
        found[path.stem] = {
            "space": table.space, "sizes": table.sizes, "device": table.device, "configurations": len(table.rows),
            "family": table.family, "counting_s": own["counting_s"], "end": own["end"],
            "tuners": summary([own["near"], *others]),
            "problems": sorted({f"{run.tuner}: {run.problem}" for run in others if run.problem}),
            "runs": [asdict(run) for run in (own["near"], *others)],
        }  # fmt: skip
    return {"within": WITHIN, "repeats": repeats, "spaces": found}


def text(result: Mapping[str, Any]) -> str:
    """Return a table for each space, and whether the goal is met."""
    lines = []
    for name, found in result["spaces"].items():
        lines += [f"{name}: {found['configurations']} configurations on {found['device']}, {found['sizes']}", ""]
        rows = [("tuner", "runs", "failed", "evaluations", "median", "seconds", "median")]
        for one in found["tuners"]:
            rows.append((
                one["tuner"], str(one["runs"]), str(one["failed"]), _number(one["evaluations_mean"]),
                _number(one["evaluations_median"]), _time(one["seconds_mean"]), _time(one["seconds_median"]),
            ))  # fmt: skip
        lines += [columns_text(rows), "", *_goals(found), *found["problems"], ""]
    return "\n".join(lines)


def _goals(found: Mapping[str, Any]) -> list[str]:
    means = {one["tuner"]: one["evaluations_mean"] for one in found["tuners"]}
    own, random = means[OURS], means.get(RANDOM)
    others = {name: mean for name, mean in means.items() if name != OURS and mean is not None}
    if random is None:
        return [f"{_number(own)} evaluations; others did not run"]
    best = min(others, key=lambda name: others[name])
    end = found["end"]
    share_met = own is not None and own <= SHARE * random
    first = own is not None and own <= others[best]
    lines = [
        f"{'met' if share_met else 'MISSED'}: {_number(own)} evaluations, at most a fifth of random search's "
        f"{_number(random)}",
        f"{'met' if first else 'MISSED'}: {_number(own)} evaluations, fewer than any other's ({best}: "
        f"{_number(others[best])})",
        f"counting and predicting all configurations took {_time(found['counting_s'])} of CPU time",
    ]
    if end is not None:
        lines.append(
            f"the search ends by itself after {end['evaluations']} evaluations and {_time(end['seconds'])}, at "
            f"{end['times_the_best']:.3f} times the best"
        )
    return lines


def _key(values: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(values.items()))


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _time(value: float | None) -> str:
    return "-" if value is None else seconds_text(value)


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
