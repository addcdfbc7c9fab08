"""Formulas of the paper: the closed ones from Eq. 8, and Eq. 10 by going through the sub-blocks one by one."""

from __future__ import annotations

import math
from itertools import product

import pytest

from scripts.lab.studies.apsp_formula_claims import formula_claims
from scripts.lab.studies.apsp_formulas import (
    cache_factor,
    calibrated,
    compute_bound,
    extended,
    hides_latency,
    in_groups,
    in_sub_blocks,
    memory_bound,
    threads_needed,
    transactions,
    work,
)
from scripts.lab.studies.claim import AGREES, SLIP, UNSHOWN

POINTS = [*product((256, 8192), (16, 32, 64), (1.0, 4.0, 16.0, 64.0))]
CHUNK, LATENCY, SCHEDULE = 32, 16384.0, 1.25


def chunks_read(n, size, chunk):
    """Chunks of the left factor that work-groups read in one squaring, each group by itself."""
    found = 0
    for row, _, step in product(range(n // size), repeat=3):
        cells = {(size * row + i) * n + size * step + k for i in range(size) for k in range(size)}
        found += len({cell // chunk for cell in cells})
    return found


@pytest.mark.parametrize(("n", "size", "chunk"), [(16, 4, 4), (16, 8, 4), (32, 8, 8), (32, 16, 8)])
def test_equation_10_counts_the_chunks_of_one_factor(n, size, chunk):
    assert chunks_read(n, size, chunk) * math.log2(n) == transactions(n, size, chunk)


@pytest.mark.parametrize(("n", "size", "threads"), POINTS)
def test_equations_11_to_14_are_equation_8(n, size, threads):
    of_8 = extended(n**3 * math.log2(n), transactions(n, size, CHUNK), LATENCY, threads, SCHEDULE)
    requested = (n / size) ** 2
    assert of_8 == pytest.approx(in_sub_blocks(n, size, CHUNK, LATENCY, threads, SCHEDULE))
    assert of_8 == pytest.approx(in_groups(n, requested, CHUNK, LATENCY, threads, SCHEDULE))
    hidden = hides_latency(work(n), transactions(n, size, CHUNK), LATENCY, threads)
    assert hidden == (threads >= threads_needed(size, CHUNK, LATENCY))
    bound = compute_bound(n, SCHEDULE) if hidden else memory_bound(n, requested, CHUNK, LATENCY, threads, SCHEDULE)
    assert of_8 == pytest.approx(bound)
    # Eq. 5 says the same where it says anything.
    assert (pytest.approx(of_8) == calibrated(work(n), 1.0, SCHEDULE, hidden)) == hidden


def test_the_printed_exponent_of_equation_12_is_n_times_too_much():
    asked = 8192, 65536, CHUNK, LATENCY, 4.0, 1.0
    assert 8192 == pytest.approx(in_groups(*asked, exponent=3) / memory_bound(*asked))


def test_latency_is_hidden_where_figure_3_gets_flat():
    assert (8, 16, 32) == tuple(threads_needed(size, CHUNK, LATENCY) for size in (64, 32, 16))


def test_the_cache_factor_lies_between_hits_and_misses():
    assert (1.0, 5.0, 9.0) == tuple(cache_factor(rate, 9.0) for rate in (1.0, 0.5, 0.0))
    assert 1.0 == cache_factor(0.0, 9.0, fits=True)
    assert math.isnan(calibrated(1.0, 1.0, 1.0, hidden=False))


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
