"""Pictures on axes of the caller: what is drawn, what is legible, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest

import perfmodel as pm
from perfmodel.compare import Evaluation
from perfmodel.errors import OptionError
from perfmodel.fitting.device_folder import measured_folder
from perfmodel.plot import bars_of
from perfmodel.predicting.prediction import Prediction
from perfmodel.predicting.ranking import RankedVariant
from tests.compare.test_comparison import ROWS
from tests.compare.test_contenders import contenders
from tests.fitting.test_throughput_roofs import facts
from tests.recorded import POCL
from tests.report.drawn import check_legible, labels, new_axes
from tests.report.test_pictures import POINTS, ROOFS


def test_predicted_against_measured_times_on_given_axes():
    given = new_axes()
    assert given is pm.plot.predicted_vs_measured(Evaluation("A", "toy", "device", None, ROWS), given, title="a title")
    assert ("log", "log", "a title") == (given.get_xscale(), given.get_yscale(), given.get_title())
    expected = ["predicted = measured", "factor of 2", "stencil (10 %)", "matmul (0 %), 1 not drawn"]
    assert expected == labels(given)
    many = [replace(row, kernel=f"kernel_{place}") for place in range(12) for row in ROWS]
    check_legible(pm.plot.predicted_vs_measured(many, title="a title"))


def test_the_roofline_has_roofs_with_their_values_in_the_legend():
    drawn = pm.plot.roofline(POINTS, new_axes(), facts=facts(**ROOFS), title="toy")
    assert ("log", "log", "toy") == (drawn.get_xscale(), drawn.get_yscale(), drawn.get_title())
    assert {"float32 peak: 4 Top/s", "product", "move (no operations)", "attainable rate"} <= {*labels(drawn)}
    assert "float32 peak: 4 Top/s" in labels(pm.plot.roofline((), new_axes(), facts=facts(**ROOFS)))
    with pytest.raises(OptionError, match="no roof is known, and no kernel has operations"):
        pm.plot.roofline((), new_axes())


@pytest.mark.nightly
def test_the_roofline_of_measurements_is_legible():
    _, tests = measured_folder(POCL)
    check_legible(pm.plot.roofline(tests, title=tests.device))


def test_the_map_of_families():
    found, given = contenders(), new_axes()
    assert given is pm.plot.families(found, given, protocol="A", title="mine")
    assert ("mine", (2, 4)) == (given.get_title(), given.images[0].get_array().shape)
    assert ["adding", "copying", "other", "all"] == [label.get_text() for label in given.get_xticklabels()]
    bold = {text.get_position()[1] for text in given.texts if text.get_fontweight() == "bold"}
    assert {0} == bold  # the exact family, of every kernel
    assert f"error, {found[0].device}, protocol B" == pm.plot.families(found, new_axes()).get_title()
    check_legible(pm.plot.families(found))


@pytest.mark.parametrize(("found", "protocol", "message"), [
    (lambda: contenders()[2:], "A", "no family that was fitted"),
    (lambda: (*contenders(), replace(contenders()[0], device="other")), "A", "families of 2 devices"),
    (contenders, "C", "by protocol 'C'; choose one of A, B"),
])  # fmt: skip
def test_families_that_cannot_be_drawn(found, protocol, message):
    with pytest.raises(OptionError, match=message):
        pm.plot.families(found(), new_axes(), protocol=protocol)


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
    drawn = pm.plot.terms({"one": ADDING, "other": OTHER}, new_axes())
    # Of 4 ms: 75 % load, 30 % add, -5 % both; of 1 ms: 50 % load and 50 % mul.
    assert {
        "load": [(0, 0, 75), (1, 0, 50)], "mul": [(0, 75, 0), (1, 50, 50)], "add": [(0, 75, 30), (1, 100, 0)],
        "both": [(0, -5, 5), (1, 100, 0)],
    } == boxes(drawn)  # fmt: skip
    assert ["one", "other"] == [label.get_text() for label in drawn.get_yticklabels()]
    assert {"75", "30", "50", "4 ms", "1 ms"} == {text.get_text() for text in drawn.texts}
    assert "share of the predicted time [%]" == drawn.get_xlabel()


def test_small_terms_are_summed():
    drawn = pm.plot.terms({"one": ADDING, "other": OTHER}, new_axes(), most=2)
    assert ["load", "mul", "2 others"] == list(boxes(drawn))
    assert (0, 75, 25) == boxes(drawn)["2 others"][0]  # 30 % less 5 %


def test_terms_that_overlap_are_separate_bars():
    drawn = pm.plot.terms({"one": OVERLAPPING, "other": OTHER}, new_axes(), most=2)
    found = boxes(drawn)
    assert ["memory", "compute"] == list(found)
    assert [(0, 90), (0, 0)] == [(left, width) for _, left, width in found["memory"]]
    assert [60, 0] == [width for *_, width in found["compute"]]
    assert "term (terms overlap)" == drawn.get_legend().get_title().get_text()
    assert "2 smaller terms: not drawn" in {text.get_text() for text in drawn.get_legend().get_texts()}


def test_arrays_have_a_bar_for_each_size_and_ranked_variants_their_names():
    sizes = np.array([64, 128])
    several = Prediction(sizes * 1e-6, {"load": sizes * 1e-6}, kernel="axpy", sizes={"n": sizes})
    assert ["axpy n=64", "axpy n=128"] == [label for label, _ in bars_of(several)]
    assert ["a n=64", "a n=128"] == [label for label, _ in bars_of({"a": several})]
    ranked = [RankedVariant("tiled", 1e-3, terms={"load": 1e-3})]
    assert [("tiled", 1e-3, True)] == [(label, at.seconds, at.adds_up) for label, at in bars_of(ranked)]
    assert ["axpy"] == [label for label, _ in bars_of([OVERLAPPING])]
    assert ["n=8"] == [label for label, _ in bars_of(Prediction(1.0, {}, sizes={"n": 8}))]


@pytest.mark.parametrize(
    ("given", "message"), [({}, "no prediction was given"), ([], "no prediction was given"),
                        ({"bad": Prediction(-1e-3, {})}, "time of bad is -1 ms")],
)  # fmt: skip
def test_terms_that_cannot_be_drawn(given, message):
    with pytest.raises(OptionError, match=message):
        pm.plot.terms(given, new_axes())


@pytest.mark.parametrize("given", [{"one": ADDING, "other": OTHER}, OVERLAPPING, {"a" * 40: ADDING}])
def test_bars_are_legible(given):
    check_legible(pm.plot.terms(given))


def test_a_variant_may_be_called_like_a_formula():
    names = [r"$\a{$", "b"]
    drawn = pm.plot.terms([RankedVariant(name, 1.0, terms={"w": 1.0}) for name in names], new_axes())
    drawn.figure.canvas.draw()
    assert names == [label.get_text() for label in drawn.get_yticklabels()]


def test_bars_are_drawn_where_the_picture_has_them() -> None:
    from perfmodel.report.drawing import Axis, Picture, Series, draw, empty_figure

    bars = Series("bars", [3.0, 5.0], [0, 1], bars=True, starts=[1.0, 2.0])
    axes = draw(empty_figure(4, 3).subplots(), Picture(Axis("x", log=False), Axis("y", log=False), (bars,)))
    assert [(1.0, 2.0), (2.0, 3.0)] == [(bar.get_x(), bar.get_width()) for bar in axes.patches]
