"""The picture of time against size: curves, bands, crossovers, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import perfmodel as pm
from perfmodel.errors import OptionError
from perfmodel.predicting.crossovers import Lead
from perfmodel.predicting.model import Prediction
from perfmodel.report.sizes_picture import BANDS, plot_sizes, size_text
from tests.report.drawn import check_legible, labels, new_axes

N = np.array([64, 1024, 256, 128, 512])  # in no order
LINEAR = Prediction(1e-6 * N, {}, (5e-7 * N, 2e-6 * N), kernel="k", sizes={"n": N, "m": 7})
FLAT = Prediction(np.full(5, 2e-4), {}, None, kernel="k", sizes={"n": N, "m": 7})
ONE = Prediction(1.0, {}, kernel="k", sizes={"n": 8})


def curves(drawn):
    return {line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in drawn.lines}


def test_times_over_rising_sizes():
    drawn = plot_sizes(LINEAR, new_axes())
    (curve,) = drawn.lines
    assert [64, 128, 256, 512, 1024] == curve.get_xdata().tolist()
    assert [64e-6, 128e-6, 256e-6, 512e-6, 1024e-6] == pytest.approx(curve.get_ydata().tolist())
    assert ("log", "log", "size n", "predicted time [s]") == (
        drawn.get_xscale(), drawn.get_yscale(), drawn.get_xlabel(), drawn.get_ylabel()
    )  # fmt: skip
    assert "m=7" == drawn.get_title()
    assert ["k"] == labels(drawn)


def test_the_interval_is_a_band():
    (band,) = plot_sizes(LINEAR, new_axes()).collections
    assert (64 * 5e-7, 1024 * 2e-6) == pytest.approx((band.get_paths()[0].vertices[:, 1].min(),
                                                      band.get_paths()[0].vertices[:, 1].max()))  # fmt: skip
    many = {str(place): LINEAR for place in range(BANDS + 1)}
    assert not plot_sizes(many, new_axes()).collections  # they would hide each other
    endless = Prediction(LINEAR.seconds, {}, (np.zeros(5), np.full(5, np.inf)), kernel="k", sizes={"n": N})
    assert not plot_sizes(endless, new_axes()).collections


def test_crossovers_are_marked_where_another_begins_to_lead():
    """n microseconds are below 200 up to n = 128, and above from n = 256 on."""
    drawn = plot_sizes({"linear": LINEAR, "flat": FLAT}, new_axes())
    assert ["linear", "flat", "from n=256: flat is the fastest"] == labels(drawn)
    assert [256, 256] == curves(drawn)["from n=256: flat is the fastest"][0]
    colours = {line.get_label(): line.get_color() for line in drawn.lines}
    assert colours["flat"] == colours["from n=256: flat is the fastest"] != colours["linear"]
    assert ["a", "b"] == labels(plot_sizes({"a": LINEAR, "b": LINEAR}, new_axes()))  # equal: the first one leads


def test_crossovers_are_at_sizes_that_all_have():
    few = Prediction(np.array([3e-4, 3e-4]), {}, sizes={"n": np.array([512, 4096])})
    assert "from n=512: few is the fastest" not in labels(plot_sizes({"few": few, "linear": LINEAR}, new_axes()))
    apart = Prediction(np.array([3e-4, 3e-4]), {}, sizes={"n": np.array([5, 7])})
    assert ["apart", "linear"] == labels(plot_sizes({"apart": apart, "linear": LINEAR}, new_axes()))


def test_crossovers_that_are_known_exactly_are_marked_there():
    exact = (Lead("linear", 64, 200), Lead("flat", 201, 1024))
    drawn = plot_sizes({"linear": LINEAR, "flat": FLAT}, new_axes(), leads=exact)
    assert ["linear", "flat", "from n=201: flat is the fastest"] == labels(drawn)
    assert ["linear", "flat"] == labels(plot_sizes({"linear": LINEAR, "flat": FLAT}, new_axes(), leads=exact[:1]))


@pytest.mark.parametrize(("size", "text"), [(16, "16"), (1024, "1Ki"), (1536, "1536"), (2**21, "2Mi"), (2**30, "1Gi")])
def test_ticks_are_sizes_as_they_are_given(size, text):
    assert text == size_text(size)


def test_measured_times_are_markers():
    drawn = plot_sizes({"linear": LINEAR}, new_axes(), measured={"linear": ([64, 128], [6e-5, 1e-4])})
    assert ([64, 128], [6e-5, 1e-4]) == curves(drawn)["linear, measured"]
    assert "time [s]" == drawn.get_ylabel()
    drawn = plot_sizes(Prediction(LINEAR.seconds, {}, sizes={"n": N}), new_axes(), measured={"": ([64], [6e-5])})
    assert ["predicted", "measured"] == labels(drawn)


def test_a_narrow_range_has_linear_axes():
    sizes = np.array([100, 200])
    drawn = plot_sizes(Prediction(1e-6 * sizes, {}, sizes={"n": sizes}), new_axes(), parameter="n", title="mine")
    assert ("linear", "linear", "mine") == (drawn.get_xscale(), drawn.get_yscale(), drawn.get_title())


@pytest.mark.parametrize(
    ("given", "parameter", "said"),
    [
        (ONE, "", "the prediction of 'k' is of one size only; predict at an array of sizes"),
        ({"linear": LINEAR, "one": ONE}, "", "the prediction of 'one' is of one size only"),
        ({}, "", "there is no prediction to draw"),
        (LINEAR, "q", r"no prediction has a size 'q' \(there are: m, n\)"),
        (LINEAR, "m", "the sizes that vary are: n; let only one vary"),
        (Prediction(1.0 * N, {}, sizes={"n": N, "m": N}), "", "the sizes that vary are: m, n"),
        (Prediction(-1.0 * N, {}, kernel="k", sizes={"n": N}), "", "no predicted time of 'k' is above zero"),
    ],
)
def test_what_cannot_be_drawn(given, parameter, said):
    with pytest.raises(OptionError, match=said):
        plot_sizes(given, new_axes(), parameter=parameter)


def test_nothing_overlaps():
    check_legible(pm.plot.sizes({"a rather long name of a variant": LINEAR, "flat": FLAT}))
