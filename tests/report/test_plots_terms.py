"""The picture of terms: what is stacked, what is put together, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import perfmodel as pm
from perfmodel.errors import OptionError
from perfmodel.predicting.model import Prediction
from perfmodel.predicting.ranking import RankedVariant
from perfmodel.report.plots import bars_of, plot_terms
from tests.report.drawn import check_legible, new_axes

ADDING = Prediction(4e-3, {"load": 3e-3, "add": 1.2e-3, "launch": 0.0, "both": -2e-4}, kernel="axpy", sizes={"n": 8})
OTHER = Prediction(1e-3, {"load": 5e-4, "mul": 5e-4})
OVERLAPPING = Prediction(1e-3, {"memory": 9e-4, "compute": 6e-4}, kernel="axpy")


def boxes(drawn):
    """Of each legend entry its bars: row, left end and width."""
    return {
        container.get_label(): [
            (round(bar.get_y() + bar.get_height() / 2, 6), round(bar.get_x(), 6), round(bar.get_width(), 6))
            for bar in container
        ]
        for container in drawn.containers
    }


def test_terms_are_stacked_by_their_share_the_largest_first():
    drawn = plot_terms({"one": ADDING, "other": OTHER}, new_axes())
    # Of 4 ms: 75 % load, 30 % add, -5 % both; of 1 ms: 50 % load and 50 % mul.
    assert {
        "load": [(0, 0, 75), (1, 0, 50)],
        "mul": [(0, 75, 0), (1, 50, 50)],
        "add": [(0, 75, 30), (1, 100, 0)],
        "both": [(0, -5, 5), (1, 100, 0)],
    } == boxes(drawn)
    assert ["one", "other"] == [label.get_text() for label in drawn.get_yticklabels()]
    assert {"75", "30", "50", "4 ms", "1 ms"} == {text.get_text() for text in drawn.texts}
    assert "share of the predicted time [%]" == drawn.get_xlabel()


def test_small_terms_are_put_together():
    drawn = plot_terms({"one": ADDING, "other": OTHER}, new_axes(), most=2)
    assert ["load", "mul", "2 others"] == list(boxes(drawn))
    assert (0, 75, 25) == boxes(drawn)["2 others"][0]  # 30 % less 5 %


def test_terms_that_overlap_stand_beside_each_other():
    drawn = plot_terms({"one": OVERLAPPING, "other": OTHER}, new_axes(), most=2)
    found = boxes(drawn)
    assert ["memory", "compute"] == list(found)
    assert [(0, 90), (0, 0)] == [(left, width) for _, left, width in found["memory"]]
    assert [60, 0] == [width for *_, width in found["compute"]]
    assert "term (terms overlap)" == drawn.get_legend().get_title().get_text()
    assert "2 smaller terms: not drawn" in {text.get_text() for text in drawn.get_legend().get_texts()}


def test_arrays_have_a_bar_for_each_size_and_ranked_variants_their_names():
    sizes = np.array([64, 128])
    several = Prediction(sizes * 1e-6, {"load": sizes * 1e-6}, kernel="axpy", sizes={"n": sizes})
    assert ["axpy n=64", "axpy n=128"] == [bar.label for bar in bars_of(several)]
    assert ["a n=64", "a n=128"] == [bar.label for bar in bars_of({"a": several})]
    ranked = [RankedVariant("tiled", 1e-3, terms={"load": 1e-3})]
    assert [("tiled", 1e-3, True)] == [(bar.label, bar.seconds, bar.adds_up) for bar in bars_of(ranked)]
    assert ["axpy"] == [bar.label for bar in bars_of([OVERLAPPING])]
    assert ["n=8"] == [bar.label for bar in bars_of(Prediction(1.0, {}, sizes={"n": 8}))]


@pytest.mark.parametrize(
    ("given", "said"), [({}, "no prediction"), ([], "no prediction"),
                        ({"bad": Prediction(-1e-3, {})}, "time of bad is -1 ms")],
)  # fmt: skip
def test_what_cannot_be_drawn(given, said):
    with pytest.raises(OptionError, match=said):
        plot_terms(given, new_axes())


@pytest.mark.parametrize("given", [{"one": ADDING, "other": OTHER}, OVERLAPPING, {"a" * 40: ADDING}])
def test_nothing_overlaps(given):
    check_legible(pm.plot.terms(given))


def test_a_variant_may_be_called_like_a_formula():
    names = [r"$\a{$", "b"]
    drawn = plot_terms([RankedVariant(name, 1.0, terms={"w": 1.0}) for name in names], new_axes())
    drawn.figure.canvas.draw()
    assert names == [label.get_text() for label in drawn.get_yticklabels()]
