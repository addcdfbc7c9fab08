"""How a prediction shows itself, of one size and of arrays of sizes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from perfmodel.predicting.model import Prediction
from tests.predicting.test_model import KERNELS, MODEL
from tests.test_display import Cells

ONE = Prediction(
    1e-3, {"load": 7.5e-4, "<add>": 2.5e-4, "none": 0.0}, (5e-4, 2e-3), ("op_x",), ("far outside",), "axpy",
    {"n": 1024}, 0.8,
)  # fmt: skip
MANY = Prediction(
    np.array([1e-3, 4e-3]), {"load": np.array([1e-3, 1e-3]), "add": np.array([0.0, 3e-3])},
    (np.array([5e-4, 2e-3]), np.array([2e-3, 8e-3])), (), (), "axpy", {"n": np.array([256, 1024]), "m": 8},
)  # fmt: skip


def test_one_size_in_a_line():
    assert "<Prediction axpy n=1024: 1 ms (500 us to 2 ms at 80%)>" == repr(ONE)
    assert "<Prediction axpy at 2 sizes: 1 ms to 4 ms>" == repr(MANY)
    assert "<Prediction 2 s>" == repr(Prediction(2.0, {}))
    assert "<Prediction axpy at 0 sizes: >" == repr(Prediction(np.zeros(0), {}, kernel="axpy"))


def test_a_table_has_the_shares_largest_first():
    shown = Cells(ONE._repr_html_())
    assert "axpy n=1024: 1 ms (500 us to 2 ms at 80%)" == shown.caption
    assert [["term", "seconds", "share"], ["load", "750 us", "75.0 %"], ["<add>", "250 us", "25.0 %"]] == shown.rows
    assert ["far outside", "counted as free, never measured: op_x"] == shown.notes


def test_terms_that_overlap_are_said_to():
    assert ONE.adds_up
    assert MANY.adds_up
    overlapping = Prediction(1e-3, {"a": 9e-4, "b": 8e-4})
    assert not overlapping.adds_up
    assert ["the terms overlap: they do not add up to the time"] == Cells(overlapping._repr_html_()).notes


def test_arrays_have_a_row_for_each_size():
    shown = Cells(MANY._repr_html_())
    assert ["n", "m", "seconds", "interval", "largest term"] == shown.rows[0]
    assert ["256", "8", "1 ms", "500 us to 2 ms", "load"] == shown.rows[1]
    assert ["1024", "8", "4 ms", "2 ms to 8 ms", "add"] == shown.rows[2]


def test_frames():
    (row,) = ONE.to_frame().to_dict("records")
    assert {"n": 1024, "seconds": 1e-3, "low_s": 5e-4, "high_s": 2e-3, "term.load": 7.5e-4, "term.<add>": 2.5e-4,
            "term.none": 0.0} == row  # fmt: skip
    frame = MANY.to_frame()
    assert [256, 1024] == frame["n"].tolist()
    assert [8, 8] == frame["m"].tolist()
    assert [1e-3, 4e-3] == frame["seconds"].tolist()
    assert [2e-3, 8e-3] == frame["high_s"].tolist()
    bare = Prediction(2.0, {}).to_frame()
    assert ["seconds", "low_s", "high_s"] == list(bare.columns)
    assert math.isnan(bare["low_s"][0])


def test_sizes_are_broadcast_together():
    found = MODEL.predict(KERNELS["add"], n=np.array([[16], [64]]))
    assert (2, 1) == found.seconds.shape
    for one in found.at_each_size():
        again = MODEL.predict(KERNELS["add"], one.sizes)
        assert pytest.approx(again.seconds, rel=1e-12) == one.seconds
        assert pytest.approx(sum(one.terms.values()), rel=1e-9) == one.seconds
    assert [16, 64] == found.to_frame()["n"].tolist()


def test_a_model_says_of_which_kernel_at_which_sizes_and_level():
    found = MODEL.predict(KERNELS["tile"], n=100, level=0.5)
    assert (KERNELS["tile"].name, {"n": 100}, 0.5) == (found.kernel, found.sizes, found.level)
    assert [found] == list(found.at_each_size())
