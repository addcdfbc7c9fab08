"""NIST's certified linear problems through the ordinary least-squares core, in matching digits."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from perfmodel.fitting import OrdinaryLeastSquares, solve_least_squares

FOLDER = Path(__file__).parent / "data" / "nist"
CERTIFIED = json.loads((FOLDER / "certified.json").read_text())


def problem(name: str) -> tuple[np.ndarray, np.ndarray]:
    y, *x = np.loadtxt(FOLDER / f"{name}.csv", delimiter=",", skiprows=1).T
    powers = CERTIFIED[name]["powers"]
    if powers is None:
        return np.column_stack([np.ones_like(y), *x]), y
    return np.column_stack([x[0] ** power for power in range(powers[0], powers[1] + 1)]), y


def matching_digits(found: np.ndarray, certified: list[float]) -> float:
    """Least number of digits in which numbers agree; 15 at most."""
    expected = np.array(certified)
    errors = np.abs(found - expected) / np.where(expected == 0, 1, np.abs(expected))
    return float(np.min(-np.log10(np.maximum(errors, 1e-15))))


@pytest.mark.parametrize("name", CERTIFIED)
def test_certified_estimates_and_their_standard_deviations(name):
    found = OrdinaryLeastSquares().fit(*problem(name))
    certified = CERTIFIED[name]
    assert matching_digits(found.coef_, certified["estimates"]) >= 7
    assert matching_digits(found.standard_errors_, certified["standard_deviations"]) >= 7
    assert certified["degrees_of_freedom"] == pytest.approx(found.degrees_of_freedom_)
    assert len(found.coef_) == found.rank_


def test_there_are_all_eleven():
    powers = {"Longley": 7, "Filip": 11, "Pontius": 3, "Norris": 2, "NoInt1": 1, "NoInt2": 1}
    expected = {**powers, **{f"Wampler{i}": 6 for i in range(1, 6)}}
    assert expected == {name: len(one["estimates"]) for name, one in CERTIFIED.items()}


def test_filip_is_what_a_plain_solver_cannot_do():
    matrix, y = problem("Filip")
    plain = np.linalg.lstsq(matrix, y, rcond=None)[0]
    assert matching_digits(plain, CERTIFIED["Filip"]["estimates"]) < 1
    # the columns' lengths are most of the trouble, but not all
    assert solve_least_squares(matrix, y).condition > 1e9
