"""Saxpy over warps: what is made of measurements, and the claims, on times that are known by hand."""

import pytest

from perfmodel.counts import count
from perfmodel.kernels import discover
from scripts.lab.experiments.saxpy import STUDY
from scripts.lab.studies import saxpy_claims as claims
from scripts.lab.studies.claim import SLIP
from scripts.lab.studies.saxpy import CACHED, PLAIN, Point
from tests.lab.studies.products import study_of
from tests.machine import ROOT

GROUP = 128


def kernel():
    (found,) = (one for one in discover(ROOT / "test_kernels" / "papers") if one.name == "saxpy")
    return found


@pytest.fixture(scope="module")
def data():
    """Strides 1 and 16 with 1, 2 and 64 work-groups on a recorded device: 1 us for each and its stride."""
    counts = {stride: count(kernel().build(stride=stride), subgroup_size=16) for stride in (1, 16)}
    return study_of([
        ("saxpy", {"stride": stride}, {"n": GROUP * groups}, counts[stride], groups * stride * 1e-6)
        for stride in (16, 1)
        for groups in (64, 2, 1)
    ], "saxpy")  # fmt: skip


def test_the_guard_changes_no_count():
    """Every work-item passes the guard of the paper's code: 3 accesses, an addition and a multiplication each."""
    found = count(kernel().build(stride=4), subgroup_size=32)
    for n in (GROUP, 8 * GROUP):
        assert 3 * n == found.accesses(space="global")(n=n)
        assert 2 * n == found.operations(dtype="float32")(n=n)
        assert (n // GROUP, n // 32) == (found.work_groups()(n=n), found.sub_groups()(n=n))


def test_findings_of_a_recorded_device(data):
    found = STUDY.examine(data)
    assert 6 == len(found.tables[""])
    assert {"time", "error", "card", "card-strides"} == found.pictures.keys()
    assert all(one.found for one in found.claims)
    stride = next(one for one in found.claims if one.source == "Section 3.2")
    assert "a stride of 16 takes 16 times as long as one of 1" in stride.found


#: Launches of stride, groups, warps, measured, and the predictions of both settings.
GOOD = [
    Point(stride, groups, warps, 8, measured, {PLAIN: plain, CACHED: cached})
    for stride, groups, warps, measured, plain, cached in (
        (1, 1, 8, 1.0, 1.05, 0.95), (1, 64, 512, 10.0, 20.0, 10.5),
        (4, 64, 512, 20.0, 40.0, 21.0), (4, 1, 8, 1.0, 1.05, 0.95),
    )
]  # fmt: skip


def test_claims_agree_where_the_paper_s_are_met():
    assert claims.few_claim(GOOD, 0.5).agrees
    assert "the model takes 50.0 % for the launch" in claims.few_claim(GOOD, 0.5).found
    assert claims.many_claim(GOOD, (PLAIN, CACHED)).agrees
    assert "`mwp_cwp` 100.0 %, `mwp_cwp_l2` 5.0 %" in claims.many_claim(GOOD, (PLAIN, CACHED)).found
    assert claims.within_claim(GOOD, (PLAIN, CACHED)).agrees
    found = claims.within_claim(GOOD, (PLAIN, CACHED)).found
    assert "`mwp_cwp` 2 of 4, the largest error 100.0 %; `mwp_cwp_l2` 4 of 4" in found
    coalesced = claims.coalesced_claim(GOOD, (PLAIN, CACHED))
    assert coalesced.agrees
    assert "2 launches; median error: `mwp_cwp` 52.5 %, `mwp_cwp_l2` 5.0 %" in coalesced.found


def test_transactions_that_a_formula_leaves_out_are_the_paper_s_slip():
    """Eq. 7 counts 128 bytes for a warp's access at every stride, where section 3.2 counts one for each transaction."""
    found = claims.stride_claim(GOOD, (PLAIN, CACHED))
    assert (SLIP, False) == (found.verdict, found.measured)
    assert "a stride of 4 takes 2 times as long as one of 1" in found.found
    assert SLIP == claims.reading_claim().verdict
