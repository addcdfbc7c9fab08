"""Sets counted once, at each granularity, of a small kernel that is easy to count by hand."""

from __future__ import annotations

import islpy as isl
import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import Count, cardinality, count
from perfmodel.counts.cardinality import Cardinality


def triangle() -> lp.TranslationUnit:
    """Group g, lane l of 32: row 32 g + l of a triangle, its diagonal left out."""
    kernel = lp.make_kernel(
        "{ [i, j]: 0 <= i < n and 0 <= j < i }", "b[i, j] = 2*a[i, j]",
        lang_version=(2018, 2), assumptions="n >= 1 and n mod 32 = 0",
    )
    kernel = lp.split_iname(lp.add_dtypes(kernel, {"a": np.float32}), "i", 32)
    return lp.tag_inames(kernel, {"i_outer": "g.0", "i_inner": "l.0"})


@pytest.mark.parametrize("n", [32, 64, 160])
def test_granularities(n):
    counts = count(triangle(), subgroup_size=8, cache=False)
    rows = {"workitem": n * (n - 1) // 2}
    # the loop of a sub-group or a group runs as long as that of its last lane
    rows["subgroup"] = sum(last for last in range(7, n, 8))
    rows["workgroup"] = sum(last for last in range(31, n, 32))
    for granularity, expected in rows.items():
        assert expected == counts.accesses(array="a", granularity=granularity)(n=n)


def test_equal_sets_are_counted_once(monkeypatch):
    seen = []
    real = cardinality.cardinality

    def counting(points: isl.Set) -> Cardinality:
        seen.append(str(points))
        return real(points)

    monkeypatch.setattr(cardinality, "cardinality", counting)
    count(triangle(), subgroup_size=8, cache=False)
    assert len(set(seen)) == len(seen)


def test_an_inexact_factor_stays_inexact():
    bound = Cardinality(isl.PwQPolynomial("[n] -> { n }"), exact=False)
    product = bound.times(isl.PwQPolynomial("[m] -> { m }"))
    assert not product.exact
    assert 12 == Count(product.polynomial)(n=3, m=4)
