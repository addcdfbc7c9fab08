"""Compares recipes, chosen by the model alone, with the variants of a GPU's archive (`fitted_weights/nvidia-titan-v`).

Each row of the table is an einsum with at least one whole space in the archive. Both minima are predictions of
the same weights. No device is needed. ``python -m scripts.lab.recipes.recorded_gpu --out docs/data/recipe-einsums.csv``
takes a minute for each einsum.
"""

import argparse
import csv
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import loopy as lp
import numpy as np

import perfmodel as pm
from perfmodel.fitting.device_folder import recorded_folder
from perfmodel.fitting.evaluated import read_in_turn

FOLDER = Path("fitted_weights/nvidia-titan-v")
FAMILY = "multithreaded"
WHOLE = 20  # an archive has at most twelve rows of a space that is not whole
COLUMNS = (
    "einsum", "variants", "recorded_best_s", "recorded_of_predicted_best_s", "predicted_best_s", "recipe_s",
    "recipes", "seconds", "recipe",
)  # fmt: skip


@dataclass(frozen=True)
class Einsum:
    """One contraction: subscripts, and the length of each index, None for one that is a size parameter."""

    text: str
    subscripts: str
    lengths: dict[str, int | None]

    @staticmethod
    def of(group: str) -> "Einsum":
        """Read a group's name, ``ji,kj->ki i24 j24 k24``."""
        subscripts, *lengths = group.split()
        known = {text[0]: int(text[1:]) for text in lengths}
        indices = sorted(set(re.findall("[a-z]", subscripts)))
        return Einsum(group, subscripts, {name: known.get(name) for name in indices})

    def kernel(self) -> lp.TranslationUnit:
        """Return the untransformed kernel, in double precision and row-major order."""
        operands, output = self.subscripts.split("->")
        bounds = {name: length or name.upper() for name, length in self.lengths.items()}
        factors = {f"x{place}": indices for place, indices in enumerate(operands.split(","))}
        shared = ",".join(name for name in self.lengths if name not in output)
        product = " * ".join(f"{name}[{','.join(indices)}]" for name, indices in factors.items())
        arrays = [
            lp.GlobalArg(name, np.float64, shape=",".join(str(bounds[index]) for index in indices))
            for name, indices in {**factors, "out": output}.items()
        ]
        sizes = [bound for bound in bounds.values() if isinstance(bound, str)]
        limits = " and ".join(f"0 <= {name} < {bound}" for name, bound in bounds.items())
        domain = f"[{','.join(sizes)}] -> {{ [{','.join(bounds)}]: {limits} }}"
        text = f"out[{','.join(output)}] = sum(({shared}), {product})"
        arguments = [*arrays, *(lp.ValueArg(size, np.int32) for size in sizes)]
        return lp.make_kernel(domain, text, arguments, lang_version=(2018, 2))


def judged(names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield a row for each einsum with a whole space, or for those that are named."""
    rows = recorded_folder(FOLDER)[0]
    spaces = Counter((row.group, row.kernel) for row in rows)
    whole = sorted({group for (group, _), number in spaces.items() if number > WHOLE and group is not None})
    model = pm.load(FOLDER / f"{FAMILY}.json")
    for group in names or whole:
        own = [
            (model.predict(counts, row.parameters, allow_unmeasured=True).seconds, row)
            for counts, row in read_in_turn(rows, (row for row in rows if row.group == group))
        ]
        predicted, best = min(own, key=lambda pair: pair[0])
        einsum = Einsum.of(group)
        found = pm.transformed(einsum.kernel(), dict(best.parameters), runs=0, model=model, archive=False)
        recipe = found.predicted.seconds if found.predicted else math.nan
        times = (min(row.seconds for _, row in own), best.seconds, predicted, recipe, found.spent_s)
        *texts, spent = (f"{time:.4g}" for time in times)
        cells = (group, len(own), *texts, len(found.candidates), spent, str(found.recipe))
        yield dict(zip(COLUMNS, cells, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("einsums", nargs="*", help="groups; by default those with a whole space")
    parser.add_argument("--out", type=Path, default=Path("docs/data/recipe-einsums.csv"))
    given = parser.parse_args()
    with given.out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for row in judged(given.einsums):
            writer.writerow(row)
            file.flush()
            print(row, flush=True)


if __name__ == "__main__":
    main()
