"""Writes the rows of :mod:`scripts.lab.recipes.run` into a small CSV file, and prints the file as tables for a page.

``python -m scripts.lab.recipes.table ROWS.jsonl... --out docs/data/recipe-choices.csv`` replaces the rows of kernels
that were measured again, and keeps all others.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from scripts.lab.recipes.ours import KERNELS

COLUMNS = ("kernel", "device", "plain_s", "author_s", "k0_s", "k5_s", "random_s", "predicted", "search_s", "recipe")


def condensed(paths: Iterable[Path]) -> Iterator[dict[str, Any]]:
    """Yield a row for each kernel and device that has a last comparison."""
    tasks: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            tasks.setdefault((row["device"], row["kernel"]), {})[row["task"]] = row
    for (device, kernel), rows in sorted(tasks.items()):
        if "last" not in rows:
            continue
        last, search = rows["last"]["seconds_of"], rows["k=5"]
        times = (rows["plain"]["seconds"], *(last.get(name) for name in ("author", "k=0", "k=5", "random")))
        texts = ("" if time is None else f"{time:.4g}" for time in times)
        words = (search.get("predicted", 0), f"{search['wall_s']:.0f}", search.get("words", "untransformed"))
        yield dict(zip(COLUMNS, (kernel, device, *texts, *words), strict=True))


def merged(*tables: Iterable[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return the rows of all tables, sorted. Of rows with one kernel and device, the last one counts."""
    found = {(row["device"], row["kernel"]): {name: str(row.get(name, "")) for name in COLUMNS}
             for table in tables for row in table}  # fmt: skip
    return [found[key] for key in sorted(found)]


def lines(rows: Iterable[Mapping[str, str]]) -> Iterator[str]:
    """Yield the lines of a table, of a summary by device and origin, and of a comparison with random recipes."""
    rows = list(rows)
    heads = ("kernel", "runtime", "untransformed", "author", "model alone", "five runs", "over the author",
             "recipes predicted", "search [s]")  # fmt: skip
    yield f"| {' | '.join(heads)} |"
    yield "|---|---|---:|---:|---:|---:|---:|---:|---:|"
    for row in rows:
        times = (f"{1e3 * float(row[name]):.2f} ms" if row[name] else "-" for name in COLUMNS[2:6])
        cells = (row["kernel"], row["device"], *times, f"{_over(row, 'k5_s'):.2f}", row["predicted"], row["search_s"])
        yield f"| {' | '.join(cells)} |"
    yield ""
    yield "| runtime | kernels of | number | five runs over the author, mean | worst | model alone, mean | above 2 |"
    yield "|---|---|---:|---:|---:|---:|---:|"
    groups: dict[tuple[str, str], list[Mapping[str, str]]] = {}
    for row in rows:
        groups.setdefault((row["device"], "this project" if row["kernel"] in KERNELS else "others"), []).append(row)
    for (device, origin), some in sorted(groups.items()):
        runs, alone = ([_over(row, name) for row in some if row[name]] for name in ("k5_s", "k0_s"))
        cells = (device, origin, f"{len(some)}", f"{geometric_mean(runs):.2f}", f"{max(runs):.2f}",
                 f"{geometric_mean(alone):.2f}" if alone else "-", f"{sum(ratio > 2 for ratio in alone)}")  # fmt: skip
        yield f"| {' | '.join(cells)} |"
    if drawn := [row for row in rows if row["random_s"]]:
        yield ""
        yield "| kernel | runtime | best of 200 random | one run | five runs | one over random | five over random |"
        yield "|---|---|---:|---:|---:|---:|---:|"
    for row in drawn:
        best, five = float(row["random_s"]), float(row["k5_s"])
        one = min(float(row[name]) for name in ("plain_s", "k0_s") if row[name])
        times = (f"{1e3 * time:.2f} ms" for time in (best, one, five))
        cells = (row["kernel"], row["device"], *times, f"{one / best:.2f}", f"{five / best:.2f}")
        yield f"| {' | '.join(cells)} |"


def _over(row: Mapping[str, str], name: str) -> float:
    return float(row[name]) / float(row["author_s"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=Path, nargs="*")
    parser.add_argument("--out", type=Path, default=Path("docs/data/recipe-choices.csv"))
    given = parser.parse_args()
    with given.out.open(newline="", encoding="utf-8") as file:
        rows = merged(csv.DictReader(file, restval=""), condensed(given.rows))
    with given.out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print("\n".join(lines(rows)))


if __name__ == "__main__":
    main()
