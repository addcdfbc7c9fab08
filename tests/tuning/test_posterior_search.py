"""Which variant runs next, and when the best is known, on kernels drawn from the prior itself."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.tuning.posterior import Prior, Search


def run(search: Search, times: np.ndarray, level: float = 0.9) -> int:
    """Search to the end; return how many variants ran."""
    while search.settled < level and (place := search.following) is not None:
        search.note(place, float(times[place]))
    return len(search.times)


def test_the_variant_predicted_fastest_is_first_and_a_failure_leads_to_the_next():
    search = Search(Prior(np.array([3.0, 1.0, 1.5]), (), 0.1))
    assert (search.following, search.best, search.least, search.settled) == (1, None, None, 0.0)
    search.note(1, None)
    assert (search.following, search.best, search.settled) == (2, None, 0.0)
    search.note(2, 1.4)
    assert (search.best, search.least) == (2, 1.4)
    assert 0.8 < search.settled < 0.95  # for all that is known, predictions may say nothing
    search.note(0, 3.1)
    assert (search.following, search.settled) == (None, 1.0)


def test_all_variants_that_fail():
    search = Search(Prior(np.array([3.0, 1.0]), (), 0.1))
    search.note(0, None)
    search.note(1, None)
    assert (search.following, search.best, search.settled) == (None, None, 0.0)


@pytest.mark.parametrize("deviation", [0.05, 0.2, 0.5])
def test_the_best_is_found_with_the_stated_probability(deviation):
    """Times drawn from the prior: normal errors around one offset for each kernel."""
    random, found, ran = np.random.default_rng(7), [], []
    for _ in range(200):
        predicted = np.exp(random.normal(0.0, 0.6, 40))
        times = predicted * np.exp(random.normal(0.5, 1.0) + deviation * random.normal(size=40))
        search = Search(Prior(predicted, (), deviation), within=0.02)
        ran.append(run(search, times))
        found.append(search.least <= times.min() / (1 - 0.02))
    assert np.mean(found) >= 0.9
    assert np.mean(ran) < 20


def test_a_wrong_deviation_is_learned_from_the_runs():
    """Weights that promise errors of 5 %, and a kernel on which they are off by 15 %."""
    random, found, ran = np.random.default_rng(8), [], []
    for _ in range(100):
        predicted = np.exp(random.normal(0.0, 0.6, 40))
        times = predicted * np.exp(0.15 * random.normal(size=40))
        search = Search(Prior(predicted, (), 0.05), within=0.02)
        ran.append(run(search, times))
        found.append(search.least <= times.min() / (1 - 0.02))
    assert np.mean(found) > 0.85
    assert np.mean(ran) < 10


def test_random_predictions_cost_few_runs():
    """Times that follow a parameter and no prediction: the search is soon as good as one without predictions."""
    random, misled, unaware = np.random.default_rng(10), [], []
    for _ in range(30):
        tile = np.arange(80) / 79
        times = np.exp((tile - random.uniform(0.2, 0.8)) ** 2)
        wrong = np.exp(random.normal(0.0, 1.0, 80))
        for predicted, counts in ((wrong, misled), (np.ones(80), unaware)):
            search = Search(Prior(predicted, (tile[:, None],), 0.3))
            while search.least is None or search.least > 1.01 * times.min():
                search.note(place := search.following, float(times[place]))
            counts.append(len(search.times))
    assert np.mean(misled) < 2 * np.mean(unaware)
    assert np.mean(misled) < 10


def test_correlated_errors_find_what_the_model_gets_wrong():
    """A model that is blind to one parameter, which makes half of the variants three times as slow."""
    random, alike, blind = np.random.default_rng(9), [], []
    for _ in range(50):
        slow = np.repeat([0.0, 1.0], 30)
        predicted = np.exp(random.normal(0.0, 0.3, 60) - 0.3 * slow)
        times = predicted * np.exp(1.1 * slow + 0.05 * random.normal(size=60))
        for likeness, counts in (((slow[:, None],), alike), ((), blind)):
            search = Search(Prior(predicted, likeness, 0.2), within=0.02)
            place, ran = search.following, 0
            while search.least is None or search.least > 1.02 * times.min():
                search.note(place, float(times[place]))
                place, ran = search.following, ran + 1
            counts.append(ran)
    assert np.mean(alike) < 0.6 * np.mean(blind)
