"""Roofs and balance of recorded test kernels, against the inequality 2.4 worked out by hand."""

import itertools
import math
from dataclasses import replace

import pytest

from perfmodel.analyses.balance import Balance
from perfmodel.analyses.roofline import KernelPoint
from scripts.lab.experiments.roofline import STUDY
from scripts.lab.studies import roofline
from scripts.lab.studies.roofline import BalancedKernel, intensity, kernel_side, machine_balance, machine_side
from scripts.lab.study_runs import study_data
from tests.analyses.test_balance import balance
from tests.recorded import INTEL

#: 1000 nodes in a chain of 10, 5 transfers of 64 B; 4 cores of 1e9 nodes/s, 1 us, 16 GB/s.
ONE = Balance(1000, 10, 5, cores=4, rate=1e9, latency=1e-6, bandwidth=16e9, transfer_bytes=64)


def kernel(balance, rate=1.0):
    return BalancedKernel("k", "v", "n=1", balance, rate)


@pytest.mark.nightly
def test_a_kernel_and_kung_s_inequality():
    """p C0 / beta = 0.25, and W / (Q L) = 3.125."""
    one = kernel(ONE)
    assert (False, True, True) == (ONE.holds, one.holds_by_kung, one.drawable)
    assert not kernel(replace(ONE, transfers=0)).drawable


@pytest.mark.nightly
def test_claims_by_hand():
    holds = replace(ONE, latency=0.0)
    assert (3.0, 2.0) == roofline.highest_rates([kernel(holds, 3.0), kernel(ONE, 1.0), kernel(ONE, 2.0)])
    assert roofline.balance_claim([kernel(holds, 3.0), kernel(ONE, 2.0)]).agrees
    assert roofline.balance_claim([kernel(holds, 1.0), kernel(ONE, 2.0)]).agrees is False
    assert roofline.balance_claim([kernel(ONE, 2.0)]).agrees is None
    point = KernelPoint("k", "v", "n=1", 10.0, 10.0, 2.0, 1.0, "compute")
    assert roofline.roofs_claim([point]).agrees
    assert "at 50%" in roofline.roofs_claim([point]).found
    assert roofline.roofs_claim([point, replace(point, bound_s=2.2)]).agrees is False
    assert roofline.roofs_claim([replace(point, bound_s=math.nan)]).agrees is None


@pytest.mark.nightly
def test_a_recorded_device(tmp_path):
    data = study_data(STUDY, tmp_path, INTEL)
    found = STUDY.examine(data)
    kernels = roofline.balanced_kernels(data)
    assert len(found.tables["balance"]) == len(found.tables["roofs"]) == len(kernels)
    for one in kernels:
        assert one.balance.holds == (kernel_side(one.balance) >= machine_side(one.balance))
    assert {"roofs", "balance"} == found.pictures.keys()
    assert all(one.found for one in found.claims)


def test_both_sides_by_hand_and_kung_s_inequality_without_latency_and_depth():
    # "1 Tflop/s with a bandwidth of about 100 GB/s, or an ideal flop-to-byte balance ratio of about 10"
    assert pytest.approx(10.0) == machine_balance(balance())
    assert pytest.approx(1e9 / 64e6) == intensity(balance())
    # p C0 / beta = 0.25; alpha beta / L = 250 and Q / D = 0.5; W / (Q L) = 3.125; (p - 1) / (W / D) = 0.03
    one = ONE
    assert pytest.approx(0.25 * (1 + 250 / 0.5)) == machine_side(one)
    assert pytest.approx(3.125 * 1.03) == kernel_side(one)
    for transfers in (1e5, 1e6, 2e6):
        one = balance(transfers=transfers, latency=0.0, depth=0.0)
        assert (machine_balance(one) <= intensity(one)) == one.holds  # 2.5
    assert math.inf == balance(depth=0.0).parallelism


@pytest.mark.parametrize(
    ("depth", "transfers", "cores", "latency"),
    list(itertools.product((1.0, 1e3, 1e6), (1e3, 1e6), (2.0, 64.0, 1e4), (0.0, 1e-9, 1e-6))),
)
def test_the_inequality_is_that_of_the_times(depth, transfers, cores, latency):
    one = balance(depth=depth, transfers=transfers, cores=cores, latency=latency)
    assert (machine_side(one) <= kernel_side(one)) == one.holds == (one.compute_s >= one.memory_s)


def test_only_with_one_core_less_does_the_inequality_follow():
    """A chain on two cores: computing takes W/C0 = 1 s, moving 1.2 s. By the printed p computing takes longer."""
    one = Balance(1e9, 1e9, 1, cores=2, rate=1e9, latency=0.0, bandwidth=1e9, transfer_bytes=1.2e9)
    assert (1.0, 1.2) == pytest.approx((one.compute_s, one.memory_s))
    assert not one.holds
    printed = intensity(one) * (1 + one.cores / one.parallelism)
    assert kernel_side(one) < machine_side(one) < printed
