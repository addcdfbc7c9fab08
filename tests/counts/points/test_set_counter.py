"""Sizes of sets by closed forms, against the enumeration of points in plain Python."""

from contextlib import suppress
from itertools import product

import islpy as isl
import pytest
from hypothesis import given, settings, strategies as st

from perfmodel.counts import Count, count
from perfmodel.counts.counters.executions import Cardinalities
from perfmodel.counts.flow.trips import _longest
from perfmodel.counts.points import set_counter, summation
from perfmodel.counts.points.cardinality import Cardinality
from perfmodel.counts.points.polytopes import Polytope
from perfmodel.counts.points.set_counter import OPERATIONS, SetCounter, count_points
from tests.corpus import kernels
from tests.corpus.made import THIRDS, third
from tests.counts.points.forms import form

DIVISIBLE = "[n] -> { : n >= 8 and n mod 8 = 0 }"


def size(text: str, assumptions: str, **values: int) -> int:
    """Return what SetCounter makes of a set under assumptions, at these sizes."""
    where = isl.Set(assumptions)
    points = isl.Set(text).intersect_params(where.params())
    known = SetCounter(where.params())
    return Count(known.count(points, known.factored(points)).polynomial)(**values)


@pytest.fixture
def closed_forms_only(monkeypatch):
    def refused(points: isl.Set, operations: int) -> Cardinality:
        raise AssertionError(f"{points} has no closed form")

    monkeypatch.setattr(set_counter, "count_points", refused)


@pytest.mark.usefixtures("closed_forms_only")
class TestClosedForms:
    @pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 40])
    def test_an_interval_and_its_multiples(self, n):
        positive = "[n] -> { : n >= 1 }"
        assert n == size("[n] -> { [i] : 0 <= i < n }", positive, n=n)
        assert len(range(0, n, 16)) == size("[n] -> { [i] : 0 <= 16i < n }", positive, n=n)
        assert len(range(3, n, 5)) == size("[n] -> { [i] : 0 <= i and 3 + 5i < n }", positive, n=n)
        assert len(range(9, n + 1, 3)) == size("[n] -> { [i] : i >= 3 and 3i <= n }", positive, n=n)


    @pytest.mark.parametrize("n", [1, 7, 8, 9, 64])
    def test_a_tile_is_an_interval(self, n):
        text = "[n] -> { [i, j] : i >= 0 and 0 <= j < 8 and 8i + j < n }"
        assert n == size(text, "[n] -> { : n >= 1 }", n=n)

    @pytest.mark.parametrize("n", [8, 16, 72])
    def test_multiples_leave_no_floors(self, n):
        text = "[n] -> { [i] : 0 <= 8i < n - 3 }"  # the same tiles as 0 <= 8i < n
        where = isl.Set(DIVISIBLE).params()
        known = SetCounter(where)
        points = isl.Set(text).intersect_params(where)
        found = Count(known.count(points, known.factored(points)).polynomial, where)
        assert n // 8 == found(n=n)
        assert "1/8*n" == str(found)


    @pytest.mark.parametrize(("n", "steps"), [(1, 1), (9, 5), (16, 8), (20, 3)])
    def test_skewed_tiles(self, n, steps):
        text = (
            "[n, steps] -> { [y, yy, t, tt] : 0 <= yy < 8 and 0 <= tt < 4 and t >= 0 "
            "and 0 <= 8y + yy - tt < n and 4t + tt < steps }"
        )
        where = "[n, steps] -> { : n >= 1 and steps >= 1 }"
        assert n * steps == size(text, where, n=n, steps=steps)


    @pytest.mark.parametrize("n", [1, 2, 3, 7, 40])
    def test_the_branches_of_a_test_fill_their_hull(self, n):
        inside = "0 <= i < n and (2 <= i < n - 2 or i mod 4 = 1)"
        both = isl.Set(f"[n] -> {{ [i] : {inside} }}")
        both = both.union(isl.Set("[n] -> { [i] : 0 <= i < n }").subtract(both)).coalesce()
        assert both.n_basic_set() > 1  # isl does not see that they are one interval
        assert n == size(str(both), "[n] -> { : n >= 1 }", n=n)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 9, 18])
def test_a_hull_with_a_hole(n, monkeypatch):
    counted = []
    known = set_counter.count_points
    monkeypatch.setattr(set_counter, "count_points", lambda points, work: counted.append(points) or known(points, work))
    text = "[n] -> { [i] : 0 <= i < n and (i < 2 or i >= n - 2 or i mod 4 = 1) }"
    expected = sum(i < 2 or i >= n - 2 or i % 4 == 1 for i in range(n))
    assert expected == size(text, "[n] -> { : n >= 1 }", n=n)
    assert [1] == [points.n_basic_set() for points in counted]  # the hole, and not the union


