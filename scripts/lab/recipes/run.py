"""Times plain kernels, their authors' versions, and recipes that search chose or that were drawn at random.

``python -m scripts.lab.recipes.run FOLDER --device pocl --out ROWS.jsonl`` reads each ``FOLDER/NAME.py``
(:mod:`scripts.lab.recipes.ours` describes the files) and adds one JSON line for each run. Started again, it continues.
With ``--seconds`` it stops early; its exit status is then 3.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import Any

import perfmodel as pm
from perfmodel.counts.counting import statistics_of
from perfmodel.errors import PerfModelError
from perfmodel.kernels.files import execute
from perfmodel.measuring import pin_threads
from perfmodel.opencl import find
from perfmodel.recipes import Recipe
from perfmodel.store import Measurement
from perfmodel.tuning.trials import TRIALS, Trials

SEARCHES = ("k=0", "k=5")
RUNS = 5  # of a search
QUICK = replace(TRIALS, visits=1, apart_s=0.0, runs=8, enough_s=0.5, timeout_s=20.0)
ROUNDS = 3  # visits of the last comparison, each of all versions in turn
SEED = 44
MORE = 9  # at most this many times the wanted recipes are drawn


@dataclass(frozen=True)
class Bench:
    """One file of the collection, with the rows that it has on a device."""

    path: Path
    device: str
    out: Path
    until: float

    @cached_property
    def names(self) -> dict[str, Any]:
        """What the file defines."""
        return execute(self.path)

    @cached_property
    def plain(self) -> Any:
        """The untransformed kernel."""
        return self.names["kernel"]()

    @cached_property
    def authors(self) -> dict[str, Callable[[], Any]]:
        """The authors' versions by task."""
        if "authors" in self.names:
            return {f"author: {name}": partial(_itself, unit) for name, unit in self.names["authors"]().items()}
        return {"author: its": self.names["author"]}

    @cached_property
    def sizes(self) -> dict[str, int]:
        """The sizes of all runs."""
        return dict(self.names["sizes"]())

    @property
    def rows(self) -> dict[str, dict[str, Any]]:
        """The newest row of each task."""
        lines = self.out.read_text(encoding="utf-8").splitlines() if self.out.exists() else []
        rows = [json.loads(line) for line in lines]
        return {row["task"]: row for row in rows if (row["kernel"], row["device"]) == (self.path.stem, self.device)}

    def write_run(self, task: str, row: Measurement, recipe: Recipe | None = None) -> None:
        """Add the row of a run."""
        described = {} if recipe is None else {"recipe": recipe.to_json(), "words": str(recipe)}
        seconds = row.seconds if row.status == "ok" else None
        self.write(task, seconds=seconds, status=row.status, message=row.message[:300], **described)

    def write(self, task: str, **content: Any) -> None:
        """Add a row, and print it."""
        now = datetime.now(timezone.utc).isoformat(timespec="seconds")
        row = {"kernel": self.path.stem, "device": self.device, "task": task, "date": now, **content}
        with self.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        seconds = f"{1e3 * row['seconds']:10.3f} ms" if row.get("seconds") else f"{row.get('status', ''):>13}"
        words = f"{row.get('words', '')}{row.get('message', '')}"
        print(f"{self.path.stem:24s} {task:44s} {seconds}  {words}"[:200], flush=True)

    def in_time(self) -> bool:
        """Whether another run may start."""
        return monotonic() < self.until

    def trials(self, units: Mapping[str, Callable[[], Any]]) -> Trials:
        """Return trials whose outputs are compared with the plain kernel's."""
        return Trials(
            find(self.device), units, self.sizes, QUICK, self.names.get("arguments"), kernel=self.path.stem,
            reference=lambda **given: self.plain, statistics=self.statistics,
        )  # fmt: skip

    @cached_property
    def statistics(self) -> dict[str, float]:
        """Statistics of the data of ``arguments()``."""
        arguments = self.names.get("arguments")
        given = {} if arguments is None else arguments(**self.sizes)
        return statistics_of(self.plain, lambda: {**given, **self.sizes})

    def time(self, units: Mapping[str, Callable[[], Any]]) -> bool:
        """Time each version that has no row, and return whether all have one."""
        missing = {name: unit for name, unit in units.items() if name not in self.rows}
        if not missing or not self.in_time():
            return not missing
        with self.trials(missing) as trials:
            for name in missing:
                if not self.in_time():
                    return False
                self.write_run(name, trials.visit(name))
        return True

    def search(self) -> bool:
        """Let the search choose with each number of runs. The runs of a search count only for its choice."""
        model = pm.load(device=self.device)
        if "k=5" in self.rows:
            return True
        if not self.in_time():
            return False
        began = monotonic()
        try:
            found = pm.transformed(
                self.plain, self.sizes, runs=RUNS, model=model, archive=False, statistics=self.statistics,
                arguments=self.names.get("arguments"),
            )  # fmt: skip
        except PerfModelError as error:
            self.write("k=5", status="refused", message=str(error)[:300], wall_s=monotonic() - began)
            return True
        model_alone = found.candidates[0].recipe if found.candidates else Recipe()
        self.write("k=0", status="ok", recipe=model_alone.to_json(), words=str(model_alone))
        self.write(
            "k=5", seconds=found.seconds, status="ok", recipe=found.recipe.to_json(), words=str(found.recipe),
            wall_s=monotonic() - began, counting_s=found.counting_s, predicted=len(found.candidates),
            refused=dict(found.refused), notes=list(found.notes),
            expected=None if found.predicted is None else float(found.predicted.seconds),
        )  # fmt: skip
        return True

    def random(self, wanted: int) -> bool:
        """Time recipes drawn at random until `wanted` of them ran without an error."""
        rows = [row for task, row in self.rows.items() if task.startswith("random")]
        ran = sum(row["status"] == "ok" for row in rows)
        if ran >= wanted or len(rows) >= MORE * wanted or "no recipes" in self.rows:
            return True
        if not self.in_time():
            return False
        from perfmodel.recipes.generator import recipes_of

        drawn = list(recipes_of(self.plain, self.sizes, find(self.device).facts))
        if not drawn:
            self.write("no recipes", status="none")
            return True
        random.Random(SEED).shuffle(drawn)
        with self.trials({}) as trials:
            for number, recipe in islice(enumerate(drawn), len(rows), MORE * wanted):
                if ran >= wanted or not self.in_time():
                    break
                name = f"random {number}"
                trials.kernel.variants[name] = partial(recipe.apply, self.plain)
                row = trials.visit(name)
                ran += row.status == "ok"
                self.write_run(name, row, recipe)
            else:
                return True
        return bool(ran >= wanted)

    def last(self) -> bool:
        """Compare the author's best, the choices of the search and the best random recipe, in turn."""
        rows = self.rows
        if "last" in rows or "plain" not in rows:
            return True
        if not self.in_time():
            return False
        units: dict[str, Callable[[], Any]] = {}
        if best := _fastest(rows, "author"):
            units["author"] = self.authors[best["task"]]
        chosen = {task: rows.get(task) for task in SEARCHES} | {"random": _fastest(rows, "random")}
        for task, row in chosen.items():
            if row and row.get("recipe"):
                units[task] = partial(Recipe.from_json(row["recipe"]).apply, self.plain)
        with self.trials(units) as trials:
            for _ in range(ROUNDS):
                for name in units:
                    trials.visit(name)
            found = [(name, judged) for name in units if (judged := trials.judged(name))]
        seconds = {name: judged.seconds for name, judged in found if judged.status == "ok"}
        failures = {name: f"{one.status}: {one.message[:200]}" for name, one in found if one.status != "ok"}
        self.write("last", status="ok", seconds_of=seconds, failures=failures, words=json.dumps(seconds))
        return True

    def run(self, steps: tuple[str, ...], wanted: int) -> bool:
        """Do all that is missing, and return whether nothing is left."""
        does: dict[str, Callable[[], bool]] = {
            "plain": lambda: self.time({"plain": partial(_itself, self.plain)}),
            "author": lambda: self.time(self.authors),
            "search": self.search,
            "random": lambda: self.random(wanted),
            "last": self.last,
        }
        return all(does[step]() for step in steps)


