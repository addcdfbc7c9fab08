"""How a prediction shows itself, of one size and of arrays of sizes."""

import math
from dataclasses import replace

import numpy as np
import pytest

from perfmodel.errors import ArgumentError, OptionError
from perfmodel.predicting.prediction import Prediction
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


LAUNCHED = replace(MODEL, fitted=MODEL.fitted.model_copy(update={"launch_s": 2e-5}))


def test_the_host_adds_a_launch_to_the_time_of_the_device():
    device = MODEL.predict(KERNELS["tile"], n=100)  # of weights that know no launch apart
    host = LAUNCHED.predict(KERNELS["tile"], n=100)
    assert ("host", "host") == (device.clock, host.clock)
    assert pytest.approx(device.seconds + 2e-5, rel=1e-12) == host.seconds
    assert {**device.terms, "host_launch": 2e-5} == host.terms
    again = LAUNCHED.by_clock("device").predict(KERNELS["tile"], n=100)
    assert ("device", device.terms) == (again.clock, again.terms)
    assert pytest.approx(device.seconds, rel=1e-12) == again.seconds == host.by_device().seconds
    assert again.by_device() is again


def test_bounds_by_the_device_are_less_by_the_launch_and_not_below_zero():
    one = Prediction(5e-4, {"a": 2e-4, "host_launch": 3e-4}, (4e-4, 6e-4)).by_device()
    assert (pytest.approx(2e-4), pytest.approx((1e-4, 3e-4))) == (one.seconds, one.interval)
    launch, low, high = np.full(2, 3e-4), np.array([1e-4, 8e-4]), np.array([4e-4, 1.2e-3])
    many = Prediction(np.array([2e-4, 1e-3]), {"host_launch": launch}, (low, high)).by_device()
    assert [0.0, pytest.approx(5e-4)] == many.interval[0].tolist()
    assert pytest.approx([1e-4, 9e-4]) == many.interval[1].tolist()


def test_weights_of_the_host_tell_no_times_of_the_device():
    assert "times by the host's clock" == MODEL.clock_text
    assert "times by the host's clock, with the launch" == LAUNCHED.clock_text
    assert "times by the device's clock" == LAUNCHED.by_clock("device").clock_text
    for asked in (lambda: MODEL.by_clock("device"), MODEL.predict(KERNELS["add"], n=16).by_device):
        with pytest.raises(OptionError, match="fit them again"):
            asked()
    with pytest.raises(ArgumentError, match="host or device"):
        MODEL.by_clock("wall")
