"""Only one fitted model charges for comparisons and selects, and none refuses a kernel because of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import KernelCounts, count
from perfmodel.counts.program.program import DECISIONS
from perfmodel.predicting import load

FOLDER = Path(__file__).parents[2] / "fitted_weights"
DEVICES = ("gpgpu-sim-gtx480", "nvidia-titan-v", "pocl-skylake-avx512-amd-epyc")
FITS = [path for device in DEVICES for path in sorted((FOLDER / device).glob("*.json")) if "w_" in path.read_text()]
SIZES = {"n": 4096, "m": 64}


def clipped_sums() -> KernelCounts:
    unit = lp.make_kernel(
        "{ [i, j]: 0 <= i < n and 0 <= j < m }",
        """
        if x[i] > 0.5
            out[i] = sum(j, a[j, i] if a[j, i] < x[i] else 2*x[i])
        end
        """,
        [lp.GlobalArg("x, out", np.float32, shape="n"), lp.GlobalArg("a", np.float32, shape="m, n"), ...],
        assumptions="n >= 1 and n mod 64 = 0 and m >= 1", lang_version=(2018, 2),
    )  # fmt: skip
    unit = lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0")
    tests = ("x[i_inner + i_outer*64] > 0.5", "a[j, i_inner + i_outer*64] < x[i_inner + i_outer*64]")
    return count(unit, cache=False, statistics=dict.fromkeys(tests, 0.5))


def without_decisions(counts: KernelCounts) -> KernelCounts:
    rows = tuple(row for row in counts.operation_table if row.kind not in DECISIONS)
    return replace(counts, source=replace(counts.program, decisions=()), operation_table=rows)


@pytest.mark.parametrize("path", FITS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_decisions_are_instructions_of_the_model_of_sub_groups_only(path: Path) -> None:
    counts = clipped_sums()
    assert {"compare", "select"} <= {row.kind for row in counts.operation_table}
    model = load(path)
    without, made = (
        model.predict(each, allow_unmeasured=True, **SIZES) for each in (without_decisions(counts), counts)
    )
    assert without.unmeasured == made.unmeasured
    if path.stem == "multithreaded":
        assert without.seconds < made.seconds
    else:
        assert without.seconds == made.seconds
