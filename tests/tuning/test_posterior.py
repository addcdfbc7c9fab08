"""The distribution of variants' times, against SciPy's multivariate Student distribution and numerical integrals."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import integrate
from scipy.stats import multivariate_t, t

from perfmodel.fitting.selection import Scatter
from perfmodel.tuning import posterior
from perfmodel.tuning.posterior import NORMAL, OFFSET, SLOPES, Prior, Search, prior_of

PREDICTED = np.array([1.0, 1.3, 2.0, 0.7])
COORDINATES = np.array([[0.0, 0.1], [0.2, 0.0], [0.9, 1.0], [0.1, 0.1]])
DEVIATION = 0.2
FREEDOM = 4
POINTS = [
    (own, reach, slope)
    for own, reach in [(1.0, 1.0), *((own, reach) for reach in posterior.REACHES for own in posterior.OWN_SHARES)]
    for slope in SLOPES
]


def covariance(own: float, reach: float) -> np.ndarray:
    """Covariance of the errors of log time, in units of their scale, by hand."""
    found = np.empty((4, 4))
    for i in range(4):
        for j in range(4):
            distance = float(np.sum((COORDINATES[i] - COORDINATES[j]) ** 2))
            found[i, j] = OFFSET + (1 - own) * np.exp(-distance / (2 * reach**2)) + own * (i == j)
    return found


def middle(slope: float) -> np.ndarray:
    """The logs of times with a slope and without an offset; 0.7 s is the shortest prediction."""
    return np.array([np.log(0.7 * (one / 0.7) ** slope) for one in PREDICTED])


def density(logs: list[float], variants: list[int], own: float, reach: float, slope: float) -> float:
    shape = DEVIATION**2 * covariance(own, reach)[np.ix_(variants, variants)]
    return float(multivariate_t(loc=middle(slope)[variants], shape=shape, df=FREEDOM).logpdf(logs)) if variants else 0.0


def probable(logs: list[float], ran: list[int]) -> tuple[list[tuple[float, float, float]], np.ndarray]:
    """The points of the grid that are not negligible, and their weights."""
    densities = np.array([density(logs, ran, *point) for point in POINTS])
    kept = densities > densities.max() + np.log(posterior.NEGLIGIBLE)
    weights = np.exp(densities[kept] - densities.max())
    return [point for point, keep in zip(POINTS, kept, strict=True) if keep], weights / weights.sum()


def test_components_are_weighted_by_the_probability_of_the_runs():
    ran, seconds = [0, 2, 1, 3], [1.5, 3.1, 2.0, 1.05]
    points, weights = probable(list(np.log(seconds)), ran)
    assert 0 < len(points) < len(POINTS)
    found = Prior(PREDICTED, (COORDINATES,), DEVIATION, FREEDOM).posterior(ran, seconds)
    assert found.weights == pytest.approx(weights, rel=1e-9)
    assert found.freedom == 8


@pytest.mark.parametrize("ran", [[], [0], [3, 1], [0, 2, 1]])
def test_a_variant_that_has_not_run_has_the_conditional_distribution(ran):
    logs = [float(np.log(1.7 * PREDICTED[place] ** 0.9)) for place in ran]
    found = Prior(PREDICTED, (COORDINATES,), DEVIATION, FREEDOM).posterior(ran, np.exp(logs))
    new = 3 if 3 not in ran else 2
    for place, point in enumerate(probable(logs, ran)[0]):
        for log in (-0.3, 0.0, 0.4):
            joint, known = density([*logs, log], [*ran, new], *point), density(logs, ran, *point)
            mine = t(found.freedom, found.locations[place, new], found.scales[place, new]).logpdf(log)
            assert mine == pytest.approx(joint - known, abs=1e-7)


@pytest.mark.parametrize("slope", SLOPES)
def test_runs_give_the_slope_of_predictions(slope):
    """Times follow a power of the prediction, also outside of the predictions that ran."""
    predicted = np.geomspace(1.0, 20.0, 12)
    found = Prior(predicted, (), DEVIATION).posterior(range(10), 3.0 * predicted[:10] ** slope)
    assert found.seconds[10:] == pytest.approx(3.0 * predicted[10:] ** slope, rel=0.05)


def test_probability_and_improvement_are_integrals_of_the_distribution():
    found = Prior(PREDICTED, (COORDINATES,), DEVIATION, FREEDOM).posterior([0, 2], [1.5, 2.2])

    def at(log: float, variant: int) -> float:
        return float(found.weights @ t(found.freedom, found.locations[:, variant], found.scales[:, variant]).pdf(log))

    limit = np.log(1.2)
    bounds: dict[str, Any] = {"points": [limit - 1], "limit": 400}
    for variant in (1, 3):
        below, _ = integrate.quad(at, limit - 60, limit, args=(variant,), **bounds)
        gain, _ = integrate.quad(lambda x, one: (limit - x) * at(x, one), limit - 60, limit, args=(variant,), **bounds)
        assert found.below(1.2)[variant] == pytest.approx(below, rel=1e-5)
        assert found.improvement(1.2)[variant] == pytest.approx(gain, rel=1e-3)


def test_similar_variants_have_similar_errors():
    """Two groups of variants, of which one takes twice what was predicted."""
    variants = np.repeat([[0.0], [5.0]], 8, axis=0)
    truth = np.repeat([2.0, 1.0], 8)
    ran = [0, 1, 2, 3, 8, 9, 10, 11]
    found = Prior(np.ones(16), (variants,), 0.2).posterior(ran, list(truth[ran]))
    assert found.seconds[4:8] == pytest.approx(np.full(4, 2.0), rel=0.03)
    assert found.seconds[12:] == pytest.approx(np.full(4, 1.0), rel=0.03)


def prediction(seconds: float, **terms: float) -> SimpleNamespace:
    return SimpleNamespace(seconds=seconds, terms=terms)


def test_coordinates_are_the_roots_of_the_terms_shares():
    found = prior_of([prediction(4.0, a=1.0, b=3.0), prediction(2.0, b=2.0), prediction(9.0, a=9.0)], None)
    (coordinates,) = found.coordinates
    assert coordinates == pytest.approx(np.array([[0.5, np.sqrt(0.75)], [0.0, 1.0], [1.0, 0.0]]))
    assert (found.deviation, found.freedom) == (posterior.UNKNOWN_DEVIATION, 2)


def test_a_space_adds_its_coordinates_alone_and_joined():
    coordinates = np.array([[0.0], [1.0]])
    one = prior_of([prediction(1.0, a=1.0), prediction(2.0, a=2.0)], Scatter(deviation=0.1, cells=3), coordinates)
    assert [variants.shape for variants in one.coordinates] == [(2, 1), (2, 1), (2, 2)]
    assert (one.deviation, one.freedom) == (0.1, NORMAL)
    heavy = prior_of([prediction(1.0)], Scatter(deviation=0.1, freedom=2, cells=3))
    assert heavy.freedom == 2


def test_times_that_are_not_positive_are_replaced_by_the_median():
    found = prior_of([prediction(one) for one in (1.0, -2.0, 5.0, np.inf, 3.0)], None)
    assert found.predicted.tolist() == [1.0, 3.0, 5.0, 3.0, 3.0]
    assert prior_of([prediction(-1.0), prediction(0.0)], None).predicted.tolist() == [1.0, 1.0]


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


@pytest.mark.parametrize("deviation", [0.05, 0.2, 0.5])
def test_the_best_is_found_with_the_stated_probability(deviation):
    """Times drawn from the prior: normal errors around one offset for each kernel."""
    random, found, ran = np.random.default_rng(7), [], []
    for _ in range(100):
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
    for _ in range(60):
        predicted = np.exp(random.normal(0.0, 0.6, 40))
        times = predicted * np.exp(0.15 * random.normal(size=40))
        search = Search(Prior(predicted, (), 0.05), within=0.02)
        ran.append(run(search, times))
        found.append(search.least <= times.min() / (1 - 0.02))
    assert np.mean(found) > 0.85
    assert np.mean(ran) < 10


def test_correlated_errors_find_what_the_model_gets_wrong():
    """A model that is blind to one parameter, which makes half of the variants three times as slow."""
    random, alike, blind = np.random.default_rng(9), [], []
    for _ in range(25):
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
