"""Rankings, against times worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.anchors import Anchor
from perfmodel.errors import AnchorError, LevelError, ParameterError, UnmeasuredFeatureError
from perfmodel.fitting.uncertainty.anchored import Anchored
from perfmodel.fitting.uncertainty.conformal import Conformal
from perfmodel.fitting.uncertainty.scatter import Scatter
from perfmodel.predict import FittedModel
from perfmodel.ranking import RankedVariant, rank, scatter_of, with_ties
from tests.priced import CUBE, MODEL, SQUARE, adding


def test_fastest_first():
    found = rank({"cube": CUBE, "square": SQUARE}, MODEL, n=100)
    assert ["square", "cube"] == [variant.name for variant in found]
    assert pytest.approx([64e4 * 1e-12, 1e6 * 1e-12]) == [variant.seconds for variant in found]
    assert ["cube", "square"] == [v.name for v in rank({"cube": CUBE, "square": SQUARE}, MODEL, {"n": 10})]


def test_a_variant_that_was_never_measured_is_no_winner():
    with pytest.raises(UnmeasuredFeatureError):
        rank({"cube": CUBE, "divisions": adding("n", kind="div")}, MODEL, n=100)
    found = rank({"cube": CUBE, "divisions": adding("n", kind="div")}, MODEL, n=100, allow_unmeasured=True)
    assert "divisions" == found[0].name


def test_ranking_is_at_one_size():
    with pytest.raises(ParameterError, match="one size"):
        rank({"cube": CUBE}, MODEL, n=np.array([1, 2]))


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


def test_a_clear_winner_needs_no_measurement():
    found = with_ties(variants(1.0, 2.0, 2.0), NORMAL)
    assert ([False] * 3, [True, False, False]) == ([one.tied for one in found], [one.to_measure for one in found])
    (alone,) = with_ties(variants(1.0), NORMAL)
    assert (1.0, False, True) == (alone.fastest, alone.tied, alone.to_measure)


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
    with pytest.raises(LevelError):
        rank({"cube": CUBE}, SCATTERED, n=60, level=2)


def test_anchors_scale_each_variant_and_have_a_scatter_of_their_own():
    anchors = {
        "cube": Anchor("cube", "stand-in", {"n": 10}, 3e-9, 1e-9),
        "square": Anchor("square", "stand-in", {"n": 10}, 5e-9, 2e-9),
    }
    found = rank({"cube": CUBE, "square": SQUARE}, SCATTERED, n=60, anchors=anchors)
    assert ["square", "cube"] == [one.name for one in rank({"cube": CUBE, "square": SQUARE}, SCATTERED, n=70)]
    times = {"cube": 3 * 60**3 * 1e-12, "square": 2.5 * 64 * 60**2 * 1e-12}
    assert times == {one.name: pytest.approx(one.seconds) for one in found}
    assert [False, False] == [one.tied for one in found]  # 8/7.2 apart, and 0.01 of scatter
    with pytest.raises(AnchorError, match="'square' cannot be anchored: there are anchors only of cube"):
        rank({"cube": CUBE, "square": SQUARE}, SCATTERED, n=60, anchors={"cube": anchors["cube"]})
    older = FittedModel(SCATTERED.fitted.model_copy(update={"anchored": None}))
    assert (NORMAL, None) == (scatter_of(older), scatter_of(older, anchored=True))
