"""Ranking and crossovers, against sizes worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.anchors import Anchor
from perfmodel.counts.quasipoly.count import Count
from perfmodel.errors import AnchorError, LevelError, NoCommonSizeError, ParameterError, UnmeasuredFeatureError
from perfmodel.fitting import FittedWeight
from perfmodel.fitting.uncertainty.anchored import Anchored
from perfmodel.fitting.uncertainty.conformal import Conformal
from perfmodel.fitting.uncertainty.scatter import Scatter
from perfmodel.predict import FittedModel, fit
from perfmodel.ranking import Lead, RankedVariant, crossover, rank, scatter_of, with_ties
from tests.fitting.test_weights import measurements
from tests.standins import Counts, Operation, count

# One second for 1e12 additions or multiplications, and nothing else costs anything.
PRICES = {"op_float32_add": 1e-12, "op_float32_mul": 1e-12, "work_groups": 0.0, "launches": 0.0}
WEIGHTS = {name: FittedWeight(value=price, unit="s", standard_error=None) for name, price in PRICES.items()}
MODEL = FittedModel(fit(measurements()).fitted.model_copy(update={"weights": WEIGHTS, "measured": None}))


def adding(text: str, assumptions: str = "{ : }", kind: str = "add", parameters: str = "n") -> Counts:
    added = Count.from_text(f"[{parameters}] -> {{ {text} }}", assumptions)
    names = tuple(parameters.split(", "))
    operations = (Operation("float32", kind, added),)
    return Counts(
        parameters=names, operation_table=operations, group_count=count("1", ""), assumptions=assumptions
    )


CUBE, SQUARE = adding("n^3"), adding("64*n^2", kind="mul")


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


def test_a_crossing_at_the_very_size():
    # equal at 64, where the cube keeps its lead
    assert (Lead("a", 1, 64), Lead("b", 65, 1000)) == crossover(CUBE, SQUARE, MODEL, "n", 1, 1000)
    expected = (Lead("square", 1, 1), Lead("cube", 2, 10))
    assert expected == crossover(
        adding("n^2", kind="mul"), adding("2*n - 1"), MODEL, "n", 1, 10, names=("square", "cube")
    )


def test_only_sizes_that_both_assume():
    tiled = adding("64*n^2", "[n] -> { : n mod 16 = 0 }", "mul")
    assert (Lead("a", 16, 64), Lead("b", 80, 992)) == crossover(CUBE, tiled, MODEL, "n", 1, 1000)
    other = adding("n^3", "[n] -> { : n mod 24 = 0 }")
    assert (Lead("a", 48, 48), Lead("b", 96, 960)) == crossover(other, tiled, MODEL, "n", 1, 1000)


@pytest.mark.parametrize("step", [1, 48])
def test_a_crossing_in_a_range_of_a_thousand_million_sizes(step):
    a, b = adding("n^2", f"[n] -> {{ : n mod {step} = 0 }}"), adding("123456789*n", kind="mul")
    last = 123456789 // step * step
    found = crossover(a, b, MODEL, "n", 1, 10**9)
    assert (Lead("a", step, last), Lead("b", last + step, 10**9 // step * step)) == found


@pytest.mark.parametrize("high", [5000, 10**8])
def test_all_crossings_are_found(high):
    # n^2 - 1100 n + 100000 is zero at 100 and 1000 and negative between
    a, b = adding("1100*n"), adding("n^2 + 100000", kind="mul")
    expected = (Lead("a", 1, 100), Lead("b", 101, 1000), Lead("a", 1001, high))
    assert expected == crossover(a, b, MODEL, "n", 1, high)


def test_a_lower_bound_in_the_middle_of_a_wide_range():
    late = adding("10*n", "[n] -> { : n >= 3000000 and n mod 5 = 0 }", "mul")
    assert (Lead("b", 3_000_000, 10**7),) == crossover(CUBE, late, MODEL, "n", 1, 10**7)
    early = adding("10*n", "[n] -> { : n <= 7000000 }", "mul")
    assert (Lead("a", 1, 3), Lead("b", 4, 7_000_000)) == crossover(CUBE, early, MODEL, "n", 1, 10**7)


def test_other_parameters_are_fixed():
    a, b = adding("n^2*m", parameters="m, n"), adding("100*n*m", kind="mul", parameters="m, n")
    assert (Lead("a", 1, 100), Lead("b", 101, 200)) == crossover(a, b, MODEL, "n", 1, 200, m=7)
    with pytest.raises(ParameterError):
        crossover(a, b, MODEL, "n", 1, 200)


def test_no_size_that_both_assume():
    odd = adding("n", "[n] -> { : n mod 2 = 1 }")
    even = adding("n", "[n] -> { : n mod 2 = 0 }")
    with pytest.raises(NoCommonSizeError) as caught:
        crossover(odd, even, MODEL, "n", 1, 1000)
    assert ("n", 1, 1000) == (caught.value.parameter, caught.value.low, caught.value.high)
    assert (odd.assumptions, even.assumptions) == caught.value.assumptions
