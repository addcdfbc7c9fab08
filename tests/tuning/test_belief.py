"""What is believed of variants, beside SciPy's multivariate Student distribution and numerical integrals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import integrate
from scipy.stats import multivariate_t, t

from perfmodel.tuning.belief import OFFSET, OWN_SHARES, REACHES, Belief

PREDICTED = np.array([1.0, 1.3, 2.0, 0.7])
PLACES = np.array([[0.0, 0.1], [0.2, 0.0], [0.9, 1.0], [0.1, 0.1]])
DEVIATION = 0.2
FREEDOM = 4


def covariance(own: float, reach: float) -> np.ndarray:
    """Of the errors of log time, in units of their scale: offset, likeness and own share, written out by hand."""
    found = np.empty((4, 4))
    for i in range(4):
        for j in range(4):
            apart = float(np.sum((PLACES[i] - PLACES[j]) ** 2))
            alike = np.exp(-apart / (2 * reach**2))
            found[i, j] = OFFSET + (1 - own) * alike + own * (i == j)
    return found


def density(errors: list[float], places: list[int], own: float, reach: float) -> float:
    shape = DEVIATION**2 * covariance(own, reach)[np.ix_(places, places)]
    return float(multivariate_t(loc=np.zeros(len(places)), shape=shape, df=FREEDOM).logpdf(errors))


def test_components_are_weighted_by_the_probability_of_the_runs():
    ran, seconds = [0, 2, 1], [1.5, 2.2, 2.1]
    errors = list(np.log(np.array(seconds) / PREDICTED[ran]))
    logs = [density(errors, ran, 1.0, 1.0)]
    logs += [density(errors, ran, own, reach) for reach in REACHES for own in OWN_SHARES]
    expected = np.exp(np.array(logs) - max(logs))
    found = Belief(PREDICTED, (PLACES,), DEVIATION, FREEDOM).after(ran, seconds)
    assert found.weights == pytest.approx(expected / expected.sum(), rel=1e-9)
    assert found.freedom == 7


@pytest.mark.parametrize("ran", [[], [0], [3, 1], [0, 2, 1]])
def test_a_variant_that_has_not_run_has_the_conditional_distribution(ran):
    seconds = [float(1.7 * PREDICTED[place] ** 0.9) for place in ran]
    errors = list(np.log(np.array(seconds) / PREDICTED[ran]))
    found = Belief(PREDICTED, (PLACES,), DEVIATION, FREEDOM).after(ran, seconds)
    components = [(1.0, 1.0)] + [(own, reach) for reach in REACHES for own in OWN_SHARES]
    new = 3 if 3 not in ran else 2
    for place, (own, reach) in enumerate(components):
        for error in (-0.3, 0.0, 0.4):
            joint = density([*errors, error], [*ran, new], own, reach)
            known = density(errors, ran, own, reach) if ran else 0.0
            spot, scale = found.places[place, new], found.scales[place, new]
            mine = t(found.freedom, spot, scale).logpdf(np.log(PREDICTED[new]) + error)
            assert mine == pytest.approx(joint - known, abs=1e-7)


def test_probability_and_improvement_are_integrals_of_the_distribution():
    found = Belief(PREDICTED, (PLACES,), DEVIATION, FREEDOM).after([0, 2], [1.5, 2.2])

    def at(log: float, variant: int) -> float:
        return float(found.weights @ t(found.freedom, found.places[:, variant], found.scales[:, variant]).pdf(log))

    limit = np.log(1.2)
    bounds: dict[str, Any] = {"points": [limit - 1], "limit": 400}
    for variant in (1, 3):
        below, _ = integrate.quad(at, limit - 60, limit, args=(variant,), **bounds)
        gain, _ = integrate.quad(lambda x, one: (limit - x) * at(x, one), limit - 60, limit, args=(variant,), **bounds)
        assert found.below(1.2)[variant] == pytest.approx(below, rel=1e-5)
        assert found.improvement(1.2)[variant] == pytest.approx(gain, rel=1e-3)


def test_nothing_alike_is_a_plain_offset_and_scatter():
    """Three variants that agree exactly, and the covariance's inverse by Sherman and Morrison."""
    found = Belief(PREDICTED, (), DEVIATION, FREEDOM).after([0, 1, 2], list(3.0 * PREDICTED[:3]))
    whole = 1 + 3 * OFFSET
    assert found.seconds[3] == pytest.approx(0.7 * 3.0 ** (3 * OFFSET / whole))
    scale = (FREEDOM * DEVIATION**2 + np.log(3.0) ** 2 * 3 / whole) / (FREEDOM + 3)
    assert found.scales[0, 3] == pytest.approx(np.sqrt(scale * (1 + OFFSET - 3 * OFFSET**2 / whole)))


def test_like_variants_have_like_errors():
    """Two groups of variants, of which one takes twice what was predicted."""
    places = np.repeat([[0.0], [5.0]], 8, axis=0)
    truth = np.repeat([2.0, 1.0], 8)
    ran = [0, 1, 2, 3, 8, 9, 10, 11]
    found = Belief(np.ones(16), (places,), 0.2).after(ran, list(truth[ran]))
    assert found.seconds[4:8] == pytest.approx(np.full(4, 2.0), rel=0.03)
    assert found.seconds[12:] == pytest.approx(np.full(4, 1.0), rel=0.03)
