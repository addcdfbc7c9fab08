"""How fast a run time is predicted, and how that compares with running the kernel."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from perfmodel import store
from perfmodel.display import in_words
from perfmodel.predicting.model import FittedModel, fit
from perfmodel.store import Measurement, Measurements
from scripts.benchmarks.forked import seconds

CALLS = 2000
SIZES = 1_000_000
RUNS = 30
ONE_US, MANY_S = 50.0, 2.0
"""What one prediction and a million of them may take, on one core."""


def measure(folder: Path) -> dict[str, Any]:
    """Time predictions of the test kernels in a folder, at the size that ran shortest.

    CPU seconds: the best of five times 2000 calls, after as many that warm up, and the best of
    three calls for that size a million times over. Running a kernel 30 times takes what its
    measured runs say, and nothing for building it.
    """
    measured, tests = store.read(folder), store.read(folder / "test.jsonl")
    model = fit(measured)
    found = []
    for (kernel, variant), row in shortest(tests).items():
        counts = tests.counts[row.counts_hash]
        one = _best(partial(_many_calls, model, counts, row.parameters), 5) / CALLS
        sizes = {name: np.full(SIZES, size) for name, size in row.parameters.items()}
        many = _best(partial(model.predict, counts, sizes, allow_unmeasured=True), 3)
        ran = RUNS * sum(row.kept_s) / len(row.kept_s)
        found.append(
            {
                "kernel": kernel, "variant": variant, "sizes": in_words(row.parameters), "one_us": 1e6 * one,
                "million_s": many, "thirty_runs_s": ran, "ratio": ran / one,
            }
        )  # fmt: skip
    return {"device": measured.device, "family": model.family.name, "kernels": found}


def shortest(tests: Measurements) -> dict[tuple[str, str], Measurement]:
    """Return of each kernel and variant the measurement that ran shortest."""
    rows: dict[tuple[str, str], Measurement] = {}
    for row in sorted(tests, key=lambda row: row.seconds):
        rows.setdefault((row.kernel, in_words(row.variant)), row)
    return dict(sorted(rows.items()))


def table(result: dict[str, Any]) -> str:
    """Return the measured times as text, with each goal met or missed."""
    from perfmodel.display import columns_text

    rows = [("kernel", "variant", "sizes", "one", "million sizes", "30 runs", "runs / one")]
    rows += [
        (
            row["kernel"], row["variant"], row["sizes"], f"{row['one_us']:.1f} us", f"{row['million_s']:.2f} s",
            f"{1e3 * row['thirty_runs_s']:.3g} ms", f"{row['ratio']:.0f}",
        )
        for row in result["kernels"]
    ]  # fmt: skip
    one = max(row["one_us"] for row in result["kernels"])
    many = max(row["million_s"] for row in result["kernels"])
    goals = [
        f"{'met ' if one <= ONE_US else 'MISSED'}  one prediction, slowest {one:.1f} us (goal {ONE_US:.0f})",
        f"{'met ' if many <= MANY_S else 'MISSED'}  a million sizes, slowest {many:.2f} s (goal {MANY_S:.0f})",
    ]
    return "\n".join([f"{result['family']} on {result['device']}", columns_text(rows, left=3), "", *goals])


def _many_calls(model: FittedModel, counts: Any, at: Any) -> None:
    for _ in range(CALLS):
        model.predict(counts, at, allow_unmeasured=True)


def _best(call: Callable[[], object], repeats: int) -> float:
    call()
    return min(seconds(call) for _ in range(repeats))
