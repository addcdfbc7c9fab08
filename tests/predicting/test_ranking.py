"""Rankings, against times worked out by hand."""

import pytest

from perfmodel.errors import AssumptionError, OptionError, UnmeasuredFeatureError
from perfmodel.fitting.anchored import Anchored
from perfmodel.fitting.conformal import Conformal
from perfmodel.fitting.selection import Scatter
from perfmodel.predicting.model import FittedModel
from perfmodel.predicting.predictions import Predicting, together
from perfmodel.predicting.ranking import COLUMNS, RankedVariant, Ranking, rank, rankings, with_ties
from tests.priced import CUBE, MODEL, SQUARE, STRICT, adding
from tests.test_display import Cells


def test_fastest_first():
    found = rank({"cube": CUBE, "square": SQUARE}, MODEL, n=100)
    assert ["square", "cube"] == [variant.name for variant in found]
    assert pytest.approx([64e4 * 1e-12, 1e6 * 1e-12]) == [variant.seconds for variant in found]
    assert ["cube", "square"] == [v.name for v in rank({"cube": CUBE, "square": SQUARE}, MODEL, {"n": 10})]


def test_a_variant_that_was_never_measured_is_no_winner():
    with pytest.raises(UnmeasuredFeatureError):
        rank({"cube": CUBE, "divisions": adding("n", kind="div")}, MODEL, n=100, strict=True)
    found = rank({"cube": CUBE, "divisions": adding("n", kind="div")}, STRICT, n=100, allow_unmeasured=True)
    assert "divisions" == found[0].name


NORMAL = Scatter(deviation=0.1, cells=9)
SCATTERED = FittedModel(
    MODEL.fitted.model_copy(
        update={
            "scatter": NORMAL,
            "anchored": Anchored(conformal=Conformal(scores=(), groups=()), scatter=Scatter(deviation=0.01, cells=9)),
        }
    )
)


def variants(*seconds: float) -> list[RankedVariant]:
    return [RankedVariant(f"v{place}", time) for place, time in enumerate(seconds)]


def test_ties_by_hand():
    """Of 0.1 sqrt 2 of deviation, 1.2816 deviations are a factor of exp(0.1812): up to 1.198 is a tie."""
    found = with_ties(variants(1.0, 1.19, 1.21, 3.0), NORMAL)
    assert [True, True, False, False] == [one.tied for one in found]
    assert pytest.approx(1.0) == sum(one.fastest for one in found)
    # alone, the second and the third would be faster with Phi(-1.230) = 11 % and Phi(-1.348) = 9 %
    assert 0.05 < found[2].fastest < found[1].fastest < 0.11
    assert [True, True, False, False] == [one.to_measure for one in found]
    surer = with_ties(variants(1.0, 1.19, 1.21, 3.0), NORMAL, level=0.98)
    assert [True, True, True, False] == [one.to_measure for one in surer]


@pytest.mark.parametrize("seconds", [(-1.0, 1.0), (0.0, 1.0), (1.0, float("inf")), ()])
def test_times_of_which_no_ties_can_be_told(seconds):
    assert tuple(variants(*seconds)) == with_ties(variants(*seconds), NORMAL)
    assert tuple(variants(1.0, 1.0)) == with_ties(variants(1.0, 1.0), None)


def test_a_ranking_has_ties_where_the_weights_keep_a_scatter():
    plain = rank({"cube": CUBE, "square": SQUARE}, MODEL, n=60)
    assert [None, None] == [one.fastest for one in plain]
    found = rank({"cube": CUBE, "square": SQUARE}, SCATTERED, n=60)  # 64/60 apart
    assert [True, True] == [one.tied for one in found]
    assert 0.67 == pytest.approx(found[0].fastest, abs=0.01)  # Phi(log(64/60) / (0.1 sqrt 2)) = Phi(0.456)
    assert [False, False] == [one.tied for one in rank({"cube": CUBE, "square": SQUARE}, SCATTERED, n=30)]
    with pytest.raises(OptionError):
        rank({"cube": CUBE}, SCATTERED, n=60, level=2)


RANKING = Ranking([
    RankedVariant("tiled", 1e-3, (5e-4, 2e-3), ("far <outside>",), {"load": 1e-3}, (), 0.75, True, True),
    RankedVariant("naive", 1.5e-3, None, (), {"load": 1e-3, "add": 5e-4}, ("op_x",), 0.25, True, False),
])  # fmt: skip


def test_one_line():
    assert "<Ranking of 2 variants, fastest first: tiled, naive>" == repr(RANKING)
    assert ["variant", "tiled", "naive"] == [line.split()[0] for line in str(RANKING).splitlines()]
    assert "<RankedVariant tiled: 1 ms (500 us to 2 ms), tied>" == repr(RANKING[0])
    assert "<Ranking of 0 variants, fastest first: >" == repr(Ranking())
    many = Ranking([RankedVariant("x" * 30, 1.0)] * 20)
    assert len(repr(many)) < 120


def test_the_table():
    shown = Cells(RANKING._repr_html_())
    assert [
        ["variant", "seconds", "times the best", "fastest", "tie", "interval"],
        ["tiled", "1 ms", "1.00", "75.0 %", "tie", "500 us to 2 ms"], ["naive", "1.5 ms", "1.50", "25.0 %", "tie", "-"],
    ] == shown.rows  # fmt: skip
    assert ["tiled: far <outside>"] == shown.notes
    assert [("variant", "seconds", "times the best", "interval")] == Ranking().table


def test_the_frame():
    frame = RANKING.to_frame()
    assert [*COLUMNS, "term.load", "term.add"] == list(frame.columns)
    assert ["tiled", "naive"] == frame["variant"].tolist()
    assert [1e-3, 1.5e-3] == frame["seconds"].tolist()
    assert [5e-4] == frame["low_s"].dropna().tolist()
    assert [5e-4] == frame["term.add"].dropna().tolist()
    assert list(COLUMNS) == list(Ranking().to_frame().columns)


BOTH = {"cube": CUBE, "square": SQUARE}


def sweep(variants, model, points, level=0.9, anchors=None):
    """Rank at several sizes; return the errors of variants that are left out too."""
    asked = Predicting(model, level, anchors=anchors, skipped=UnmeasuredFeatureError)
    found = asked.predicted(variants, together(points)).required()
    return rankings(found), found.errors



def test_each_point_is_ranked():
    found, withheld = sweep(BOTH, MODEL, [{"n": 10}, {"n": 100}, {"n": 20}])
    assert {} == withheld
    assert [{"n": 10}, {"n": 100}, {"n": 20}] == [one.sizes for one in found]
    assert [["cube", "square"], ["square", "cube"], ["cube", "square"]] == [[v.name for v in one] for one in found]
    # additions and products take 1e-12 s
    assert pytest.approx([1e-9, 64e4 * 1e-12, 8e3 * 1e-12]) == [one[0].seconds for one in found]
    assert pytest.approx(1e-9) == found[0][0].terms["op_float32_add"]


def test_sizes_that_break_an_assumption_leave_that_variant_out():
    even = adding("n", "[n] -> { : n mod 2 = 0 }", "mul")
    found, _ = sweep({"cube": CUBE, "even": even}, MODEL, [{"n": 3}, {"n": 4}])
    assert [("even",), ()] == [one.broken for one in found]
    assert [["cube"], ["even", "cube"]] == [[v.name for v in one] for one in found]
    with pytest.raises(AssumptionError):
        sweep({"even": even}, MODEL, [{"n": 3}, {"n": 5}])