def _itself(unit: Any) -> Any:
    return unit


def _fastest(rows: Mapping[str, dict[str, Any]], kind: str) -> dict[str, Any] | None:
    timed = [row for task, row in rows.items() if task.startswith(kind) and row["status"] == "ok" and row["seconds"]]
    return min(timed, key=lambda row: float(row["seconds"]), default=None)


def benches(folder: Path, only: str, **settings: Any) -> Iterator[Bench]:
    names = set(filter(None, only.split(",")))
    for path in sorted(folder.glob("*.py")):
        if not path.stem.startswith("_") and (not names or path.stem in names):
            yield Bench(path, **settings)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", default="pocl")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start nothing later than this")
    parser.add_argument("--only", default="", help="names of kernels, with commas")
    parser.add_argument("--steps", default="plain,author,search,random,last")
    parser.add_argument("--random", type=int, default=200, help="random recipes of each kernel that run")
    given = parser.parse_args()
    pin_threads()
    until = monotonic() + given.seconds
    for bench in benches(given.folder, given.only, device=given.device, out=given.out, until=until):
        try:
            done = bench.run(tuple(given.steps.split(",")), given.random)
        except Exception as error:  # a file of others may raise anything
            print(f"{bench.path.stem}: {type(error).__name__}: {str(error)[:300]}", flush=True)
            continue
        if not done:
            sys.exit(3)


if __name__ == "__main__":
    main()
