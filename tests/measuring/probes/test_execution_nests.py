"""Chains with and without a loop compute the same."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.measuring.probes import execution
from perfmodel.measuring.probes.execution import nest_source
from tests.measuring.probes.devices import SHORT, content, instrument, stepped

pytestmark = pytest.mark.device


@pytest.mark.parametrize("nest", ["straight", "looped"])
def test_what_the_kernel_of_nests_computes(nest):
    kernel = instrument().kernel(nest_source(nest, 5), "-DREAL=float")
    values = np.arange(8, dtype=np.float32)
    with instrument().memory(values, values.nbytes) as (numbers, out):
        kernel.set_args(out, numbers, np.float32(0.5), np.float32(0.25), np.int32(1), np.int32(2))
        instrument().times(kernel, 4, 4, 1)  # groups 0 and 1 share the first four cells
        assert stepped(values, 5).tolist() == content(out, np.float32, 8).tolist()


def test_points_of_nests():
    points = list(execution.NESTS.points(instrument(), SHORT, ()))
    chains = execution.NESTS_OPERATIONS
    expected = {(d, n, k) for d in instrument().dtypes for n in ("straight", "looped") for k in chains}
    assert expected == {(p.at["dtype"], p.at["nest"], p.at["operations"]) for p in points}
    assert all(point.work >= execution.NESTS_ITEMS * execution.NESTS_PARTS for point in points)
