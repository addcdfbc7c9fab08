"""Transactions with global memory, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.quantities.case import Case
from perfmodel.quantities.traffic import global_accesses, row_transactions, subgroup_transactions
from tests.models.test_threaded_manycore import GTX480, counted


@pytest.mark.parametrize(
    ("index", "width", "each"),
    [
        ("i", 64, 1 / 32),
        ("0*i", 64, 1 / 32),
        ("2*i", 64, 2 / 32),
        ("100*i", 64, 1),
        ("i", 8, 1 / 8),  # shorter rows of work-items, each a chunk of its own
        ("i", 1, 1),
        ("where[i]", 64, 1 + 1 / 32),
    ],
)
def test_row_transactions(index, width, each):
    found = row_transactions(Case(counted(index, width), {"n": 1024}, GTX480, ""))
    assert 1024 * (each + 1 / min(width, 32)) == pytest.approx(found)  # and the store


def test_global_accesses_of_a_strided_load_and_a_store():
    amounts, apart, sizes = global_accesses(Case(counted("2*i"), {"n": 1024}, GTX480, ""))
    assert sorted([(1024, 2), (1024, 1)]) == sorted(zip(amounts.tolist(), apart.tolist(), strict=True))
    assert {4.0} == set(sizes.tolist())


@pytest.mark.parametrize(
    ("stride", "size", "transactions"),
    [(0, 4, 1), (1, 4, 1), (1, 8, 2), (4, 4, 4), (16, 4, 16), (64, 4, 32), (np.inf, 4, 32)],
)
def test_transactions_of_a_sub_group(stride, size, transactions):
    """Section 3.2 of Wang and Lou: size * 32 lanes * stride over 128 bytes, between 1 and 32."""
    case = Case(counted(), {"n": 64}, GTX480, "")
    assert 128 == GTX480.value("global_transaction_bytes")
    assert transactions == subgroup_transactions(case, np.array([float(stride)]), np.array([float(size)]))[0]
