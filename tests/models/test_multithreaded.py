"""The family of a device that hides latency, against sums by hand."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.models import find_family
from perfmodel.models.model import RunTime, bind
from perfmodel.models.multithreaded import IN_LOOPS, STRAIGHT, norm
from perfmodel.quantities.case import Case
from perfmodel.quantities.multithreaded import FUNCTIONS
from tests.models.test_threaded_manycore import counted
from tests.quantities.test_multithreaded import CACHES, chain, device

FAMILY = find_family("multithreaded")
#: Seconds of one unit of each resource, and cycles of an instruction on a chain for one of its issue.
WEIGHTS = {
    "w_launch": 1e-6, "w_group": 1e-8, "w_issue": 1e-9, "w_double": 4e-9, "w_line": 8e-9, "w_store": 1e-8,
    "w_memory": 2e-8, "w_depth": 20.0, "w_hit": 5e-8, "w_miss": 3e-7, "w_barrier": 1e-7,
    **{f"w_{kind}": 3e-9 for kind in (*FUNCTIONS, "other")},
}  # fmt: skip


def seconds(counts, **sizes):
    values = FAMILY.values(Case(counts, sizes, device(**CACHES), FAMILY.name))
    return RunTime(FAMILY, WEIGHTS).evaluate(values)


def test_a_scaled_copy():
    # the busiest unit has two groups of two sub-groups: tests/quantities/test_multithreaded.py
    total, parts = seconds(counted(), n=30 * 64)
    straight = np.linalg.norm([4e-9, 4e-9, 4 * 8e-9 + 4 * 1e-8], STRAIGHT)
    assert 1e-6 + 2e-8 + (20e-9 + 3e-7) + straight == pytest.approx(total)
    assert (1.02e-6, 20e-9 + 3e-7) == pytest.approx((parts["overhead"], parts["chain"]))


def test_a_chain_in_a_loop_hides_behind_nothing():
    total, parts = seconds(chain(), n=15 * 64, k=1000)
    waits = 20 * (3000 * 1e-9 + 1000 * 3e-9) + 5e-8 * 1000 + (3e-7 - 5e-8) * 1000 * 32 / (15 * 2000)
    loops = [6000e-9 + 2000 * 3e-9, 2000e-9, 8e-9 * 2000 * 32 / (15 * 2000), 0, waits]
    assert waits == pytest.approx(parts["chain"])
    assert 1e-6 + 1e-8 + np.linalg.norm(loops, IN_LOOPS) + 2e-8 == pytest.approx(total)


def test_more_groups_hide_the_chain():
    """Up to 1536 work-items of a unit (eight groups of 64) take as long as one group, until another resource binds."""
    one, eight, sixteen = (seconds(chain(), n=15 * groups * 64, k=1000)[1] for groups in (1, 8, 16))
    assert one["chain"] == pytest.approx(eight["chain"], rel=0.03)  # each group has less of the cache
    assert 2 == pytest.approx(sixteen["chain"] / eight["chain"], rel=0.03)
    assert 8 == pytest.approx(eight["loop_issue"] / one["loop_issue"])


def test_the_norm_of_three():
    model = FAMILY.from_expression(
        norm(3, "w_a*op_float32_add", norm(3, "w_b*launches", "w_c*work_groups")), name="norm"
    )
    values = {"op_float32_add": 3.0, "launches": 4.0, "work_groups": 5.0}
    assert 6 == pytest.approx(bind(model, values).value(values, [1.0, 1.0, 1.0]))  # 27 + 64 + 125 = 216


def test_few_weights():
    assert len(FAMILY.weights) - len(FUNCTIONS) - 1 <= 30
