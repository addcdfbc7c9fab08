"""Counting by pure isl, against brute force, closed forms and Barvinok's algorithm."""

from __future__ import annotations

import islpy as isl
import pytest
from hypothesis import given, settings, strategies as st

from perfmodel.counts import Count, count
from perfmodel.counts.points import set_counter, summation
from perfmodel.counts.points.cardinality import Cardinality
from perfmodel.counts.points.set_counter import count_points, sum_of_points
from perfmodel.errors import CountError
from tests.corpus import kernels
from tests.corpus.made import THIRDS, third


def brute_force(points: isl.Set, **sizes: int) -> int:
    """Count the points of a bounded set by enumeration."""
    for name, value in sizes.items():
        index = points.find_dim_by_name(isl.dim_type.param, name)
        if index >= 0:
            points = points.fix_val(isl.dim_type.param, index, isl.Val(value))
    points = points.project_out(isl.dim_type.param, 0, points.dim(isl.dim_type.param))
    found = 0

    def one_more(_: isl.Point) -> None:
        nonlocal found
        found += 1

    points.foreach_point(one_more)
    return found


@pytest.mark.parametrize(
    ("text", "closed_form"),
    [
        ("[n] -> { [i] : 0 <= i < n }", lambda n: n),
        ("[n] -> { [i, j] : 0 <= i < n and 0 <= j < n }", lambda n: n * n),
        ("[n] -> { [o, i] : 0 <= 16*o + i < n and 0 <= i < 16 }", lambda n: n),
        ("[n] -> { [o, p, i] : 0 <= 16*o + 4*p + i < n and 0 <= i < 4 and 0 <= p < 4 }", lambda n: n),
        ("[n] -> { [o] : o >= 0 and 16*o < n }", lambda n: -(-n // 16)),
        ("[n] -> { [i, j] : 0 <= i <= j < n }", lambda n: n * (n + 1) // 2),
        ("[n] -> { [i, j, k] : 0 <= i < j < k < n }", lambda n: n * (n - 1) * (n - 2) // 6),
        ("[n] -> { [i] : 0 <= i < n and i mod 4 = 1 }", lambda n: len(range(1, n, 4))),
        (
            "[n] -> { [i, j] : i >= 0 and j >= 0 and 2*i + 3*j = n }",
            lambda n: sum((n - 3 * j) % 2 == 0 for j in range(n // 3 + 1)),
        ),
        ("[n] -> { [q] : exists i : 0 <= i < n and q = floor(i/5) }", lambda n: -(-n // 5)),
        ("[n] -> { [i] : 0 <= i < n and n mod 16 = 0 }", lambda n: n if n % 16 == 0 else 0),
        (
            "[n] -> { [i, j] : (0 <= i < n and 0 <= j < 5) or (0 <= i < 5 and 0 <= j < n) }",
            lambda n: 10 * n - min(n, 5) ** 2,
        ),
        ("[n] -> { [] : n > 4 }", lambda n: int(n > 4)),
    ],
)
def test_closed_forms(text, closed_form):
    found = sum_of_points(isl.Set(text))
    assert found.exact
    for n in range(50):
        assert closed_form(n) == Count(found.polynomial)(n=n), n


def test_readable_results():
    tiles = "[n] -> { [a, b, i, j] : 0 <= i, j < 16 and 0 <= 16a + i < n and 0 <= 16b + j <= 16a + i }"
    assert "[n] -> { (1/2 * n + 1/2 * n^2) : n > 0 }" == str(sum_of_points(isl.Set(tiles)).polynomial)
    whole = "[n] -> { [o] : 0 <= 16*o < n and n mod 16 = 0 }"
    assert "[n] -> { 1/16 * n : (n) mod 16 = 0 and n >= 16 }" == str(sum_of_points(isl.Set(whole)).polynomial)


def test_infinite_sets_are_refused():
    with pytest.raises(CountError, match=r"cannot count \[n\] -> .*infinitely many"):
        sum_of_points(isl.Set("[n] -> { [i] : i >= n }"))


@st.composite
def sets(draw: st.DrawFn) -> isl.Set:
    """Draw a bounded set: two or three variables in a box, with constraints and congruences."""
    names = ["i", "j", "k"][: draw(st.integers(1, 3))]
    small = st.integers(-3, 3)
    tests = [f"0 <= {name} <= n + {draw(st.integers(0, 2))}" for name in names]
    for _ in range(draw(st.integers(0, 3))):
        left = " + ".join(f"{draw(small)}*{name}" for name in names)
        relation = draw(st.sampled_from([">=", "<=", "="]))
        tests.append(f"{left} {relation} {draw(small)}*n + {draw(small)}*m + {draw(small)}")
    if draw(st.booleans()):
        name, period = draw(st.sampled_from(names)), draw(st.integers(2, 5))
        tests.append(f"({name} + {draw(small)}*n) mod {period} <= {draw(st.integers(0, 3))}")
    if draw(st.booleans()):
        tests.append(f"({draw(st.sampled_from(names))} <= 2 or {draw(st.sampled_from(names))} >= m)")
    return isl.Set(f"[n, m] -> {{ [{', '.join(names)}] : {' and '.join(tests)} }}")


@given(sets(), st.integers(0, 9), st.integers(0, 9))
@settings(max_examples=60, deadline=None)
def test_random_sets(points, n, m):
    found = sum_of_points(points)
    truth = brute_force(points, n=n, m=m)
    counted = Count(found.polynomial)(n=n, m=m)
    assert truth == counted if found.exact else truth <= counted


@given(sets(), st.integers(0, 9), st.integers(0, 9))
@settings(max_examples=30, deadline=None)
def test_upper_bounds_are_never_below(points, n, m):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(summation, "SUMS", 1)
        found = sum_of_points(points)
    truth = brute_force(points, n=n, m=m)
    counted = Count(found.polynomial)(n=n, m=m)
    assert truth == counted if found.exact else truth <= counted


HARD = (
    "[n, m] -> {{ [i, j, k] : 0 <= i <= n + 1 and 0 <= j <= n + 1 and 0 <= k <= n + 1"
    " and 2i - 2j - 3k <= 2n - m + 2 and (k - 2n) mod 5 <= 2 and (i <= 2 or j >= m{}) }}"
)


@pytest.mark.parametrize("more", ["", " or 3*i + k >= 2*m"])
def test_large_functions_are_given_up_for_boxes(more):
    """Adding its cases up exactly would take isl ten seconds and more."""
    points = isl.Set(HARD.format(more))
    found = sum_of_points(points)
    assert not found.exact
    assert 20 > found.polynomial.n_piece()
    for n, m in [(0, 0), (3, 1), (5, 9), (9, 4)]:
        assert brute_force(points, n=n, m=m) <= Count(found.polynomial)(n=n, m=m) <= (n + 2) ** 3


def _kernel(name: str):
    return next(kernel for kernel in kernels() if kernel.name == name)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::loopy.diagnostic.LoopyWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("first", THIRDS)
def test_corpus_counts_equal_barvinoks(monkeypatch, first):
    """Every set that the corpus needs is counted exactly without Barvinok, too."""
    sets_met: dict[str, tuple[isl.Set, Cardinality]] = {}

    def remembering(points: isl.Set, operations: int) -> Cardinality:
        found = count_points(points, operations)
        sets_met[str(points)] = (points, found)
        return found

    monkeypatch.setattr(set_counter, "count_points", remembering)
    for kernel in third(first):
        statistics = kernel.statistics(kernel.cases[0]) if kernel.statistics else None
        count(kernel.build(), 32, statistics, cache=False).to_json()  # counts the footprints too
    assert 17 < len(sets_met)
    for points, expected in sets_met.values():
        found = sum_of_points(points)
        assert found.exact
        assert Count(expected.polynomial) == Count(found.polynomial)
