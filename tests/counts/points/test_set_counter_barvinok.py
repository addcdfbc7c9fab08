"""What is said, and counted, where islpy cannot count the points of a set."""

from __future__ import annotations

import warnings
from contextlib import suppress

import islpy as isl
import pytest

from perfmodel.counts import Count, count
from perfmodel.counts.flow.trips import _longest
from perfmodel.counts.points import set_counter, summation
from perfmodel.counts.points.set_counter import count_points
from perfmodel.libraries import MENDING_COMMAND
from tests.corpus import kernels


def test_a_card_that_miscounts_is_not_barvinok(monkeypatch):
    monkeypatch.setattr(set_counter.isl.Set, "card", lambda self: None)
    assert not set_counter.has_barvinok()
    assert set_counter.is_overwritten()


@pytest.fixture
def without_barvinok(monkeypatch):
    monkeypatch.setattr(set_counter, "can_count", lambda: False)
    set_counter.warn_once.cache_clear()
    yield
    set_counter.warn_once.cache_clear()


def test_nothing_is_said_of_counts_that_are_exact_without_it(without_barvinok):
    """Of a wheel's user, who has no Barvinok, each command said that some counts may be bounds."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert 10 == Count(count_points(isl.Set("{ [i, j] : 0 <= i < j < 5 }")).polynomial)()
        band = next(kernel for kernel in kernels() if kernel.name == "band")
        assert all(row.count.exact for row in count(band.build()).operation_table)


def test_one_warning_with_the_mending_command(without_barvinok, monkeypatch):
    monkeypatch.setattr(summation, "SUMS", 0)
    sizes = (3, 4, 5)
    with pytest.warns(set_counter.BarvinokMissingWarning) as caught:
        found = [count_points(isl.Set(f"{{ [i] : 0 <= i < {size} }}")) for size in sizes]
    assert list(sizes) == [Count(number.polynomial)() for number in found]
    assert 1 == len(caught)
    assert MENDING_COMMAND in str(caught[0].message)


def test_inexactness_reaches_the_counts(without_barvinok, monkeypatch):
    monkeypatch.setattr(summation, "SUMS", 1)
    band = next(kernel for kernel in kernels() if kernel.name == "band")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        counts = count(band.build(), cache=False)
    assert any(not row.count.exact for row in counts.operation_table)
    assert any(str(row.count).startswith("<= ") for row in counts.operation_table)


def test_a_real_error_of_isl_is_not_taken_for_a_spent_budget():
    with pytest.raises(isl.Error, match="syntax error"), set_counter.limited(10**6):
        isl.Set("{ [i] : ")


@pytest.mark.parametrize("operations", [1, 10, 200])
def test_a_spent_budget_is_told_whatever_isl_says(operations):
    """isl says "syntax error" for a set that it had to stop reading."""
    with pytest.raises(set_counter.BudgetSpentError), set_counter.limited(operations):
        isl.Set("[n, m] -> { [i, j, k] : 0 <= j <= i < n and 0 <= k <= j + m and i mod 3 = 0 }").card()
    assert 0 == isl.DEFAULT_CONTEXT.get_max_operations()


@pytest.mark.parametrize("operations", [500_000, 510_000, 2_000_000])
def test_a_result_that_lacks_pieces_is_not_taken(operations: int) -> None:
    # isl's dim_max gives no error here where the budget ends in one of its pieces, and leaves the piece out
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
