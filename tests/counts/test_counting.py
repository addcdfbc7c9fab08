"""The arguments of ``count``: what each of them changes, by hand."""

from __future__ import annotations

from fractions import Fraction

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.errors import StatisticsError


def saxpy(width: int = 64) -> lp.TranslationUnit:
    unit = lp.make_kernel(
        "{ [i]: 0 <= i < n }", "y[i] = 3*x[2*i] + y[i]", [lp.GlobalArg("x", np.float32, shape="2*n"), ...],
        lang_version=(2018, 2), assumptions="n >= 1",
    )  # fmt: skip
    return lp.split_iname(lp.add_dtypes(unit, {"y": np.float32}), "i", width, outer_tag="g.0", inner_tag="l.0")


def rows_until() -> lp.TranslationUnit:
    """Sums of as many terms as data say, where data let it."""
    unit = lp.make_kernel(
        ["{ [i]: 0 <= i < n }", "{ [j]: 0 <= j < last }"],
        """
        for i
            <int32> last = ends[i] {id=last}
            if a[i] > 0
                out[i] = sum(j, a[i] + j) {dep=last}
            end
        end
        """,
        [lp.GlobalArg("ends", np.int32, shape="n"), lp.GlobalArg("a, out", np.float32, shape="n"), ...],
        lang_version=(2018, 2), assumptions="n >= 1",
    )  # fmt: skip
    return unit


def operations(**options: bool) -> dict[tuple[str, str], int]:
    return {(row.dtype, row.kind): row.count(n=640) for row in count(saxpy(), cache=False, **options).operation_table}


def test_what_is_counted_beside_the_default() -> None:
    assert {("float32", "mul"): 640, ("float32", "add"): 640} == operations()
    assert {("float32", "madd"): 640} == operations(group_multiply_add=True)
    with_index = operations(include_index_arithmetic=True)
    # 2*i is 2*(i_outer*64 + i_inner), or the same simplified: a product at least for each work-item
    assert with_index["int32", "mul"] >= 640
    assert (640, 640) == (with_index["float32", "mul"], with_index["float32", "add"])


@pytest.mark.parametrize(("size", "expected"), [(16, 40), (32, 20), (64, 10)])
def test_sub_groups_are_of_the_given_size(size: int, expected: int) -> None:
    counts = count(saxpy(), size, cache=False)
    assert (size, expected) == (counts.subgroup_size, counts.sub_groups()(n=640))


def test_statistics_are_exact_fractions_of_what_is_written() -> None:
    # 0.1 as a text is a tenth; as binary it is a little more
    counts = count(rows_until(), statistics={"j": 0.1, "a[i] > 0": "1/2"}, cache=False)
    (additions,) = [row for row in counts.operation_table if row.kind == "add" and row.dtype == "float32"]
    # two additions a term (that of the sum too), a tenth of a term on average, in half of the rows
    assert 1000 * Fraction(1, 10) * Fraction(1, 2) * 2 == additions.count(n=1000)


@pytest.mark.parametrize("value", [-1, "often", float("nan"), float("inf")])
def test_statistics_that_are_no_natural_share(value: object) -> None:
    with pytest.raises(StatisticsError, match="'j'"):
        count(rows_until(), statistics={"j": value}, cache=False)
