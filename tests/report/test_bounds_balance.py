"""What bounds a kernel by work and depth, as a sentence with its numbers."""

from __future__ import annotations

import math

import pytest

from perfmodel.analyses.balance import COMPUTE_BOUND, MEMORY_BOUND, NO_WORK, TOO_LITTLE_PARALLELISM
from perfmodel.report.bounds import balance_words
from tests.analyses.test_balance import balance


@pytest.mark.parametrize(
    ("changes", "verdict", "said"),
    [
        ({}, COMPUTE_BOUND, "bound by computing"),
        ({"transfers": 1e8}, MEMORY_BOUND, "5.96 GiB must move"),
        ({"depth": 1e7}, TOO_LITTLE_PARALLELISM, "0.1 transfers can be under way at once, and 781 would hide"),
        ({"depth": 1e7, "latency": 0.0}, TOO_LITTLE_PARALLELISM, "100 operations can run at once on average"),
        ({"work": 0.0, "depth": 0.0, "transfers": 0.0}, NO_WORK, "computes nothing"),
        ({"rate": math.inf, "bandwidth": math.inf}, None, "By work and depth"),
    ],
)  # fmt: skip
def test_verdicts_have_their_numbers(changes, verdict, said):
    found = balance(**changes)
    assert verdict in (None, found.verdict)
    assert said in balance_words(found)
    assert "nan" not in balance_words(found)
