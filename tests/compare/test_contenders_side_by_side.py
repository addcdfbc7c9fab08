"""Families side by side on planted times: who is exact, who withholds, who cannot be fitted."""

from __future__ import annotations

import pytest

from perfmodel.compare.contenders import contender_of, families_table, on_common_cases
from perfmodel.compare.protocols import folds_of
from perfmodel.fitting.family_fits import FamilyFits
from perfmodel.fitting.weights_file import FitOptions
from perfmodel.models import Family, find_family
from perfmodel.models.model import Weight
from perfmodel.store import Measurements
from tests.compare.test_protocols import MEASURED, TESTS

EXACT = find_family("stevens_kloeckner_2016")
BLIND = Family("blind", "takes only launches and groups", ("launches", "work_groups"))
NEEDY = Family(
    "needy", "needs a fact that nobody gave",
    quantities=lambda case: {"speed": case.fact("unheard_of")}, units={"speed": ""},
    weights=(Weight("w_a", "s"),), expression="w_a * speed",
)  # fmt: skip


def judged(measured, tests, families):
    return [contender_of(FamilyFits(measured, one, FitOptions(), tests, folds_of(tests))) for one in families]


def contenders():
    return on_common_cases(judged(MEASURED, TESTS, (EXACT, BLIND, NEEDY)))


def test_without_a_case_there_is_no_figure_and_the_fit_is_timed():
    (found,) = judged(MEASURED, Measurements((), {}), (EXACT,))
    assert ("", True) == (found.problem, found.predict_s > 0)
    for row in families_table([found]).splitlines()[1:5]:
        assert ["-"] * 5 == [cell for cell in row.split() if cell == "-"][:5], row
        assert "nan" not in row


def test_every_family_is_judged_on_the_cases_that_all_of_them_predict():
    exact, blind, _ = contenders()
    assert (0, 5) == (exact.withheld, len(exact.by("A").rows))
    # By B the exact family withholds both additions (test_compare.py), and so nobody is judged on them.
    cases = [(row.kernel, row.sizes) for row in exact.by("B").rows]
    assert [("copying", "n=32"), ("copying", "n=512"), ("other", "n=8")] == cases
    assert cases == [(row.kernel, row.sizes) for row in blind.by("B").rows]


def test_figures_and_weights():
    exact, blind, needy = contenders()
    # Four of five are exact (and count as 0.1 %), the fifth was planted twice as slow.
    assert pytest.approx((1e-3**4 * 0.5) ** 0.2) == exact.figures("A").error
    assert pytest.approx((1e-3 * 0.5) ** 0.5) == exact.figures("A", "adding").error
    assert blind.figures("A").error > exact.figures("A").error
    assert 2 == blind.weights
    assert exact.weights > blind.weights
    assert () == needy.evaluations
    assert "unheard_of" in needy.problem
    assert all(one.fit_s > 0 and one.predict_s > 0 for one in (exact, blind))
