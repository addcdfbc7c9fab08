"""Functions that are one instruction cost as much as an addition, in both of our families."""

from __future__ import annotations

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import KernelCounts, count
from perfmodel.quantities.bottleneck import bottleneck_quantities
from perfmodel.quantities.case import Case
from tests.quantities.bottleneck.by_hand import device
from tests.quantities.test_multithreaded import resources


def applied(function: str) -> KernelCounts:
    unit = lp.make_kernel(
        "{ [i]: 0 <= i < n }", f"out[i] = {function}", [lp.GlobalArg("a, out", np.float32, shape="n"), ...],
        assumptions="n mod 64 = 0 and n >= 64", lang_version=(2018, 2),
    )  # fmt: skip
    return count(lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0"), cache=False)


@pytest.mark.parametrize("function", ["fabs(a[i])", "floor(a[i])", "ceil(a[i])"])
@pytest.mark.parametrize("order", ["serial", "lockstep"])
def test_one_instruction_is_no_call(function: str, order: str) -> None:
    plain, called = (
        bottleneck_quantities(Case(applied(one), {"n": 1024}, device(order))) for one in ("a[i] + 1", function)
    )
    moved = {name for name in plain if plain[name] != called[name]}
    assert moved <= {"chain_add"}  # an addition is on the chain, of which the model knows no other latency
    assert 0 == called["function_32"]


def test_one_instruction_is_no_function_of_a_gpu() -> None:
    plain, called = (resources(applied(one), n=1024) for one in ("a[i] + 1", "fabs(a[i])"))
    assert {name: plain[name] for name in plain} == {name: called[name] for name in plain}
