"""Predicted beside measured times, case by case."""

from __future__ import annotations

import pytest

from perfmodel.compare import compare
from perfmodel.errors import StoreError
from perfmodel.predicting.model import fit
from tests.compare.test_protocols import MEASURED
from tests.fitting.test_family_fits_weights import KERNELS, SIZES
from tests.standins import Rows


def test_a_saved_model_is_compared_case_by_case():
    model = fit(Rows(tuple(r for r in MEASURED.rows if r.kernel != "add"), KERNELS))
    rows = compare(model, MEASURED)
    assert [0.0] * 4 == [round(row.relative_error or 0, 6) for row in rows if row.kernel == "load"]
    added = [row for row in rows if row.kernel == "add"]
    assert [f"n={n}" for n in SIZES] == [row.sizes for row in added]
    assert {("op_float32_add",)} == {row.needs for row in added}


def test_a_case_without_counts_is_named():
    model = fit(Rows(MEASURED.rows, KERNELS))
    with pytest.raises(StoreError, match="the counts of 'load n="):
        compare(model, Rows(MEASURED.rows, {name: one for name, one in KERNELS.items() if name != "load"}))
