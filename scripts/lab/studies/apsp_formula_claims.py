"""The claims of Ma, Chamberlain and Agrawal (2014) that their formulas and printed numbers decide, without a device."""

from __future__ import annotations

import math
from itertools import product

from scripts.lab.studies.apsp import minima, zigzag
from scripts.lab.studies.apsp_formulas import (
    compute_bound,
    in_groups,
    in_sub_blocks,
    memory_bound,
    threads_needed,
    transactions,
)
from scripts.lab.studies.claim import Claim

UNITS = 15
"""Multiprocessors of the paper's GTX 480, whose B_a is 1 in figure 1."""
N = 8192
"""Vertices of the paper's graph."""
SHOWN = 150
"""Most requested groups of figure 1."""
LATENCY = 512
"""L/C, from the three ends of figure 3: S_D T = 512."""
SLOPE, LEVEL = 0.957, 53.9
"""The printed a_1 and a_0 of Eq. 15 [s]."""
LOCAL, WORD = 48 * 1024, 4
"""Local memory of a multiprocessor, and an element [B]."""
CASES = tuple(product((1024, 2048, 4096, 8192), (8, 16, 32, 64), (1, 2, 4, 8, 16, 32, 64)))
"""n, S_D and T at which formulas are compared."""


def formula_claims() -> tuple[Claim, ...]:
    """Return all of them, in the paper's order."""
    return (
        zigzag_claim(), transactions_claim(), exponent_claim(), regimes_claim(), line_claim(), ends_claim(),
        groups_claim(), prediction_claim(), one_group_claim(),
    )  # fmt: skip


def _decided(source: str, paper: str, found: str, agrees: bool | None, slip: bool = False) -> Claim:
    return Claim(source, paper, f"{found} (nothing measured)", agrees, slip, measured=False)


def zigzag_claim() -> Claim:
    """Figure 1."""
    found = minima(zigzag(UNITS, SHOWN)[1])
    said = f"Eq. 3 has its {len(found)} minima below {SHOWN} groups at {', '.join(map(str, found))}"
    paper = "the scheduling factor zigzags with the requested groups and is least at every multiple of 15"
    return _decided("Fig. 1, Eq. 3", paper, said, found == tuple(range(UNITS, SHOWN, UNITS)))


def transactions_claim() -> Claim:
    """Section III: each sub-block of the result needs a row of sub-blocks of one factor and a column of the other."""
    blocks, size = N // 32, 32
    fetched = blocks**2 * 2 * blocks * size**2 * math.log2(N)
    factor = fetched / transactions(N, size, 1)
    paper = "each element is read for n/S_D other blocks, so that M = n^3 lg n/(S_D C)"
    said = f"{factor:g} times as many: A is both factors, and Eq. 10 counts one; the constant is lost in Eq. 8 anyhow"
    return _decided("Eq. 10", paper, said, None, slip=True)


def exponent_claim() -> Claim:
    """Eq. 12."""
    asked = N, (N / 32) ** 2, 32, LATENCY * 32, 4, 1.0
    factor = in_groups(*asked, exponent=3) / memory_bound(*asked)
    paper = "Eq. 12, with S_D = n/sqrt(B_r) in Eq. 11, has n^3 in its memory term, and Eq. 14 has n^2"
    said = f"Eq. 11 gives n^2: the printed term is {factor:.0f} times that of Eq. 14 at n = {N}"
    return _decided("Eq. 12", paper, said, None, slip=True)


def regimes_claim() -> Claim:
    """Sections III.1 and III.2."""
    right = {True: 0, False: 0}
    for n, size, threads in CASES:
        hidden = threads > threads_needed(size, 1, LATENCY)
        requested = (n / size) ** 2
        bound = compute_bound(n, 1.0) if hidden else memory_bound(n, requested, 1, LATENCY, threads, 1.0)
        right[hidden] += math.isclose(bound, in_sub_blocks(n, size, 1, LATENCY, threads, 1.0))
    paper = "Eq. 13 holds where T > L/(S_D C), and Eq. 14 where T is less"
    said = f"Eq. 11 is Eq. 13 in {right[True]} cases above, and Eq. 14 in {right[False]} others, of {len(CASES)}"
    return _decided("Sections III.1 and III.2", paper, said, sum(right.values()) == len(CASES))


def line_claim() -> Claim:
    """Figure 2, by Eq. 14."""
    slopes = [
        memory_bound(N, (N / size) ** 2, 1, LATENCY, threads, 1.0) / (N / size / threads)
        for n, size, threads in CASES if n == N
    ]
    paper = "where memory bounds it, time is linear in sqrt(B_r)/T"
    said = f"Eq. 14 over sqrt(B_r)/T varies by a factor of {max(slopes) / min(slopes):.4f} over {len(slopes)} cases"
    return _decided("Eq. 14, section IV.A", paper, said, math.isclose(max(slopes), min(slopes)))


def ends_claim() -> Claim:
    """Figure 3: three ends that one number of the card gives."""
    ends = {64: 8, 32: 16, 16: 32}
    found = {size: threads_needed(size, 1, LATENCY) for size in ends}
    paper = "sub-blocks of 64, 32 and 16 get flat at T = 8, 16 and 32: the product of S_D and T matters"
    said = f"with L/C = {LATENCY}, L/(S_D C) is {', '.join(f'{one:g}' for one in found.values())}"
    return _decided("Fig. 3, section IV.B", paper, said, found == ends)


def groups_claim() -> Claim:
    """Section V: the groups that Eq. 4 leaves."""
    fit = {arrays: LOCAL // (arrays * 32**2 * WORD) for arrays in (2, 3)}
    paper = "with S_D = 32, Eq. 4 gives B_a = 4 on a multiprocessor with 48 KB of shared memory"
    said = f"with two factors and the result in it {fit[3]} groups fit, with the factors alone {fit[2]}"
    return _decided("Section V, Eq. 4", paper, said, fit[3] == 4)


def prediction_claim() -> Claim:
    """Section V: the time that the model predicts."""
    seconds = SLOPE * math.sqrt(65536) / 4 + LEVEL
    paper = "for B_r = 65,536 and T = 4 the model predicts 105 s"
    said = f"Eq. 15 with the printed numbers gives {seconds:.0f} s"
    return _decided("Section V, Eq. 15", paper, said, None, slip=True)


def one_group_claim() -> Claim:
    """Section V: the altered run."""
    seconds = SLOPE * math.sqrt(65536) / 1 + LEVEL
    paper = "with B_a = 1 for 4 the run takes 108 s, in line with the prediction of 105 s"
    said = (
        f"with B_a = 1 and groups as large as before T is 1, and Eq. 15 gives {seconds:.0f} s; the paper does not "
        "mention larger groups"
    )
    return _decided("Section V, B_a = 1", paper, said, None)
