"""Claims about the matrix product's times, where the answer is known: times are predictions, or bent from them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from scripts.lab.experiments.gemm import STUDY
from scripts.lab.studies.gemm_claims import gemm_claims
from scripts.lab.studies.gemm_operations import operation_claims
from scripts.lab.studies.gemm_points import gemm_points, library_point
from scripts.lab.studies.karsin import SPT
from tests.lab.studies.products import VARIANTS, products

pytestmark = pytest.mark.nightly  # research code, and long


@cache
def base():
    return gemm_points(products(lambda *_: 1.0))


def exactly(one):
    return one.seconds(SPT)


def verdicts(seconds, more=lambda points: (), kind="cpu"):
    """Return the claims by the paper's words, of points with times ``seconds(point)``."""
    points = [replace(one, measured=seconds(one)) for one in base()]
    made = gemm_claims((*points, *more(points)), [SPT], kind == "cpu")
    return {one.paper: one for one in made}


def agrees(claims, words):
    (found,) = [one for paper, one in claims.items() if words in paper]
    return found.agrees


@pytest.fixture(scope="module")
def exact():
    return verdicts(exactly)


def test_times_that_the_model_predicts(exact):
    assert agrees(exact, "the estimate errs by")
    assert agrees(exact, "determines the parameters")
    assert agrees(exact, "significantly underestimates") is agrees(exact, "255 registers") is None  # of a CPU
    assert agrees(verdicts(exactly, kind="gpu"), "significantly underestimates") is False


def test_the_closed_forms_decide_on_the_papers_platforms(exact):
    assert agrees(exact, "N_TB = 96 is not the best")
    (found,) = [one.found for paper, one in exact.items() if "N_TB = 96 is not the best" in paper]
    assert "128 (ALGOPARC), 80 (GIBSON), 80 (UHHPC)" in found
    assert "1.277 s there and 1.444 s at N_TB = 96" in found


def test_findings_of_three_variants():
    found = STUDY.examine(products(lambda tile, depth, group, k: k * 1e-6, VARIANTS[:3]))
    assert 3 * 3 == len(found.tables[""])
    assert {"k", "tile", "shares"} == found.pictures.keys()
    assert all(one.found and "nan" not in one.found for one in found.claims)
    recommended = [one for one in found.tables["choices"] if one["recommended"]]
    assert [3] == [one["variants"] for one in recommended]


@cache
def claims(variant):
    one = library_point(gemm_points(products(lambda *_: 1.0, (variant,))))
    return operation_claims(one)


@pytest.mark.parametrize("variant", VARIANTS[2:])
def test_all_but_shared_memory_are_counted_as_printed(variant):
    counted, shared, conflicts, bandwidth, _ = claims(variant)
    assert counted.agrees
    assert shared.agrees is False
    assert (variant[2] == (16, 16)) == conflicts.agrees  # two rows of 8 in a sub-group of 16 share banks
    assert ("a_tile 1.00, b_tile 1.00" in conflicts.found) == conflicts.agrees
    assert bandwidth.agrees


def test_shared_accesses_in_words():
    """N_TB = 48 and 16 x 16 work-items: 3 x 3 elements, 2/3 reads a product; A_s has 4/48."""
    found = claims((48, 16, (16, 16)))[1].found
    work = 384 * 384 * 256
    written, read = 2 * work / 48, 2 * work / 3
    assert f"3 x 3 elements, and reads a number of a for 3 products and one of b for 3: {read:.4g}" in found
    assert f"{written + read:.4g} accesses for {2 * written:.4g}, {0.5 + 8:.1f} times" in found
