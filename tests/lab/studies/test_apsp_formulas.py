"""Formulas of the paper: the closed ones from Eq. 8, and Eq. 10 by going through the sub-blocks one by one."""

from __future__ import annotations

import math
from itertools import product

import pytest

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
