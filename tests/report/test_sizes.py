"""The picture of time against size: curves, bands, crossovers, and what is refused."""

import numpy as np
import pytest

import perfmodel as pm
from perfmodel.errors import OptionError
from perfmodel.predicting.crossovers import Lead, leads_at
from perfmodel.predicting.prediction import Prediction
from perfmodel.predicting.ranking import RankedVariant, Ranking
from perfmodel.report.sizes import MOST_BANDS, Panel, combinations, panels_of, sweep_figure, varying
from tests.report.drawn import check_legible, labels, new_axes

N = np.array([64, 1024, 256, 128, 512])  # in no order
LINEAR = Prediction(1e-6 * N, {}, (5e-7 * N, 2e-6 * N), kernel="k", sizes={"n": N, "m": 7})
FLAT = Prediction(np.full(5, 2e-4), {}, None, kernel="k", sizes={"n": N, "m": 7})
ONE = Prediction(1.0, {}, kernel="k", sizes={"n": 8})


def curves(drawn):
    return {line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in drawn.lines}


def test_times_over_rising_sizes_with_the_interval_as_a_band():
    drawn = pm.plot.sizes(LINEAR, new_axes())
    (curve,) = drawn.lines
    assert [64, 128, 256, 512, 1024] == curve.get_xdata().tolist()
    assert [64e-6, 128e-6, 256e-6, 512e-6, 1024e-6] == pytest.approx(curve.get_ydata().tolist())
    assert ("log", "log", "size n", "predicted time") == (
        drawn.get_xscale(), drawn.get_yscale(), drawn.get_xlabel(), drawn.get_ylabel()
    )  # fmt: skip
    assert "m=7" == drawn.get_title()
    assert ["k"] == labels(drawn)
    (band,) = pm.plot.sizes(LINEAR, new_axes()).collections
    assert (64 * 5e-7, 1024 * 2e-6) == pytest.approx((band.get_paths()[0].vertices[:, 1].min(),
                                                      band.get_paths()[0].vertices[:, 1].max()))  # fmt: skip
    many = {str(place): LINEAR for place in range(MOST_BANDS + 1)}
    assert not pm.plot.sizes(many, new_axes()).collections  # they would hide each other
    endless = Prediction(LINEAR.seconds, {}, (np.zeros(5), np.full(5, np.inf)), kernel="k", sizes={"n": N})
    assert not pm.plot.sizes(endless, new_axes()).collections


def marked(drawn):
    """Return the sizes of the dotted lines with their colours, and the texts at them."""
    vertical = [line for line in drawn.lines if line.get_linestyle() == ":"]
    return {line.get_xdata()[0]: line.get_color() for line in vertical}, [text.get_text() for text in drawn.texts]


def test_crossovers_are_marked_where_another_variant_becomes_the_fastest():
    """n microseconds are below 200 up to n = 128, and above from n = 256 on."""
    both = {"linear": LINEAR, "flat": FLAT}
    drawn = pm.plot.sizes(both, new_axes())
    colours = {line.get_label(): line.get_color() for line in drawn.lines}
    assert ({256: colours["flat"]}, ["from 256: flat"]) == marked(drawn)
    assert ({}, []) == marked(pm.plot.sizes({"a": LINEAR, "b": LINEAR}, new_axes()))  # equal: the first one leads
    exact = (Lead("linear", 64, 200), Lead("flat", 201, 1024))
    assert ["from 201: flat"] == marked(pm.plot.sizes(both, new_axes(), leads=exact))[1]
    for sizes in ([512, 4096], [5, 7]):  # one common size, or none
        few = Prediction(np.array([3e-4, 3e-4]), {}, sizes={"n": np.array(sizes)})
        assert [] == marked(pm.plot.sizes({"few": few, "linear": LINEAR}, new_axes()))[1]


def test_measured_times_are_markers_and_a_narrow_range_has_linear_axes():
    drawn = pm.plot.sizes({"linear": LINEAR}, new_axes(), measured={"linear": ([64, 128], [6e-5, 1e-4])})
    assert ([64, 128], [6e-5, 1e-4]) == curves(drawn)["linear, measured"]
    assert "time" == drawn.get_ylabel()
    drawn = pm.plot.sizes(Prediction(LINEAR.seconds, {}, sizes={"n": N}), new_axes(), measured={"": ([64], [6e-5])})
    assert ["predicted", "measured"] == labels(drawn)
    sizes = np.array([100, 200])
    drawn = pm.plot.sizes(Prediction(1e-6 * sizes, {}, sizes={"n": sizes}), new_axes(), parameter="n", title="mine")
    assert ("linear", "linear", "mine") == (drawn.get_xscale(), drawn.get_yscale(), drawn.get_title())


