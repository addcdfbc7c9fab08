"""Sets as products of factors, against the enumeration of points."""

from __future__ import annotations

import islpy as isl
import pytest

from perfmodel.counts.points.factors import Multiple, factored, merged
from perfmodel.counts.points.polytopes import Polytope
from tests.counts.points.forms import form, points_of

TILES = isl.Set(
    "[n] -> { [i, ii, j, jj] : 0 <= ii < 4 and 0 <= 4i + ii < n and 0 <= jj < 4 and 0 <= 4j + jj < n and n >= 3 }"
)


def test_tiles_couple_in_pairs():
    found = factored(TILES)
    first, second = found.factors
    assert ("_v0", "_v1") == first.variables
    assert ("_v2", "_v3") == second.variables
    assert first.canonical == second.canonical
    assert ((form(-3, n=1),), (), True) == (found.conditions, found.multiples, found.separable)
    for n in (3, 6):
        expected = {(z // 4, z % 4) for z in range(n)}
        assert expected == points_of(first, 4, n=n) == points_of(second, 4, n=n)


def test_a_factor_as_a_set():
    found = factored(TILES)
    expected = isl.Set("[n] -> { [j, jj] : 0 <= jj < 4 and 0 <= 4j + jj < n and n >= 3 }")
    assert expected == found.points(found.factors[1])


def test_a_parameter_that_is_a_multiple():
    # n = 8*m + 3, so that 8*i < n is i <= m
    found = factored(isl.Set("[n] -> { [i] : 0 <= 8i < n and n mod 8 = 3 }"))
    multiple = Multiple("n", 3, 8)
    (factor,) = found.factors
    assert (multiple,) == found.multiples
    assert {form(_v0=1), form(_v0=-1, **{multiple.name: 1})} == {*factor.inequalities}
    assert () == factor.equalities == found.conditions


def test_overlapping_tiles():
    """A floor that is eliminated leaves isl's own constraints coupled."""
    where = "n mod 8 = 0 and n >= 8"
    found = factored(isl.Set(f"[n] -> {{ [x] : exists e : 0 <= 8e < n and 8e <= x <= 8e + 9 and {where} }}"))
    (factor,) = found.factors
    assert not found.separable
    assert {(x,) for x in range(18)} == points_of(factor, 30, **{"(n - 0)/8": 2})


@pytest.mark.parametrize(
    "text",
    [
        "[n] -> { [i] : 0 <= i < n or i = 2n }",  # a union
        "[n] -> { [i] : 0 <= i < n and i mod 3 = 1 }",  # a floor that leaves gaps
    ],
)
def test_no_products(text):
    assert factored(isl.Set(text)) is None


def test_canonical_forms_tell_bounds_apart():
    one = Polytope(("i",), (), (form(i=1), form(5, i=-1)))
    same = Polytope(("k",), (), (form(5, k=-1), form(k=1)))
    other = Polytope(("k",), (), (form(6, k=-1), form(k=1)))
    assert one.canonical == same.canonical
    assert one.canonical != other.canonical


def test_groups_merge_along_chains():
    groups = merged([{"a"}, {"b"}, {"c"}, {"d"}], [{"a", "b"}, set(), {"b", "c"}, {"d"}])
    assert [["a", "b", "c"], ["d"]] == sorted(sorted(group) for group in groups)


@pytest.mark.parametrize(("n", "m"), [(5, 3), (9, 12)])
def test_the_tiles_of_a_factor_are_merged(n, m):
    """Tiles of i, below m + t, and of j; the loop over t couples all, so that no factor is an interval."""
    found = factored(isl.Set(
        "[n, m] -> { [i, ii, j, jj, t] : 0 <= ii < 4 and 0 <= jj < 4 and t <= 4i + ii < m + t and 0 <= t < 3"
        " and t <= 4j + jj < n + t and 4i + ii + 4j + jj <= 2n }"
    ))
    (factor,) = found.factors
    merged_points = found.straightened_points(factor)
    assert 3 == merged_points.dim(isl.dim_type.set)
    expected = sum(i + j <= 2 * n for t in range(3) for i in range(t, m + t) for j in range(t, n + t))
    sizes = isl.Set(f"[n, m] -> {{ : n = {n} and m = {m} }}")
    assert expected == merged_points.intersect_params(sizes).count_val().to_python()


def test_a_factor_without_tiles_has_no_smaller_set():
    found = factored(isl.Set("[n] -> { [i, j] : 0 <= i <= j < n }"))
    assert found.straightened_points(found.factors[0]) is None
