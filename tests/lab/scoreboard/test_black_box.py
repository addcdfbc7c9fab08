"""Boosted trees on the features of a family: deterministic, blind to what is left out, carried to other sizes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from perfmodel.compare.protocols import evaluate_fits
from perfmodel.fitting import FitOptions
from perfmodel.fitting.family_fits import FamilyFits
from perfmodel.models import find_family
from scripts.lab.scoreboard.black_box import (
    BlackBoxFits,
    black_box,
    choose_black_box,
    group_error,
    importances,
    total_work,
)
from scripts.lab.scoreboard.boosted_trees import Trees
from tests.compare.test_protocols import MEASURED, TESTS
from tests.standins import Rows

LINEAR = find_family("stevens_kloeckner_2016")


def fits(basis="work", measured=MEASURED, tests=TESTS, **changed) -> BlackBoxFits:
    return black_box(FamilyFits(measured, LINEAR, FitOptions(), tests), Trees(basis, **{"trees": 20, **changed}))


def seconds(found: BlackBoxFits):
    return found.predict_tests().seconds


@pytest.mark.parametrize("basis", ["work", "family"])
def test_the_same_rows_give_the_same_trees(basis):
    once, twice = seconds(fits(basis)), seconds(fits(basis))
    assert once.tolist() == twice.tolist()
    assert (once > 0).all()
    if basis == "work":  # over exact predictions no tree has a split
        assert seconds(fits(basis, seed=1)).tolist() != once.tolist()


def test_total_work_is_operations_accesses_and_launches():
    found = zip(MEASURED.rows, total_work(MEASURED), strict=True)
    own = {(row.kernel, row.parameters["n"]): work for row, work in found}
    assert 1 == own["empty", 16]  # the launch
    assert 1 + 1000 * 16**2 + 16**3 == own["add", 16]  # float32 additions and int32 ones
    assert 1 + (100 + 900 + 100) * 16**2 == own["tile", 16]


def test_over_the_predictions_of_an_exact_family_nothing_is_left_to_learn():
    linear = FamilyFits(MEASURED, LINEAR, FitOptions(), TESTS)
    assert linear.predict_tests().seconds.tolist() == pytest.approx(seconds(fits("family")).tolist(), rel=1e-6)


def test_a_basis_carries_beyond_the_largest_size():
    """Trees alone would predict for n=2^20 about the time of n=1024: a millionth of it."""
    large = Rows((replace(TESTS.rows[2], parameters={"n": 2**20}, seconds=100 * 2.0**40 * 4e-10),), TESTS.counts)
    ratio = seconds(fits("work", tests=large))[0] / large.rows[0].seconds
    assert 0.1 < ratio < 10


def test_a_group_that_is_left_out_changes_nothing():
    """The predictions of the additions must not depend on their own times."""
    wrong = Rows(
        tuple(replace(row, seconds=row.seconds * (7 if row.group == "tiles" else 1)) for row in MEASURED.rows),
        MEASURED.counts,
    )
    own = [place for place, row in enumerate(MEASURED.rows) if row.group == "tiles"]
    found = [fits("work", each, None).predict_without_group().seconds[own].tolist() for each in (MEASURED, wrong)]
    assert found[0] == pytest.approx(found[1], nan_ok=True)


def test_groups_weigh_the_same():
    balance = fits().refits.balance
    groups = np.array([row.group for row in MEASURED.rows])
    assert pytest.approx([1.0] * 4) == [balance[: len(groups)][groups == group].sum() for group in sorted(set(groups))]


def test_settings_are_chosen_by_groups_left_out():
    settings = (Trees("work", trees=20), Trees("family", trees=20))
    readable = FamilyFits(MEASURED, LINEAR)
    errors = [group_error(black_box(readable, one)) for one in settings]
    assert settings[int(np.argmin(errors))] == choose_black_box(readable, settings).setting
    assert "times over the work" == settings[0].name


def test_it_is_judged_as_a_family_is():
    a, groups = (evaluate_fits(fits(tests=tests), None, by)[0] for tests, by in ((TESTS, ("A",)), (MEASURED, ("B",))))
    assert [row.kernel for row in a.rows] == ["adding", "adding", "copying", "copying", "other"]
    assert len(MEASURED.rows) == len(groups.rows)
    assert a.figures.withheld == 0


def test_importances_are_of_the_columns_and_the_largest_comes_first():
    own = fits(tests=None)
    found = importances(own, repeats=1)
    assert set(own.refits.table.names) == set(found)
    assert sorted(found.values(), reverse=True) == list(found.values())
    assert dict(found) == dict(importances(own, repeats=1))