@pytest.mark.parametrize(("given", "parameter", "message"), [
    (ONE, "", "the prediction of 'k' is of one size only; predict at an array of sizes"),
    ({"linear": LINEAR, "one": ONE}, "", "the prediction of 'one' is of one size only"),
    ({}, "", "no prediction was given"), (LINEAR, "q", r"no prediction has a size 'q' \(there are: m, n\)"),
    (LINEAR, "m", "the sizes that vary are: n; vary only one"),
    (Prediction(1.0 * N, {}, sizes={"n": N, "m": N}), "", "the sizes that vary are: m, n"),
    (Prediction(-1.0 * N, {}, kernel="k", sizes={"n": N}), "", "no predicted time of 'k' is above zero"),
])  # fmt: skip
def test_what_cannot_be_drawn(given, parameter, message):
    with pytest.raises(OptionError, match=message):
        pm.plot.sizes(given, new_axes(), parameter=parameter)


def test_sizes_are_legible():
    check_legible(pm.plot.sizes({"a rather long name of a variant": LINEAR, "flat": FLAT}))


def point(n: int, **seconds: float) -> Ranking:
    variants = [RankedVariant(name, value, (value / 2, value * 2)) for name, value in seconds.items()]
    return Ranking(sorted(variants, key=lambda one: one.seconds), sizes={"n": n, "m": 1})


POINTS = (point(16, a=1e-6, b=4e-6), point(64, a=4e-6, b=4.5e-6), point(256, a=2e-5, b=5e-6))
LEADS = (Lead("a", 16, 70), Lead("b", 71, 256))


def test_a_line_for_each_variant_and_a_mark_for_each_crossover():
    (axes,) = sweep_figure([Panel("n", POINTS, LEADS)], "bottleneck on it").axes
    lines = {line.get_label(): line.get_xydata() for line in axes.get_lines()}
    np.testing.assert_allclose(lines["a"], [(16, 1e-6), (64, 4e-6), (256, 2e-5)])
    np.testing.assert_allclose(lines["b"], [(16, 4e-6), (64, 4.5e-6), (256, 5e-6)])
    (mark,) = (line for line in axes.get_lines() if line.get_label() not in ("a", "b"))
    assert [71, 71] == list(mark.get_xdata())
    assert mark.get_color() == next(line.get_color() for line in axes.get_lines() if line.get_label() == "b")
    assert ["from 71: b"] == [text.get_text() for text in axes.texts]
    assert ("log", "log", "size n") == (axes.get_xscale(), axes.get_yscale(), axes.get_xlabel())
    assert 2 == len(axes.collections)  # an interval for each


def test_a_variant_keeps_its_colour_over_panels():
    panels = [Panel("n", POINTS, title="m=1"), Panel("n", (point(16, b=1e-6),), title="m=2")]
    first, second = sweep_figure(panels, "").axes
    colours = [{line.get_label(): line.get_color() for line in axes.get_lines()} for axes in (first, second)]
    assert colours[0]["b"] == colours[1]["b"]
    assert ["m=1", "m=2"] == [axes.get_title() for axes in (first, second)]


def test_a_panel_for_each_combination_of_the_other_sizes():
    grid = [{"n": n, "m": m} for n in (1, 2, 3) for m in (5, 4)]
    assert [[1, 3, 5], [0, 2, 4]] == combinations(grid)
    assert [[0, 1]] == combinations([{"n": 1, "m": 1}, {"n": 2, "m": 2}])  # in pairs
    rankings = [Ranking([RankedVariant("a", 1.0)], sizes=sizes) for sizes in reversed(grid)]
    first, second = panels_of(rankings, lambda here, across: (Lead(across, len(here), 0),))
    assert ("n", "m=4", "m=5") == (first.name, first.title, second.title)
    assert [1, 2, 3] == [ranking.sizes["n"] for ranking in first.points]
    assert (Lead("n", 3, 0),) == first.leads
    (pairs,) = panels_of(POINTS, leads_at)
    assert ((Lead("a", 16, 64), Lead("b", 256, 256)), "m=1") == (pairs.leads, pairs.title)
    assert ("m", "n") == varying([{"n": 1, "m": 1, "k": 3}, {"n": 1, "m": 2, "k": 3}, {"n": 2, "m": 3, "k": 3}])
    assert () == varying([{"n": 1}])


def test_variants_that_alternate_do_not_cover_the_picture_with_lines():
    """Of more changes than a picture can hold it says the number; words beside near lines are left out."""
    rankings = (point(16, a=1e-6, b=1e-6), point(4096, a=1e-4, b=1e-4))

    def drawn(*lows: int):
        leads = tuple(Lead("ab"[place % 2], low, low) for place, low in enumerate((16, *lows)))
        (axes,) = sweep_figure([Panel("n", rankings, leads)], "").axes
        vertical = [line for line in axes.lines if len({*line.get_xdata()}) == 1]
        check_legible(axes)
        return len(vertical), [text.get_text() for text in axes.texts], axes.get_title()

    lines, _, title = drawn(*range(32, 4000, 100))
    assert (0, "the fastest variant changes at 40 sizes, since variants tie") == (lines, title)
    lines, texts, _ = drawn(100, 101, 2000)
    assert (3, ["from 100: b", "from 2000: b"]) == (lines, texts)
