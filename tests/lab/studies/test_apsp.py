"""The APSP study against the paper's printed numbers, and lines by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.facts import published
from perfmodel.kernels import discover
from perfmodel.quantities.case import Case
from scripts.lab.studies.apsp import Bend, Configuration, bent_line, configuration, flat_from, minima, zigzag
from tests.machine import ROOT

GTX480 = published("gtx-480")
(KERNEL,) = (kernel for kernel in discover(ROOT / "test_kernels" / "papers") if kernel.name == "apsp")


def on_the_gtx_480(n=8192, seconds=1.0, **variant):
    counts = count(KERNEL.build(**variant), subgroup_size=32)
    return configuration(Case(counts, {"n": n}, GTX480, ""), variant, seconds, {"toy": 2.0, "other": None})


def test_the_run_of_section_v():
    """Its printed numbers are n = 8192, S_D = 32, B_r = 65,536, T = 4 and B_a = 4: groups of one warp."""
    found = on_the_gtx_480(sub_block=32, items=32)
    assert (65536, 4, 4.0) == (found.requested, found.active, found.threads)
    assert 64 == found.ratio
    # Eq. 15 with the printed numbers; the paper's text has 105 s there.
    assert pytest.approx(115.15, abs=0.01) == Bend(53.9, 0.957, 0.0, math.nan).at(found.ratio)
    assert {"toy": 2.0} == found.predicted


@pytest.mark.parametrize(("extra", "active"), [(12 * 1024, 2), (36 * 1024, 1)])
def test_more_local_memory_leaves_two_groups_and_one(extra, active):
    found = on_the_gtx_480(sub_block=32, items=128, extra_local=extra)
    assert (12 * 1024 + extra, active) == (found.local_bytes, found.active)
    assert active * 128 / 32 == found.threads


def test_figure_1():
    requested, factors = zigzag(15, 150)
    assert [math.ceil(b / 15) * 15 / b for b in requested] == pytest.approx(factors)
    assert tuple(range(15, 150, 15)) == minima(factors)


@pytest.mark.parametrize("variant", KERNEL.variants[::6], ids=str)
def test_a_squaring_adds_and_compares_once_for_each_triple(variant):
    counts, size = count(KERNEL.build(**variant), subgroup_size=32), variant["sub_block"]
    n = 2 * size
    assert n**3 == counts.operations(kind="add")(n=n) == counts.operations(kind="minmax")(n=n)
    # Two sub-blocks for each step of k, and the first one of c; all local memory is allocated.
    assert 2 * n**3 // size + n**2 == counts.accesses(space="global", direction="load")(n=n)
    assert 3 * 4 * size**2 + variant.get("extra_local", 0) == counts.launch.local_bytes
    assert variant["items"] == math.prod(counts.launch.group_shape)


def test_the_reference_is_the_definition():
    a = np.random.default_rng(3).uniform(0.5, 2, (7, 7)).astype(np.float32)
    expected = [[min(a[i, j], min(a[i, k] + a[k, j] for k in range(7))) for j in range(7)] for i in range(7)]
    np.testing.assert_array_equal(expected, KERNEL.reference({"a": a})["c"])


def test_a_level_and_a_line():
    x = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
    found = bent_line(x, [50 + 3 * max(one - 4, 0) for one in x])
    assert (50.0, 3.0, 4.0, 1.0) == pytest.approx((found.level, found.slope, found.bend, found.r_squared))
    assert (50.0, 62.0) == pytest.approx((found.at(0.5), found.at(8.0)))


def one(size, threads, seconds, extra=0, items=32, requested=16.0):
    return Configuration(64, size, items, extra, 0, requested, 1.0, threads, 1.0, seconds, {})


def test_a_curve_is_flat_from_where_it_stays_within_a_quarter():
    curve = [one(8, threads, seconds) for threads, seconds in ((1, 40), (2, 20), (4, 12), (8, 10), (16, 11))]
    assert 4 == flat_from(curve)
    assert flat_from([*curve, one(8, 32, 15)]) is None
    assert 1 == flat_from(curve[:1])
