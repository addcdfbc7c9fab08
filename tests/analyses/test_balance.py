"""The balance inequality 2.4 and the verdicts, on machines and computations that are made up."""

from __future__ import annotations

import loopy as lp
import numpy as np
import pytest

from perfmodel.analyses.balance import (
    COMPUTE_BOUND,
    MEMORY_BOUND,
    NO_WORK,
    TOO_LITTLE_PARALLELISM,
    Balance,
    judge_balance,
)
from perfmodel.counts import count
from perfmodel.errors import FamilyError
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.fitting import FitOptions
from perfmodel.fitting.weights_file import FittedWeight, FittedWeights, Residuals
from perfmodel.models import find_family
from perfmodel.predicting.model import FittedModel


def balance(**changes):
    """10^9 nodes, 100 deep, that move 64 MB; 10^12 operations and 10^11 B a second: 10 operations a byte."""
    kept = {
        "work": 1e9, "depth": 100.0, "transfers": 1e6, "cores": 1000.0, "rate": 1e9, "latency": 5e-7,
        "bandwidth": 1e11, "transfer_bytes": 64.0,
    }  # fmt: skip
    return Balance(**{**kept, **changes})


def test_the_terms_of_the_inequality():
    found = balance()
    assert pytest.approx(1e7) == found.parallelism  # W/D
    assert pytest.approx(1e4) == found.memory_parallelism  # Q/D
    assert pytest.approx(5e-7 * 1e11 / 64) == found.hidden  # alpha beta / L
    assert pytest.approx((100 + (1e9 - 100) / 1000) / 1e9) == found.compute_s  # 2.1
    assert pytest.approx(5e-7 * 100 + 64e6 / 1e11) == found.memory_s  # 2.3


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, COMPUTE_BOUND),  # 1 ms of work against 0.05 ms of latency and 0.64 ms of transfers
        ({"transfers": 1e8}, MEMORY_BOUND),  # 64 ms of transfers
        ({"depth": 1e7}, TOO_LITTLE_PARALLELISM),  # 5 s of latency
        ({"depth": 1e7, "latency": 0.0}, TOO_LITTLE_PARALLELISM),  # a chain of 10 ms
        ({"work": 0.0, "depth": 0.0, "transfers": 0.0}, NO_WORK),
    ],
)
def test_the_largest_time_gives_the_verdict(changes, verdict):
    assert verdict == balance(**changes).verdict


# {{{ a kernel on a fitted model


def model(family="work_depth", operation=1e-9, latency=1e-9, byte=1e-11):
    values = {"w_operation": operation, "w_latency": latency, "w_byte": byte, "w_launch": 5e-6}
    units = find_family("work_depth").weight_unit
    fitted = FittedWeights(
        family=family, device="toy", subgroup_size=32, options=FitOptions(), rows=1, measurements="0", rank=4,
        condition=1.0, degrees_of_freedom=1, converged=True, notes=(), features=tuple(values),
        residuals=Residuals(geometric_mean=0.0, median=0.0, largest=0.0),
        weights={
            name: FittedWeight(value=value, unit=units(name), standard_error=None, marks=())
            for name, value in values.items()
        },
    )  # fmt: skip
    known = {"compute_units": 4, "lanes_per_unit": 32, "global_transaction_bytes": 64}
    facts = {key: Fact(value, "", "made up") for key, value in known.items()}
    return FittedModel(fitted, DeviceFacts.from_mapping("toy", "none", "0", facts), find_family(family))


def counted(text, domains="{[i]: 0 <= i < n}", parallel=True):
    t_unit = lp.make_kernel(domains, text, [lp.GlobalArg("a, out", np.float32, shape=lp.auto), ...],
                            assumptions="n >= 64 and n mod 64 = 0", lang_version=(2018, 2))  # fmt: skip
    if parallel:
        t_unit = lp.split_iname(t_unit, "i", 64, outer_tag="g.0", inner_tag="l.0")
    return count(t_unit, subgroup_size=32)


def test_a_copy_is_bound_by_memory_and_a_long_sum_by_its_chain():
    copy, chain = counted("out[i] = a[i]"), counted("out[0] = sum(i, a[i])", parallel=False)
    sizes = {"n": 2**20}
    slow_memory = judge_balance(model(byte=1e-9), copy, sizes)
    assert MEMORY_BOUND == slow_memory.verdict
    assert (8 * 2**20 / 64, 64.0, 128.0) == (slow_memory.transfers, slow_memory.transfer_bytes, slow_memory.cores)
    assert TOO_LITTLE_PARALLELISM == judge_balance(model(), chain, sizes).verdict
    assert COMPUTE_BOUND == judge_balance(model(byte=0.0, latency=0.0), copy, sizes).verdict


@pytest.mark.parametrize(("on_chip", "times"), [(None, 1), (2**30, 1), (1024, 16)])
def test_a_finite_z_decides_how_often_data_moves(on_chip, times):
    """The columns of a matrix with rows of 4 KiB: a line of 16 cells moves once, or for each cell where Z is small."""
    unit = lp.make_kernel(
        "{[i, j]: 0 <= i < n and 0 <= j < 1024}", "out[j] = sum(i, a[i, j])",
        [lp.GlobalArg("a", np.float32, shape="n, 1024"), lp.GlobalArg("out", np.float32, shape="1024"), ...],
        assumptions="n >= 64", lang_version=(2018, 2),
    )  # fmt: skip
    asked = {} if on_chip is None else {"on_chip_bytes": Fact(on_chip, "B", "asked")}
    found = judge_balance(model().with_facts(asked), count(unit, subgroup_size=32), {"n": 256})
    assert pytest.approx(times * 256 * 64 + 64, rel=0.06) == found.transfers


def test_a_model_of_another_family_is_reported():
    with pytest.raises(FamilyError, match="family 'roofline'; fit the family 'work_depth'"):
        judge_balance(model("roofline"), counted("out[i] = a[i]"), {"n": 64})


# }}}
