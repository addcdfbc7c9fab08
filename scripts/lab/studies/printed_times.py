"""Compute the Radeon R9 Fury's column of the core paper's Table 1 from its Table 2 and our counts."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from pathlib import Path

from perfmodel import features
from perfmodel.counts import count
from perfmodel.kernels import discover

ROOT = Path(__file__).resolve().parents[3]
DATA = ROOT / "docs" / "data" / "stevens_kloeckner_2016"
FURY = "AMD Radeon R9 Fury"
LANES = 64
HEAD = "| kernel | size | printed [ms] | as counted [ms] | ratio | other reading [ms] | ratio |"
Values = Mapping[str, float]


def halo_inside_the_group(values: Values) -> Values:
    """A 16 by 16 group fetches 16 by 16 cells and computes the 14 by 14 inside their rim."""
    more = (16 / 14) ** 2
    per_group = ("barrier_local", "work_groups", "global_load_32_stride1")
    return {name: value * (more if name in per_group else 1) for name, value in values.items()}


def free_global_loads(values: Values) -> Values:
    """Loads of the tiles cost nothing."""
    return {**values, "global_load_32_stride1": 0.0}


def each_position_loaded_once(values: Values) -> Values:
    """Three local loads a pair, not one for each time that a difference is written; no softening."""
    pairs = values["op_float32_special"]
    adds = values["op_float32_add"] - pairs
    return {**values, "local_load_32": 3 * pairs, "op_float32_add": adds}


def a_barrier_for_each_output(values: Values) -> Values:
    """Work-items execute a barrier for each of the nine values that they compute."""
    return {**values, "barrier_local": values["global_store_32_stride1"]}


READINGS: Mapping[str, Callable[[Values], Values]] = {
    "stencil": halo_inside_the_group,
    "matmul_skinny": free_global_loads,
    "nbody": each_position_loaded_once,
    "convolution": a_barrier_for_each_output,
}


def milliseconds(weights: Values, values: Values) -> float:
    return 1e3 * sum(weights.get(name, 0.0) * value for name, value in values.items())


def table() -> str:
    """One row for each kernel and size: printed, as counted, and by the reading that comes closest."""
    with (DATA / "table2.csv").open() as file:
        weights = {row["feature"]: float(row["seconds"]) for row in csv.DictReader(file)}
    kernels = {kernel.name: kernel for kernel in discover(ROOT / "test_kernels")}
    lines = [HEAD, "|---" * HEAD[1:].count("|") + "|"]
    with (DATA / "table1.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["device"] == FURY]
    for row in rows:
        kernel, size, printed = kernels[row["kernel"]], int(row["size"]), float(row["predicted_ms"])
        (variant,) = kernel.variants_on(256, shapes=1)
        parameters = kernel.sizes.at(size.bit_length() - 1)[0]
        values = features.evaluate(count(kernel.build(**variant), subgroup_size=LANES), parameters)
        ours = milliseconds(weights, values)
        other = milliseconds(weights, READINGS[kernel.name](values))
        cells = [kernel.name, str(size), f"{printed:.2f}", f"{ours:.3f}", f"{ours / printed:.2f}"]
        cells += [f"{other:.3f}", f"{other / printed:.2f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)

