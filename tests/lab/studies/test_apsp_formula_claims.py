"""What formulas alone say of the paper's claims, with the numbers by hand."""

from __future__ import annotations

import pytest

from scripts.lab.studies.apsp_formula_claims import formula_claims
from scripts.lab.studies.apsp_formulas import transactions
from scripts.lab.studies.claim import AGREES, SLIP, UNSHOWN

CLAIMS = {one.source: one for one in formula_claims()}


@pytest.mark.parametrize(
    ("source", "verdict", "said"),
    [
        ("Fig. 1, Eq. 3", AGREES, "9 minima below 150 groups at 15, 30, 45, 60, 75, 90, 105, 120, 135 "),
        ("Eq. 10", SLIP, "2 times as many"),
        ("Eq. 12", SLIP, "8192 times that of Eq. 14"),
        # above 512/S_D are 3, 2, 1 and 0 of the seven T for sub-blocks of 64, 32, 16 and 8, for each of four n
        ("Sections III.1 and III.2", AGREES, "Eq. 13 in 24 cases above, and Eq. 14 in 88 others, of 112"),
        ("Eq. 14, section IV.A", AGREES, "a factor of 1.0000 over 28 cases"),
        ("Fig. 3, section IV.B", AGREES, "is 8, 16, 32 "),
        ("Section V, Eq. 4", AGREES, "in it 4 groups fit, with the factors alone 6 "),
        ("Section V, Eq. 15", SLIP, "gives 115 s"),  # 0.957 256/4 + 53.9
        ("Section V, B_a = 1", UNSHOWN, "gives 299 s"),  # 0.957 256 + 53.9
    ],
)
def test_a_claim(source, verdict, said):
    assert (verdict, False) == (CLAIMS[source].verdict, CLAIMS[source].measured)
    assert said in CLAIMS[source].found


def test_a_squaring_reads_both_factors():
    """Sub-block by sub-block, as a program that fetches them would count its reads."""
    n, size, reads = 16, 4, 0
    for row in range(0, n, size):
        for column in range(0, n, size):
            for k in range(0, n, size):
                left = {(i, j) for i in range(row, row + size) for j in range(k, k + size)}
                right = {(i, j) for i in range(k, k + size) for j in range(column, column + size)}
                reads += len(left) + len(right)
    assert 2 * transactions(n, size, 1) / 4 == reads  # lg 16 squarings
