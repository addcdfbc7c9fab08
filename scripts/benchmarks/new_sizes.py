"""How fast a fitted model predicts a counted kernel at sizes that it has not seen, one by one and as an array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from perfmodel import store
from perfmodel.display import in_words
from perfmodel.predicting.model import FittedModel, load
from scripts.benchmarks.forked import seconds
from scripts.benchmarks.prediction import shortest

BATCH = 20
"""Sizes that are timed together."""
REPEATS = 5
KINDS = ("new_us", "again_us", "array_us")
NEW_US = 100.0
"""What one prediction at a new size may take, on one core, for the median kernel."""


def measure(folder: Path, weights: Path) -> dict[str, Any]:
    """Time predictions of a folder's test kernels by a weights file.

    CPU microseconds of a prediction, the best of five batches: of 20 sizes that no prediction has been asked for, of
    these sizes again, and of an array of 20 new sizes. New sizes are multiples of the measured size that ran shortest,
    so that they keep the kernel's assumptions.
    """
    model, tests = load(weights), store.read(folder / store.TESTS_FILE)
    found = []
    for (kernel, variant), row in shortest(tests).items():
        best = _best(model, tests.counts[row.counts_hash], row.parameters)
        found.append({"kernel": kernel, "variant": variant, "sizes": in_words(row.parameters), **best})
    return {"device": tests.device, "family": model.family.name, "kernels": found}


def _best(model: FittedModel, counts: Any, parameters: Mapping[str, int]) -> dict[str, float]:
    """Return the microseconds of one prediction."""
    _each(model, counts, [parameters])
    rows = []
    for k in range(REPEATS):
        one, other = (_multiples(parameters, 2 + part * BATCH) for part in (2 * k, 2 * k + 1))
        arrays = {name: np.array([at[name] for at in other]) for name in parameters}
        calls = partial(_each, model, counts, one)
        together = partial(model.predict, counts, arrays, allow_unmeasured=True)
        rows.append([seconds(call) for call in (calls, calls, together)])
    return {name: 1e6 * min(some) / BATCH for name, some in zip(KINDS, zip(*rows, strict=True), strict=True)}


def table(result: dict[str, Any]) -> str:
    """Return the measured times as text, with the goal met or missed."""
    from perfmodel.display import columns_text

    rows: list[tuple[str, ...]] = [("kernel", "variant", "multiples of", "new size", "same again", "in an array")]
    for row in result["kernels"]:
        rows.append((row["kernel"], row["variant"], row["sizes"], *(f"{row[kind]:.0f} us" for kind in KINDS)))
    middle = {kind: median(row[kind] for row in result["kernels"]) for kind in KINDS}
    rows.append(("median", "", "", *(f"{middle[kind]:.0f} us" for kind in KINDS)))
    new = middle["new_us"]
    goal = f"{'met ' if new <= NEW_US else 'MISSED'}  a new size, median kernel {new:.0f} us (goal {NEW_US:.0f})"
    return "\n".join([f"{result['family']} on {result['device']}", columns_text(rows, left=3), "", goal])


def _multiples(parameters: Mapping[str, int], first: int) -> list[dict[str, int]]:
    return [{name: k * size for name, size in parameters.items()} for k in range(first, first + BATCH)]


def _each(model: FittedModel, counts: Any, sizes: Sequence[Mapping[str, int]]) -> None:
    for at in sizes:
        model.predict(counts, at, allow_unmeasured=True)
