"""What bounds a kernel, in words with its numbers."""

from __future__ import annotations

import math

import pytest

from perfmodel.analyses.balance import COMPUTE_BOUND, MEMORY_BOUND, NO_WORK, TOO_LITTLE_PARALLELISM
from perfmodel.report.bounds import balance_text
from tests.analyses.test_balance import balance


@pytest.mark.parametrize(
    ("changes", "verdict", "said"),
    [
        ({}, COMPUTE_BOUND, ("compute-bound", "1e+09 operations", "1e+03 lanes", "1 ms", "W/D = 1e+07", "2.4 holds",
                             "p - 1 for p: 10.8 <= 15.6")),
        ({"transfers": 1e8}, MEMORY_BOUND, ("memory-bound", "6.4e+09 B at 1e+11 B/s", "64 ms", "2.4 fails")),
        ({"depth": 1e7}, TOO_LITTLE_PARALLELISM, ("Q/D = 0.1 transfers", "781 would hide", "5 s", "2.4 fails")),
        ({"depth": 1e7, "latency": 0.0}, TOO_LITTLE_PARALLELISM, ("chain of 1e+07", "W/D = 100 ", "10 ms", "holds")),
        ({"work": 0.0, "depth": 0.0, "transfers": 0.0}, NO_WORK, ("no work",)),
    ],
)  # fmt: skip
def test_verdicts_quote_their_numbers(changes, verdict, said):
    found = balance(**changes)
    assert verdict == found.verdict
    assert balance_text(found).startswith(verdict)
    for words in said:
        assert words in balance_text(found)


@pytest.mark.parametrize(
    "changes",
    [
        {"rate": math.inf},
        {"bandwidth": math.inf},
        {"rate": math.inf, "bandwidth": math.inf},
        {"latency": 0.0, "transfers": 0.0},
    ],
)
def test_costs_of_zero_give_words_without_nan(changes):
    assert "nan" not in balance_text(balance(**changes))


def test_more_work_than_the_least_of_the_variants_is_told():
    assert "times the least work" not in balance_text(balance(), 1e9)
    text = balance_text(balance(), 1e8)
    assert text.endswith("It does 10 times the least work of the variants, so of 1e+03 lanes it gains 100 at most over "
                         "one lane with that work (section 2.2).")  # fmt: skip
