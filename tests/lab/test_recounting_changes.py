"""What differs between two counts of a kernel: values as functions, and parts of the JSON."""

from __future__ import annotations

from dataclasses import replace

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.counts.quasipoly.count import Count
from scripts.lab.recounting import Change, changes, parts


@pytest.fixture(scope="module")
def counts():
    t_unit = lp.make_kernel(
        "{ [i]: 0 <= i < n }", "out[i] = 2*a[2*i]",
        [lp.GlobalArg("out", np.float32, "n"), lp.GlobalArg("a", np.float32, "2*n"), ...],
        assumptions="n >= 1", lang_version=(2018, 2), name="scale",
    )
    return count(t_unit)


def with_operation(counts, text, exact=True):
    (row,) = counts.operation_table
    other = Count.from_text(text, "[n] -> { : n >= 1 }", exact)
    return replace(counts, operation_table=(replace(row, count=other),))


def test_a_changed_value_is_named_with_both_formulas(counts):
    new = with_operation(counts, "[n] -> { 3n }")
    assert (Change("operation_table", "float32 mul", "count", "n", "3*n"),) == changes(counts, new)
    assert ("operation_table",) == parts(counts, new)


def test_another_text_of_the_same_function_is_no_change(counts):
    """n is n on n <= 5 and n on n > 5: other JSON, equal values."""
    new = with_operation(counts, "[n] -> { n : n <= 5; n : n > 5 }")
    assert () == changes(counts, new)
    assert ("operation_table",) == parts(counts, new)


def test_rows_that_come_and_go_are_changes(counts):
    gone = replace(counts, operation_table=())
    assert (Change("operation_table", "float32 mul", "count", "n", "none"),) == changes(counts, gone)
    assert (Change("operation_table", "float32 mul", "count", "none", "n"),) == changes(gone, counts)


def test_footprints_are_compared(counts):
    """a[2*i] touches n cells."""
    load, store = counts.access_table
    new = replace(counts, access_table=(replace(load, footprint=2 * load.footprint), store))
    row = "global load a float32 32 lane stride 0"
    assert (Change("access_table", row, "footprint", "n", "2*n"),) == changes(counts, new)
