"""Saxpy over warps: what is made of measurements, and the claims, on times that are known by hand."""

from __future__ import annotations

import pytest

from perfmodel.counts import count
from perfmodel.kernels import discover
from perfmodel.store import Measurements, read
from scripts.lab.experiments.saxpy import STUDY
from scripts.lab.studies import StudyData
from scripts.lab.studies.claim import SLIP
from scripts.lab.studies.saxpy import CACHED, PLAIN, Point
from scripts.lab.studies.saxpy_claims import (
    coalesced_claim,
    few_claim,
    many_claim,
    reading_claim,
    stride_claim,
    within_claim,
)
from tests.machine import ROOT
from tests.recorded import INTEL

GROUP = 128


def kernel():
    (found,) = (one for one in discover(ROOT / "test_kernels" / "papers") if one.name == "saxpy")
    return found


@pytest.fixture(scope="module")
def data():
    """Strides 1 and 16 with 1, 2 and 64 work-groups on a recorded device: 1 us for each and its stride."""
    stored = read(INTEL)
    some = stored.current[0]
    counts = {stride: count(kernel().build(stride=stride), subgroup_size=16) for stride in (1, 16)}
    rows = [
        some.model_copy(update={
            "kernel": "saxpy", "variant": {"stride": stride}, "parameters": {"n": GROUP * groups}, "visits": (),
            "kernel_hash": f"{stride}", "counts_hash": counts[stride].hash, "dropped": 0, "status": "ok",
            "samples_s": (groups * stride * 1e-6,) * 2, "device_samples_s": (), "flags": (),
        })
        for stride in (16, 1)
        for groups in (64, 2, 1)
    ]  # fmt: skip
    documents = {one.hash: one.to_json() for one in counts.values()}
    facts = stored.known_facts
    return StudyData(facts, Measurements(tuple(rows), documents).with_facts(facts), (), INTEL, "bottleneck")


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


def points(*rows):
    """Launches of stride, groups, warps, measured, and the predictions of both settings."""
    return [Point(s, g, w, 8, t, {PLAIN: plain, CACHED: cached}) for s, g, w, t, plain, cached in rows]


GOOD = points(
    (1, 1, 8, 1.0, 1.05, 0.95), (1, 64, 512, 10.0, 20.0, 10.5),
    (4, 64, 512, 20.0, 40.0, 21.0), (4, 1, 8, 1.0, 1.05, 0.95),
)  # fmt: skip


def test_claims_agree_where_the_paper_s_are_met():
    assert few_claim(GOOD, 0.5).agrees
    assert "the model takes 50.0 % for the launch" in few_claim(GOOD, 0.5).found
    assert many_claim(GOOD, (PLAIN, CACHED)).agrees
    assert "`mwp_cwp` 100.0 %, `mwp_cwp_l2` 5.0 %" in many_claim(GOOD, (PLAIN, CACHED)).found
    assert within_claim(GOOD, (PLAIN, CACHED)).agrees
    found = within_claim(GOOD, (PLAIN, CACHED)).found
    assert "`mwp_cwp` 2 of 4, the largest error 100.0 %; `mwp_cwp_l2` 4 of 4" in found
    coalesced = coalesced_claim(GOOD, (PLAIN, CACHED))
    assert coalesced.agrees
    assert "2 launches; median error: `mwp_cwp` 52.5 %, `mwp_cwp_l2` 5.0 %" in coalesced.found


def test_transactions_that_a_formula_leaves_out_are_the_paper_s_slip():
    """Eq. 7 counts 128 bytes for a warp's access at every stride, where section 3.2 counts one for each transaction."""
    found = stride_claim(GOOD, (PLAIN, CACHED))
    assert (SLIP, False) == (found.verdict, found.measured)
    assert "a stride of 4 takes 2 times as long as one of 1" in found.found
    assert SLIP == reading_claim().verdict
