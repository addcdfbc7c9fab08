"""Predicted beside measured times, case by case, and their table."""

from dataclasses import replace

import pytest

from perfmodel.compare import Comparison, compare
from perfmodel.compare.comparison import error_table, unranked_note
from perfmodel.errors import StoreError
from perfmodel.predicting.model import fit
from perfmodel.report.evaluation import weights_table
from tests.compare.test_protocols import MEASURED
from tests.fitting.test_weights_file import KERNELS, SIZES
from tests.standins import Rows


def test_a_saved_model_is_compared_case_by_case_and_a_case_without_counts_is_named():
    model = fit(Rows(tuple(r for r in MEASURED.rows if r.kernel != "add"), KERNELS))
    rows = compare(model, MEASURED)
    assert [0.0] * 4 == [round(row.relative_error or 0, 6) for row in rows if row.kernel == "load"]
    added = [row for row in rows if row.kernel == "add"]
    assert [f"n={n}" for n in SIZES] == [row.sizes for row in added]
    assert {("op_float32_add",)} == {row.needs for row in added}
    model = fit(Rows(MEASURED.rows, KERNELS))
    with pytest.raises(StoreError, match="the counts of 'load n="):
        compare(model, Rows(MEASURED.rows, {name: one for name, one in KERNELS.items() if name != "load"}))


ROWS = (
    Comparison("stencil", {"n": 1024}, 1e-3, 1.2e-3),  # 20 %
    Comparison("stencil", {"n": 2048}, 4e-3, 3.8e-3),  # 5 %
    Comparison("matmul", {"n": 512}, 2e-3, 2e-3),  # 0 %, counts as 0.1 %
    Comparison("matmul", {"n": 1024}, 16e-3, None, ("op_float32_mul",)),
)


def test_the_table_shows_each_case_and_the_means():
    expected = """\
kernel   sizes           measured  predicted   error
stencil  n=1024              1 ms     1.2 ms  20.0 %
stencil  n=2048              4 ms     3.8 ms   5.0 %
stencil  geometric mean                       10.0 %
matmul   n=512               2 ms       2 ms   0.0 %
matmul   n=1024             16 ms   withheld       -
matmul   geometric mean                        0.1 %
all      geometric mean                        2.2 %
1 of 4 predictions withheld; never measured: op_float32_mul"""
    assert expected == error_table(ROWS)


def test_weights_have_units():
    expected = """\
feature            weight         unit
launches        1.500e-05     s/launch
op_float32_add  2.000e-12  s/operation"""
    assert expected == weights_table(
        {"launches": 1.5e-5, "op_float32_add": 2e-12},
        {"launches": "s/launch", "op_float32_add": "s/operation"},
    )


def test_cases_that_are_not_ranked_are_named_once():
    few = Comparison("nbody", {"n": 512}, 1.0, 1.1, variant={"unroll": 1}, ranked=False)
    rows = (few, replace(few, variant={"unroll": 8}), Comparison("nbody", {"n": 2048}, 1.0, 1.1))
    (note,) = unranked_note(rows)
    assert note.endswith("too few work-groups for each compute unit: nbody n=512")
    assert () == unranked_note(rows[2:])
