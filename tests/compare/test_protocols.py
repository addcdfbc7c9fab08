"""The protocols on planted times, and every figure worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from perfmodel import features
from perfmodel.compare import Choice, Comparison, choices, compare, evaluate, summarise
from perfmodel.compare.protocols import ranks_of_sizes
from perfmodel.errors import LevelError, UnknownFamilyError
from perfmodel.predict import fit
from tests.fitting.test_weights import KERNELS, SIZES, measurements, seconds
from tests.standins import Row, Rows

GROUPS = {"empty": "empty", "add": "sums", "load": "copies", "tile": "tiles"}
MEASURED = Rows(tuple(replace(row, group=GROUPS[row.kernel]) for row in measurements().rows), KERNELS)
TESTS = Rows(
    (
        Row("adding", {"n": 128}, 2 * seconds("add", 128), "add", {"order": "b"}, "sums"),
        Row("adding", {"n": 128}, seconds("add", 128), "add", {"order": "a"}, "sums"),
        Row("copying", {"n": 512}, seconds("load", 512), "load", {}, "copies"),
        Row("copying", {"n": 32}, seconds("load", 32), "load", {}, "copies"),
        Row("other", {"n": 8}, seconds("tile", 8), "tile", {}, "others"),
    ),
    KERNELS,
)


def test_each_protocol_withholds_what_its_fit_has_not_seen():
    a, b, sizes = evaluate(MEASURED, TESTS)
    assert ["A", "B", "sizes"] == [one.protocol for one in (a, b, sizes)]
    cases = [(row.kernel, row.form, row.sizes) for row in a.rows]
    assert [
        ("adding", "order=a", "n=128"), ("adding", "order=b", "n=128"),
        ("copying", "", "n=32"), ("copying", "", "n=512"), ("other", "", "n=8"),
    ] == cases  # fmt: skip
    assert cases == [(row.kernel, row.form, row.sizes) for row in b.rows]
    assert [0.0, 0.5, 0.0, 0.0, 0.0] == [round(row.relative_error or 0, 6) for row in a.rows]
    # Without the group "sums" nothing adds; without "copies" the group "tiles" still loads.
    assert [("op_float32_add",)] * 2 + [()] * 3 == [row.needs for row in b.rows]
    assert [None, None] == [row.predicted for row in b.rows[:2]]
    assert (5, 2) == (b.figures.cases, b.figures.withheld)
    assert len(MEASURED.rows) == sizes.figures.cases
    assert 0 == sizes.figures.withheld
    assert 1e-3 == pytest.approx(sizes.figures.error)


def test_local_and_global_loads_are_not_told_apart_without_the_copies():
    # 100 n^2 global and 900 n^2 local loads cost together what is known: only their sum is right
    row = evaluate(MEASURED, TESTS)[1].rows[2]
    assert row.relative_error is not None
    assert row.relative_error > 0.01


def test_the_intervals_come_from_groups_left_out_of_the_fit():
    """Of four groups two are withheld, one is predicted exactly and one, the copies, is not."""
    a, *_ = evaluate(MEASURED, TESTS, level=0.33)
    found = a.rows[0]
    assert found.interval is not None
    assert found.predicted is not None
    assert pytest.approx([found.predicted] * 2, rel=1e-6) == found.interval
    wide, *_ = evaluate(MEASURED, TESTS, level=0.9)
    assert {(0.0, math.inf)} == {row.interval for row in wide.rows}
    assert (1.0, math.inf) == (wide.figures.inside, wide.figures.width)


def test_features_are_evaluated_once_for_each_row(monkeypatch):
    asked = []
    evaluate_features = features.evaluate
    monkeypatch.setattr(features, "evaluate", lambda *given: asked.append(1) or evaluate_features(*given))
    evaluate(MEASURED, TESTS)
    assert len(MEASURED.rows) + len(TESTS.rows) == len(asked)


def test_sizes_are_ranked_within_their_kernel_and_variant():
    rows = (
        Row("k", {"n": 64, "m": 1}, 1.0, ""), Row("k", {"n": 4, "m": 2}, 1.0, ""), Row("k", {"n": 5, "m": 2}, 1.0, ""),
        Row("k", {"n": 64, "m": 1}, 1.0, "", {"g": 2}), Row("l", {"n": 3}, 1.0, ""), Row("l", {"n": 2}, 1.0, ""),
    )  # fmt: skip
    assert [2, 0, 1, None, 1, 0] == ranks_of_sizes(rows)


def test_bad_input():
    with pytest.raises(LevelError):
        evaluate(MEASURED, TESTS, level=1.5)
    with pytest.raises(UnknownFamilyError):
        evaluate(MEASURED, TESTS, "gone")


def test_a_saved_model_is_compared_case_by_case():
    model = fit(Rows(tuple(r for r in MEASURED.rows if r.kernel != "add"), KERNELS))
    rows = compare(model, MEASURED)
    assert [0.0] * 4 == [round(row.relative_error or 0, 6) for row in rows if row.kernel == "load"]
    added = [row for row in rows if row.kernel == "add"]
    assert [f"n={n}" for n in SIZES] == [row.sizes for row in added]
    assert {("op_float32_add",)} == {row.needs for row in added}


@pytest.mark.parametrize(
    ("measured", "predicted", "tau", "regret"),
    [
        ((1.0, 2.0, 3.0), (10.0, 20.0, 30.0), 1.0, 1.0),
        ((1.0, 2.0, 3.0), (3.0, 2.0, 1.0), -1.0, 3.0),
        ((1.0, 2.0, 3.0), (2.0, 1.0, 3.0), 1 / 3, 2.0),  # of three pairs one is wrong
        ((1.0, 2.0, 3.0, 4.0, 5.0), (2.0, 4.0, 1.0, 3.0, 5.0), 4 / 10, 3.0),  # of ten pairs three
        ((1.0, 2.0), (5.0, 5.0), 0.0, 1.0),  # a tie tells nothing
    ],
)
def test_one_choice(measured, predicted, tau, regret):
    choice = Choice(measured, predicted)
    assert pytest.approx(tau) == choice.tau
    assert regret == choice.regret


ROWS = (
    Comparison("a", {"n": 1}, 1.0, 1.1, variant={"v": 1}, interval=(0.55, 2.2)),
    Comparison("a", {"n": 1}, 2.0, 2.2, variant={"v": 2}, interval=(2.1, 2.3)),
    Comparison("a", {"n": 2}, 4.0, 3.6),
    Comparison("a", {"n": 2}, 2.0, 4.0),
    Comparison("a", {"n": 2}, 9.0, None, ("op_float32_add",)),
    Comparison("b", {"n": 1}, 1.0, 1.1),
)


def test_variants_of_one_kernel_at_the_same_sizes_are_alternatives():
    assert (Choice((1.0, 2.0), (1.1, 2.2)), Choice((4.0, 2.0), (3.6, 4.0))) == choices(ROWS)


def test_figures_of_a_few_rows():
    found = summarise(ROWS)
    assert (6, 1, 2) == (found.cases, found.withheld, found.choices)
    assert pytest.approx(5 / 6) == found.coverage
    assert pytest.approx((0.1**4 * 1.0) ** 0.2) == found.error
    assert pytest.approx((0.1**3 * (4 / 3.6 - 1) * 1.0) ** 0.2) == found.factor
    assert pytest.approx(0.1) == found.median
    assert pytest.approx(0.1 + 0.6 * 0.9) == found.p90  # between the fourth and the fifth
    assert (0.0, 0.5) == (found.tau, found.top1)
    assert pytest.approx(math.sqrt(2.0)) == found.regret
    assert 0.5 == found.inside
    assert pytest.approx((4.0 + 2.3 / 2.1) / 2) == found.width


def test_a_lucky_hit_counts_as_a_tenth_of_a_per_cent():
    assert pytest.approx(1e-3) == summarise([Comparison("a", {}, 1.0, 1.0)]).factor


def test_a_prediction_at_or_below_zero_has_an_infinite_factor():
    found = summarise([Comparison("a", {}, 1.0, 1.1), Comparison("a", {}, 1.0, -0.5)])
    assert math.inf == found.factor
    assert pytest.approx(math.sqrt(0.1 * 1.5)) == found.error


def test_figures_of_nothing():
    found = summarise(())
    assert (0, 0, 0, 0.0) == (found.cases, found.withheld, found.choices, found.coverage)
    assert all(math.isnan(value) for value in (found.error, found.factor, found.median, found.tau, found.width))
