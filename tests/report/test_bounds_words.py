"""What bounds a kernel and what could be saved, in words."""

import math
from dataclasses import replace

import pytest

from perfmodel.analyses.balance import Balance
from perfmodel.analyses.benefits import Benefits
from perfmodel.analyses.report_data import KernelBounds, KernelTerms, Share
from perfmodel.analyses.roofline import KernelPoint
from perfmodel.models import families
from perfmodel.report.bounds import balance_text, benefit_lines, bound_texts, rates_text

#: 1e9 nodes on 10 lanes of 1e9 in a second take 100 ms; 1e6 transfers of 64 B at 64 GB/s take 1 ms.
BALANCE = Balance(1e9, 1.0, 1e6, cores=10, rate=1e9, latency=1e-7, bandwidth=6.4e10, transfer_bytes=64)


@pytest.mark.parametrize(("changed", "expected"), [
    ({}, "bound by computing (computing takes 100 ms, moving data 1 ms)"),
    ({"rate": 1e13}, "bound by memory bandwidth (61 MiB must move; computing takes 10 us, moving data 1 ms)"),
    ({"depth": 5e8}, "too little parallelism; 2 operations can run at once on average, and the device has 10 l"),
    ({"depth": 1e6, "rate": 1e12}, "too little parallelism; 1 transfers can be under way at once, and 100 would"),
    ({"work": 0.0, "depth": 0.0, "transfers": 0.0}, "computes nothing and moves nothing"),
])  # fmt: skip
def test_balance(changed, expected):
    if "depth" in changed and "rate" not in changed:
        changed = {**changed, "latency": 0.0}
    assert expected in balance_text(replace(BALANCE, **changed))


@pytest.mark.parametrize(("term", "rate", "message"), [
    ("issue_time", 1e9, True), ("far_time", 1e9, False), ("issue_time", 1e13, False), ("near_time", 1e13, True),
])  # fmt: skip
def test_work_and_depth_do_not_contradict_the_model(term, rate, message):
    """By work and depth computing decides, or at the higher rate memory."""
    bounds = KernelBounds(replace(BALANCE, rate=rate))
    kernel = KernelTerms("k", "", "", 1.0, None, (Share(term, 0.9, 0.9),), False, (), bounds)
    lines, _ = bound_texts(families()["bottleneck"], kernel, None)
    assert message == any("By work and depth" in line for line in lines)


def test_places_below_the_roofs():
    point = KernelPoint("k", "", "", operations=1e9, bytes=1e8, seconds=1e-2, bound_s=5e-3, bound="memory")
    expected = "100 GFLOP/s, 10 GB/s: 50.0 % of what the device allows, by its memory bandwidth"
    assert expected == rates_text(point)
    assert expected.partition(", ")[2] == rates_text(replace(point, operations=0.0))
    assert rates_text(replace(point, bound_s=math.nan)).endswith("; a roof that it needs is not known")


def test_benefits_are_in_their_order_and_small_ones_are_left_out():
    found = Benefits(16759, 500, 500, 1000, 200, itilp_s=6068, memlp_s=0, fp_s=9691, serial_s=100)
    first, second = benefit_lines(found)
    what = "Fewer instructions that are not floating-point arithmetic"
    assert f"{what}: saves at most 57.8 % of the time, by the model gpuperf." == first
    assert second.startswith("More independent instructions")
    assert () == benefit_lines(replace(found, compute_s=0.0, memory_s=0.0))
