"""Roofs and balance of recorded test kernels, against the inequality worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from perfmodel.analyses.balance import Balance
from perfmodel.analyses.roofline import KernelPoint
from scripts.lab.experiments.roofline import STUDY
from scripts.lab.studies.roofline import (
    BalancedKernel,
    balance_claim,
    balanced_kernels,
    highest_rates,
    kernel_side,
    machine_side,
    roofs_claim,
)
from scripts.lab.study_runs import study_data
from tests.recorded import INTEL

pytestmark = pytest.mark.nightly  # research code, and long

#: 1000 nodes in a chain of 10, 5 transfers of 64 B; 4 cores of 1e9 nodes/s, 1 us, 16 GB/s.
ONE = Balance(1000, 10, 5, cores=4, rate=1e9, latency=1e-6, bandwidth=16e9, transfer_bytes=64)


def kernel(balance, rate=1.0):
    return BalancedKernel("k", "v", "n=1", balance, rate)


def test_a_kernel_and_kung_s_inequality():
    """p C0 / beta = 0.25, and W / (Q L) = 3.125."""
    one = kernel(ONE)
    assert (False, True, True) == (ONE.holds, one.holds_by_kung, one.drawable)
    assert not kernel(replace(ONE, transfers=0)).drawable


def test_claims_by_hand():
    holds = replace(ONE, latency=0.0)
    assert (3.0, 2.0) == highest_rates([kernel(holds, 3.0), kernel(ONE, 1.0), kernel(ONE, 2.0)])
    assert balance_claim([kernel(holds, 3.0), kernel(ONE, 2.0)]).agrees
    assert balance_claim([kernel(holds, 1.0), kernel(ONE, 2.0)]).agrees is False
    assert balance_claim([kernel(ONE, 2.0)]).agrees is None
    point = KernelPoint("k", "v", "n=1", 10.0, 10.0, 2.0, 1.0, "compute")
    assert roofs_claim([point]).agrees
    assert "at 50%" in roofs_claim([point]).found
    assert roofs_claim([point, replace(point, bound_s=2.2)]).agrees is False
    assert roofs_claim([replace(point, bound_s=math.nan)]).agrees is None


def test_a_recorded_device(tmp_path):
    data = study_data(STUDY, tmp_path, INTEL)
    found = STUDY.examine(data)
    kernels = balanced_kernels(data)
    assert len(found.tables["balance"]) == len(found.tables["roofs"]) == len(kernels)
    for one in kernels:
        assert one.balance.holds == (kernel_side(one.balance) >= machine_side(one.balance))
    assert {"roofs", "balance"} == found.pictures.keys()
    assert all(one.found for one in found.claims)
