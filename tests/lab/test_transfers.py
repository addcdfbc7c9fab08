"""Transferred weights held against recorded times: figures by hand, the file of rows, and the kernels."""

import math

import pytest

from scripts.lab import transfers
from scripts.lab.transfers import Row, errors_by_family, priors
from tests.recorded import SIMULATED

pytestmark = pytest.mark.nightly  # research code, and long

E = math.e
ROWS = (
    Row("a", "gemm", "x=1", 1.0, {"roofline": 1.0}), Row("a", "gemm", "x=2", 2.0, {"roofline": 4.0}),
    Row("a", "gemm", "x=3", 4.0, {"roofline": 2.0}), Row("b", "gemm", "x=1", E, {"roofline": 1.0}),
    Row("b", "gemm", "x=2", E, {"roofline": 1.0}), Row("b", "gemm", "x=4", E, {"roofline": math.nan})
)  # fmt: skip


def test_errors_of_a_family():
    """Both rows of b are off by the factor e; those of a by 1, 2 and 2. Two cards give bounds up to 2/3."""
    (name, errors), = errors_by_family(ROWS).items()
    assert "roofline" == name
    assert 2 == errors.conformal.group_count
    of_b = [s for s, card in zip(errors.conformal.scores, errors.conformal.groups, strict=True) if card == "b"]
    assert [1.0] * transfers.QUANTILES == of_b
    assert 1.0 == errors.conformal.quantile(0.66)
    assert math.inf == errors.conformal.quantile(0.9)
    assert 2 == errors.scatter.cells
    assert () == errors.foreign
    assert ("b",) == errors_by_family(ROWS, foreign=("b", "c"))["roofline"].foreign


def test_choices_by_facts_and_by_another_card():
    """On a, x=1 is the fastest, and predicted so. The middle pair is in the wrong order: 2 of 3 pairs agree."""
    by = {(prior.card, prior.prior): prior for prior in priors(ROWS)}
    assert {(card, "`roofline` of titan-v") for card in "ab"} | {("a", "table of b"), ("b", "table of a")} == set(by)
    prior = by["a", "`roofline` of titan-v"]
    assert pytest.approx((1 / 3, 1.0, 2.0)) == (prior.figures.tau, prior.figures.regret, prior.figures.random_regret)
    assert pytest.approx((1e-3 * 1 * 1) ** (1 / 3)) == prior.figures.factor  # less 1 of 1, 2 and 2
    # b has x=1 and x=2 of a; whichever it takes is the best
    assert (1, 1.0) == (by["b", "table of a"].figures.choices, by["b", "table of a"].figures.regret)
    assert "-" == by["b", "table of a"].cells[3]


def test_weights_of_another_card_by_facts():
    """The roofline has the facts of the A100; a launch takes as long as theirs."""
    model = transfers.models_for("a100", SIMULATED.parent, ["roofline"])["roofline"]
    assert (1.555e12, 5.7e-6) == (model.weights["w_bandwidth"], pytest.approx(model.facts.value("launch_s")))
    assert "NVIDIA TITAN V" == model.fitted.transferred_from