def test_the_halo_of_a_tile_is_counted_in_slices(monkeypatch):
    counted = []
    known = set_counter.count_points
    monkeypatch.setattr(set_counter, "count_points", lambda points, work: counted.append(points) or known(points, work))
    halo = " and ".join(
        f"-{width} <= {x} + {sign}z and {x} - {sign}z <= {width} and {x} + {sign}z <= n - {width}{tile}"
        for x, tile, width in (("x", "a", 4), ("y", "b", 6)) for sign in ("", "-")
    )
    text = f"[n] -> {{ [a, b, x, y, z] : 0 <= 4a < n and 0 <= 6b < n and -1 <= z <= 1 and {halo} }}"
    expected = sum(
        all(-w <= v + s * z and v - s * z <= w and v + s * z <= 9 - w * t for v, t, w in ((x, a, 4), (y, b, 6))
            for s in (1, -1))
        for z in (-1, 0, 1) for a in range(3) for b in range(2) for x in range(-9, 10) for y in range(-9, 10)
    )
    assert expected == size(text, "[n] -> { : n >= 1 }", n=9)
    assert all(points.dim(isl.dim_type.set) < 5 for points in counted)


@pytest.mark.parametrize("parts", [2, 5, 20])
def test_unions_of_any_number_of_parts(parts):
    where = isl.Set("[n] -> { : n >= 1 }").params()
    known = SetCounter(where)
    rows = (f"[i, {3 * k}] : {k} <= 2i < n + {k * k % 7}" for k in range(parts))
    points = isl.Set(f"[n] -> {{ {'; '.join(rows)} }}")
    number = known.count(points, known.factored(points))
    expected = sum(k <= 2 * i < 50 + k * k % 7 for k in range(parts) for i in range(60))
    assert expected == Count(number)(n=50)
    assert (parts >= set_counter.PARTS) == bool(number.unexpanded)


def test_a_sum_of_many_overlapping_products_is_not_written_out(monkeypatch):
    monkeypatch.setattr(set_counter, "can_count", lambda: True)
    known = SetCounter(isl.Set("[n] -> { : n >= 1 }").params())
    whole = known.factored(isl.Set("[n] -> { [x, y] : 0 <= x < n and 0 <= y < n }"))

    def box(wide: int, high: int) -> tuple[Polytope, Polytope]:
        return (Polytope(("x",), (), (form(x=1), form(wide, n=1, x=-1))),
                Polytope(("y",), (), (form(y=1), form(high, n=1, y=-1))))

    number = known.sum_of_unions(whole, ([box(k, 0), box(0, k + 1)] for k in range(1, 12)))
    expected = sum(
        (x <= 5 + k and y <= 5) or (x <= 5 and y <= 6 + k) for k in range(1, 12) for x in range(20) for y in range(20)
    )
    assert expected == Count(number)(n=5)
    assert {()} == {one.sets for one in number.unexpanded}  # nothing is counted at given sizes


COEFFICIENT = st.integers(-3, 3)


@settings(max_examples=30, deadline=None, derandomize=True, database=None)
@given(
    st.lists(st.tuples(COEFFICIENT, COEFFICIENT, COEFFICIENT, st.integers(-9, 9)), max_size=3),
    st.sampled_from([2, 4, 5]),
)
def test_random_sets(rows, width):
    """Tiles cut by random constraints: whichever way a set is counted, the number is the same."""
    tests = [f"{a}*i + {b}*j + {c}*n + {d} >= 0" for a, b, c, d in rows]
    tests += [f"0 <= j < {width}", f"0 <= {width}*i + j < n"]
    text = f"[n] -> {{ [i, j] : {' and '.join(tests)} }}"
    for where in ("[n] -> { : n >= 1 }", "[n] -> { : n >= 4 and n mod 4 = 0 }"):
        for n in (4, 8, 20):
            expected = sum(
                width * i + j < n and all(a * i + b * j + c * n + d >= 0 for a, b, c, d in rows)
                for i, j in product(range(n), range(width))
            )
            assert expected == size(text, where, n=n)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::loopy.diagnostic.LoopyWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("first", THIRDS)
