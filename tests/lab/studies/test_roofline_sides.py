"""Both sides of the balance inequality 2.4, on machines and computations that are made up."""

from __future__ import annotations

import itertools
import math

import pytest

from perfmodel.analyses.balance import Balance
from scripts.lab.studies.roofline import intensity, kernel_side, machine_balance, machine_side
from tests.analyses.test_balance import balance


def test_the_machine_of_chapter_3_balances_at_10_operations_a_byte():
    # "1 Tflop/s with a bandwidth of about 100 GB/s, or an ideal flop-to-byte balance ratio of about 10"
    assert pytest.approx(10.0) == machine_balance(balance())
    assert pytest.approx(1e9 / 64e6) == intensity(balance())


@pytest.mark.parametrize(
    ("depth", "transfers", "cores", "latency"),
    list(itertools.product((1.0, 1e3, 1e6), (1e3, 1e6), (2.0, 64.0, 1e4), (0.0, 1e-9, 1e-6))),
)
def test_the_inequality_is_that_of_the_times(depth, transfers, cores, latency):
    one = balance(depth=depth, transfers=transfers, cores=cores, latency=latency)
    assert (machine_side(one) <= kernel_side(one)) == one.holds == (one.compute_s >= one.memory_s)


def test_both_sides_by_hand():
    """p C0 / beta = 0.25; alpha beta / L = 250 and Q / D = 0.5; W / (Q L) = 3.125; (p - 1) / (W / D) = 0.03."""
    one = Balance(1000, 10, 5, cores=4, rate=1e9, latency=1e-6, bandwidth=16e9, transfer_bytes=64)
    assert pytest.approx(0.25 * (1 + 250 / 0.5)) == machine_side(one)
    assert pytest.approx(3.125 * 1.03) == kernel_side(one)


def test_only_with_one_core_less_does_the_inequality_follow():
    """A chain on two cores: computing takes W/C0 = 1 s, moving 1.2 s. By the printed p computing takes longer."""
    one = Balance(1e9, 1e9, 1, cores=2, rate=1e9, latency=0.0, bandwidth=1e9, transfer_bytes=1.2e9)
    assert (1.0, 1.2) == pytest.approx((one.compute_s, one.memory_s))
    assert not one.holds
    printed = intensity(one) * (1 + one.cores / one.parallelism)
    assert kernel_side(one) < machine_side(one) < printed


def test_without_latency_and_depth_it_is_kung_s():
    for transfers in (1e5, 1e6, 2e6):
        one = balance(transfers=transfers, latency=0.0, depth=0.0)
        assert (machine_balance(one) <= intensity(one)) == one.holds  # 2.5
    assert math.inf == balance(depth=0.0).parallelism
