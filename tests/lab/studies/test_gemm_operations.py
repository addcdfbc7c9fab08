"""Claims about the matrix product's operations, with the counts of a kernel."""

from __future__ import annotations

from functools import cache

import pytest

from scripts.lab.studies.gemm_operations import operation_claims
from scripts.lab.studies.gemm_points import gemm_points, library_point
from tests.lab.studies.products import VARIANTS, products


@cache
def claims(variant):
    one = library_point(gemm_points(products(lambda *_: 1.0, (variant,))))
    return operation_claims(one)


@pytest.mark.parametrize("variant", VARIANTS[2:])
def test_all_but_shared_memory_are_counted_as_printed(variant):
    counted, shared, conflicts, bandwidth, _ = claims(variant)
    assert counted.agrees
    assert shared.agrees is False
    assert (variant[2] == (16, 16)) == conflicts.agrees  # two rows of 8 in a sub-group of 16 share banks
    assert ("a_tile 1.00, b_tile 1.00" in conflicts.found) == conflicts.agrees
    assert bandwidth.agrees


def test_shared_accesses_in_words():
    """N_TB = 48 and 16 x 16 work-items: 3 x 3 elements, 2/3 reads a product; A_s has 4/48."""
    found = claims((48, 16, (16, 16)))[1].found
    work = 384 * 384 * 256
    written, read = 2 * work / 48, 2 * work / 3
    assert f"3 x 3 elements, and reads a number of a for 3 products and one of b for 3: {read:.4g}" in found
    assert f"{written + read:.4g} accesses for {2 * written:.4g}, {0.5 + 8:.1f} times" in found
