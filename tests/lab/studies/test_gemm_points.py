"""Measured products beside predictions, on times that are known by hand."""

from __future__ import annotations

from math import isnan

import pytest

from scripts.lab.studies.gemm_points import (
    SPT,
    along_k,
    along_tile,
    exponent,
    gemm_families,
    gemm_points,
    largest,
    library_point,
    share_bars,
)
from tests.lab.studies.products import products


@pytest.fixture(scope="module")
def data():
    """Each variant's time is k us, for a tile of 32 the half."""
    return products(lambda tile, depth, group, k: k * 1e-6 * (0.5 if (tile, depth) == (32, 16) else 1.0))


@pytest.fixture(scope="module")
def points(data):
    return gemm_points(data)


def test_points_have_the_predictions_of_both_families(data, points):
    assert ("bottleneck", SPT) == gemm_families(data)
    assert 12 == len(points)
    cases = {(row.form, row.parameters["k"]): row for row in data.cases(SPT)}
    for one in points:
        row = cases[f"tile={one.tile} depth={one.depth} group={one.shape[0]}x{one.shape[1]}", one.sizes["k"]]
        assert (row.measured, row.predicted) == (one.measured, one.seconds(SPT))
        assert row.predicted / row.measured == one.ratio(SPT)
        assert isnan(one.seconds("roofline"))


def test_lines_through_the_points(points):
    assert {256} == {one.sizes["k"] for one in largest(points)}
    line = along_tile(points)
    assert [16, 32, 48] == [one.tile for one in line]
    assert {(16, (16, 16))} == {(one.depth, one.shape) for one in line}
    assert "N_TB=48, lambda=16, b=16x16" == library_point(points).name  # the nearest to 96
    own = along_k(points, library_point(points))
    assert [64e-6, 128e-6, 256e-6] == pytest.approx([one.measured for one in own])
    assert 1 == pytest.approx(exponent([one.sizes["k"] for one in own], [one.measured for one in own]))
    assert isnan(exponent([1], [1]))


def test_shares_are_the_terms_of_the_dissertation_s_family(points):
    one = points[0]
    shares, predicted = one.shares(), one.predicted[SPT]
    assert ["global", "shared", "register", "barrier", "launch"] == list(shares)
    assert 1 == pytest.approx(sum(shares.values()))
    assert predicted.terms["local"] / predicted.seconds == shares["shared"]
    bars = share_bars([one])
    assert ["ALGOPARC", "GIBSON", "UHHPC", f"N_TB={one.tile}"] == list(bars)
    assert [100] * 4 == pytest.approx([sum(own.values()) for own in bars.values()])
