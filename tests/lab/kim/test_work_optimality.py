"""Work beyond that of the best sequential algorithm, by a schedule and by the book's example."""

import math

import pytest

from scripts.lab.kim.work_optimality import work_optimality
from tests.analyses.test_balance import balance


@pytest.mark.parametrize("cores", [1, 4, 1000])
@pytest.mark.parametrize("epsilon", [1, 10])
def test_work_beyond_the_best_sequential_takes_speedup_away(cores, epsilon):
    """By a schedule, step by step: each of D levels has W/D nodes, of which p run at a time."""
    least, depth = 1000, 10
    found = work_optimality(balance(work=float(least * epsilon), depth=float(depth), cores=float(cores)), float(least))
    steps = sum(math.ceil(least * epsilon / depth / cores) for _ in range(depth))
    assert steps <= least / found.speedup  # Brent's bound
    assert (epsilon, cores / epsilon) == (found.epsilon, found.most)
    assert found.speedup <= found.most
    assert (found.speedup > 1) == (cores > epsilon or epsilon == 1 < cores)


def test_the_book_s_case_of_log_n_loses_an_order_of_magnitude():
    """ "Even for n = 1024, log n = 10, meaning the best possible speedup is an order of magnitude less"."""
    one = balance(work=1024 * 1e6 * math.log2(1024), depth=1.0)
    assert pytest.approx(1000 / 10) == work_optimality(one, 1024e6).most == pytest.approx(
        work_optimality(one, 1024e6).speedup, rel=1e-6
    )
