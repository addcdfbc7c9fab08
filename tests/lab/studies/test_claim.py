"""Claims as text and as cells."""

from __future__ import annotations

from itertools import combinations

import pytest

from scripts.lab.studies import VERDICTS, Claim, verdict_of_all


@pytest.mark.parametrize(
    ("agrees", "slip", "verdict"),
    [
        (True, False, "agrees"), (False, False, "does not agree"), (None, False, "cannot be shown here"),
        (False, True, "the paper's slip"), (None, True, "the paper's slip"),
    ],
)  # fmt: skip
def test_the_verdict_in_words(agrees, slip, verdict):
    one = Claim("Fig. 2", "r squared is 0.99", "0.42", agrees, slip)
    assert verdict == one.verdict == one.cells[-1]
    assert verdict in VERDICTS


def test_a_claim_counts_once():
    every = [verdict_of_all(given) for size in (1, 2, 3, 4) for given in combinations(VERDICTS, size)]
    assert set(VERDICTS) == set(every)
    assert 8 == every.count("does not agree")  # of the 15 sets of verdicts, those that hold it
    assert "the paper's slip" == verdict_of_all(["cannot be shown here", "the paper's slip"])