def test_sizes_of_the_corpus_equal_barvinoks(monkeypatch, first):
    """Formulas of factors, and sums without Barvinok's algorithm, are the functions that it finds."""
    sized: dict[tuple[str, str], tuple[isl.Set, isl.Set, Cardinality]] = {}
    counted: dict[str, tuple[isl.Set, Cardinality]] = {}
    size, points_of = Cardinalities.size, set_counter.count_points

    def noted_size(self: Cardinalities, points: isl.Set) -> Cardinality:
        found, assumptions = size(self, points), self.program.assumptions
        sized[str(points), str(assumptions)] = (points, assumptions, found)
        return found

    def noted_points(points: isl.Set, operations: int) -> Cardinality:
        found = points_of(points, operations)
        counted[str(points)] = (points, found)
        return found

    monkeypatch.setattr(Cardinalities, "size", noted_size)
    monkeypatch.setattr(set_counter, "count_points", noted_points)
    for kernel in third(first):
        statistics = kernel.statistics(kernel.cases[0]) if kernel.statistics else None
        counts = count(kernel.build(), 32, statistics, cache=False)
        counts.to_json()  # counts the footprints too
        known = Cardinalities(counts.program, 32)
        for domain, _ in counts.access_maps:
            known.size(domain.points)
    assert 50 < len(sized)
    assert 17 < len(counted)
    for points, assumptions, found in sized.values():
        expected = points_of(points, 100 * OPERATIONS)
        assert Count(expected.polynomial, assumptions) == Count(found.polynomial, assumptions)
    for points, expected in counted.values():
        found = set_counter.sum_of_points(points)
        assert not found.unexpanded
        assert Count(expected.polynomial) == Count(found.polynomial)


def test_a_card_that_miscounts_is_not_barvinok(monkeypatch):
    monkeypatch.setattr(set_counter.isl.Set, "card", lambda self: None)
    assert not set_counter.has_barvinok()
    assert set_counter.is_overwritten()


@pytest.mark.parametrize("sums", [summation.SUMS, 1])
def test_without_barvinok(monkeypatch, sums):
    """Sets that are too hard are counted at given sizes."""
    band = next(kernel for kernel in kernels() if kernel.name == "band")
    expected = [row.count(**band.cases[0]) for row in count(band.build(), cache=False).operation_table]
    monkeypatch.setattr(set_counter, "can_count", lambda: False)
    monkeypatch.setattr(summation, "SUMS", sums)
    counts = [row.count for row in count(band.build(), cache=False).operation_table]
    assert all(row.exact for row in counts)
    assert (sums == 1) == any(row.unexpanded for row in counts)
    assert expected == [row(**band.cases[0]) for row in counts]


def test_a_real_error_of_isl_is_not_taken_for_a_spent_budget():
    with pytest.raises(isl.Error, match="syntax error"), set_counter.limited(10**6):
        isl.Set("{ [i] : ")


@pytest.mark.parametrize("operations", [1, 10, 200])
def test_a_spent_budget_is_told_whatever_isl_says(operations):
    """isl says "syntax error" for a set that it had to stop reading."""
    with pytest.raises(set_counter.BudgetSpentError), set_counter.limited(operations):
        isl.Set("[n, m] -> { [i, j, k] : 0 <= j <= i < n and 0 <= k <= j + m and i mod 3 = 0 }").card()
    assert 0 == isl.DEFAULT_CONTEXT.get_max_operations()


@pytest.mark.parametrize("operations", [510_000, 2_000_000])
def test_a_result_that_lacks_pieces_is_not_taken(operations: int) -> None:
    # isl's dim_max leaves out a piece in which the budget ends, without an error
    points = isl.Set(
        "[t, n] -> { [p, x, y, z] : n >= 3 and 0 <= p <= 1 and -7 <= y <= 7 and -14 - 8p - 16x <= y <= 14 + 8p + 16x "
        "and 2 - n + 8p + 16x <= y <= n - 2 - 8p - 16x and -8p - y <= 16z < t - 8p - y }"
    )
    taken = []
    with suppress(set_counter.BudgetSpentError):
        with set_counter.limited(operations):
            found = _longest(points, 3)
        taken.append(found.n_piece())
    assert taken in ([], [16])


@pytest.mark.parametrize("operations", [1788, 1999, 6430, 6641])
def test_a_small_budget_does_not_end_the_process(operations):
    """Barvinok's algorithm goes on where isl stops it, and fell over one of these budgets."""
    points = isl.Set(
        "[n] -> { [i, j, k, l] : (n) mod 16 = 0 and (k) mod 2 = 0 and i >= 0 and 224i <= -16 + n and j >= 0 and "
        "16j <= -16 + n and 16j <= k <= 28 + 16j and -2 + 7i <= l <= 8 + 7i and 32l <= 32 + n and "
        "((l >= -1 + 7i and 7*floor((3 + 2l)/7) < 2l and 112*floor((3 + 2l)/7) <= n) or (l <= 7 + 7i and 32l <= n and "
        "7*floor((-2 + 2l)/7) <= -6 + 2l and 112*floor((-2 + 2l)/7) <= -112 + n)) }"
    )
    number = count_points(points, operations)
    expected = points.fix_val(isl.dim_type.param, 0, isl.Val(448)).count_val().to_python()
    assert expected == Count(number)(n=448)
