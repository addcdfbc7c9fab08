"""Tables over E and K, and the shares of operations at the best of them."""

from __future__ import annotations

import pytest

from scripts.lab.studies.karsin import gpu
from scripts.lab.studies.sorting import OPERATIONS
from scripts.lab.studies.sorting_tables import ALGORITHMS, best_choice, records

GIBSON = gpu("GIBSON")


def test_a_record_for_each_choice_with_shares_that_add_up():
    rows = records("GIBSON", GIBSON)
    assert 3 * 62 + 2 * 5 == len(rows)  # E from 3 to 64, K = 2, 4, 8, 16, 32
    assert {"printed": 10**8, "recovered": 10**8, "counted": 10**8, "Koike": 2**29, "GPU-MMS": 2**28} == {
        row["algorithm"]: row["elements"] for row in rows
    }
    for row in rows:
        assert 1 == pytest.approx(sum(row.get(name, 0.0) for name in OPERATIONS.values()))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_best_choice_has_the_least_time(algorithm):
    rows = [row for row in records("GIBSON", GIBSON, 2.0**24) if row["algorithm"] == algorithm]
    assert min(rows, key=lambda row: row["seconds"])["value"] == best_choice(GIBSON, algorithm, 2.0**24)


def row(device, algorithm, value, seconds, **parts):
    return {
        "device": device, "algorithm": algorithm, "parameter": "K", "value": value, "elements": 10**6,
        "seconds": seconds, **parts,
    }  # fmt: skip
