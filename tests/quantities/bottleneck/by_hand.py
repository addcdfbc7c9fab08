"""Small kernels and made-up devices for the quantities of nests."""

from collections.abc import Mapping

import loopy as lp
import numpy as np

from perfmodel.counts import KernelCounts, count
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.quantities.bottleneck import QUANTITIES, bottleneck_quantities
from perfmodel.quantities.case import Case

LANES = 8


def device(order: str, **more: int | str) -> DeviceFacts:
    values: dict[str, int | str] = {
        "lane_order": order, "vector_lanes": LANES, "compute_units": 1, "l1_bytes": 32768, "l1_ways": 8, **more,
    }  # fmt: skip
    return DeviceFacts.from_mapping("d", "p", "1", {key: Fact(value, "", "given") for key, value in values.items()})


def kernel(domain: str, code: str, shapes: str, dtype: type = np.float32) -> KernelCounts:
    """Count a kernel with groups of 64 along i; ``shapes`` is as ``"a: n; b: n, k"``."""
    arrays = [
        lp.GlobalArg(name.strip(), dtype, shape=shape.strip(), is_input=None)
        for name, shape in (array.split(":") for array in shapes.split(";"))
    ]
    unit = lp.make_kernel(domain, code, [*arrays, ...], assumptions="n mod 64 = 0 and n >= 64", lang_version=(2018, 2))
    return count(lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0"), cache=False)


def copy(dtype: type = np.float32) -> KernelCounts:
    return kernel("[n] -> { [i]: 0 <= i < n }", "out[i] = a[i]", "a: n; out: n", dtype)


def row_sums() -> KernelCounts:
    return kernel("[n, k] -> { [i, j]: 0 <= i < n and 0 <= j < k }", "out[i] = sum(j, a[i, j])", "a: n, k; out: n")


def quantities(
    counts: KernelCounts, order: str, facts: Mapping[str, int | str] | None = None, **sizes: int
) -> dict[str, float]:
    values = bottleneck_quantities(Case(counts, sizes, device(order, **(facts or {}))))
    assert set(QUANTITIES) == set(values)
    return {name: value for name, value in values.items() if value}
