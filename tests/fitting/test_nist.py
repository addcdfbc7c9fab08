"""NIST's certified linear problems through the least-squares core, in matching digits."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from perfmodel.fitting import solve_least_squares
from perfmodel.fitting.least_squares import standard_errors

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
    matrix, y = problem(name)
    found, certified = solve_least_squares(matrix, y), CERTIFIED[name]
    errors = standard_errors(found.inverse, y - matrix @ found.x, np.ones(len(y)), found.freedom)
    assert matching_digits(found.x, certified["estimates"]) >= 7
    assert matching_digits(errors, certified["standard_deviations"]) >= 7
    assert certified["degrees_of_freedom"] == pytest.approx(found.freedom)
    assert len(found.x) == found.rank


def test_a_plain_solver_fails_on_filip():
    matrix, y = problem("Filip")
    plain = np.linalg.lstsq(matrix, y, rcond=None)[0]
    assert matching_digits(plain, CERTIFIED["Filip"]["estimates"]) < 1
    assert solve_least_squares(matrix, y).condition > 1e9
