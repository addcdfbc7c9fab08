"""Boosted trees on the features of a family: deterministic, blind to what is left out, carried to other sizes."""

from dataclasses import replace

import pytest

from perfmodel.fitting import FitOptions
from perfmodel.fitting.family_fits import FamilyFits
from perfmodel.models import find_family
from scripts.lab.scoreboard.black_box import BlackBoxFits, black_box
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
