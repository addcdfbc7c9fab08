"""The choice of measurements, against determinants worked out by brute force."""

import numpy as np
import pytest

from scripts.lab.choice import BY_ALL, BY_CLASS, BY_VARIANT, NOISE, Candidates, choose, choose_next  # fmt: skip


def candidates(rows=40, features=5, seed=0, **changes):
    generator = np.random.default_rng(seed)
    matrix = generator.uniform(0.1, 1.0, (rows, features)) * (generator.random((rows, features)) < 0.5)
    matrix[np.arange(features), np.arange(features)] = 1.0
    matrix[matrix.sum(axis=1) == 0, 0] = 1.0
    times = matrix @ np.geomspace(1e-5, 1e-2, features) * generator.uniform(0.7, 1.4, rows)
    given = {
        "kernels": [f"k{i % 7}" for i in range(rows)], "variants": [f"v{i % 3}" for i in range(rows)],
        "cost": lambda seconds: 0.03 + 30 * seconds, "expected": times
    }  # fmt: skip
    return Candidates(matrix, **{**given, **changes}), times


def shared(table, times, known):
    """Twice the mutual information of measured rows and the others, by determinants of their covariances."""
    count = len(times)
    relative = table.matrix / times[:, np.newaxis]
    relative = relative / relative.max(axis=0)
    covariance = np.empty((count, count))
    for i in range(count):
        for j in range(count):
            common = BY_ALL**2
            if table.kernels[i] == table.kernels[j]:
                common += BY_CLASS**2 + BY_VARIANT**2 * (table.variants[i] == table.variants[j])
            covariance[i, j] = relative[i] @ relative[j] + NOISE**2 * (i == j)
            covariance[i, j] += common * np.exp(-(np.log10(times[i] / times[j]) ** 2) / 2)
    rest = [i for i in range(count) if i not in known]
    parts = (covariance[np.ix_(rows, rows)] for rows in (list(known), rest))
    return sum(np.linalg.slogdet(part)[1] for part in parts) - np.linalg.slogdet(covariance)[1]


def test_each_step_is_the_best_by_brute_force():
    table, times = candidates()
    measured = np.full(len(times), np.nan)
    pilot = choose_next(table, measured, 12)
    measured[list(pilot)] = times[list(pilot)]
    known = list(pilot)
    for row in choose_next(table, measured, 12):
        before, seconds = shared(table, times, known), table.cost(times)
        worth = {
            i: (shared(table, times, [*known, i]) - before) / seconds[i]
            for i in range(len(times))
            if i not in known
        }
        assert max(worth, key=worth.__getitem__) == row
        known.append(row)
    assert len(known) > len(pilot) + 1


@pytest.mark.parametrize("trials", [True, False])
def test_every_feature_is_measured_and_the_share_kept(trials):
    table, times = candidates(seed=3, **({} if trials else {"expected": None}))
    found = choose(table, lambda row: times[row], 10)
    assert 10 == len(found) == len(set(found))
    assert (table.matrix[list(found)] != 0).any(axis=0).all()
    assert found == choose(table, lambda row: times[row], 10)


def test_what_fails_is_not_tried_again_and_another_row_covers_its_feature():
    table, times = candidates()
    first = choose_next(table, np.full(40, np.nan), 10)[0]
    tried = []

    def measure(row):
        tried.append(row)
        return np.inf if row == first else times[row]

    choose(table, measure, 10)
    assert 11 == len(tried) == len(set(tried))
    kept = [row for row in tried if row != first]
    assert (table.matrix[kept] != 0).any(axis=0).all()
