"""Run times with other seconds for their terms."""

from __future__ import annotations

import pytest

from perfmodel.models import Family, find_family
from perfmodel.models.model import RunTime, Weight
from scripts.lab.outliers import by_terms
from tests.models.test_model_launches import OF_ONE_LAUNCH, PARTS, run_time, values


def test_parts_take_the_given_seconds_and_other_weights_stay():
    family = Family(
        "toy", "nowhere", sums={"chip": ("op_*",)}, parts={"half": "chip*w_share", "memory": "w_load*launches"},
        weights=(Weight("w_share", ""), Weight("w_load", "s/launch"), Weight("w_sharp", "", lower=1.0, upper=64.0)),
        expression="smooth_max(half, memory, w_sharp)",
    )  # fmt: skip
    of_values = by_terms(RunTime(family, {"op_float32_add": 1.0, "w_share": 0.5, "w_load": 4.0, "w_sharp": 2.0}))
    terms, time = of_values({"op_float32_add": 6.0, "launches": 1.0})
    assert {"half": 3.0, "memory": 4.0} == terms
    assert (pytest.approx(5.0), pytest.approx(13.0)) == (time(terms), time({"half": 5.0, "memory": 12.0}))
    _, time = by_terms(RunTime(find_family("stevens_kloeckner_2016"), {"launches": 1.0}))({"launches": 2.0})
    assert 7.0 == time({"launches": 7.0})


@pytest.mark.parametrize("family", OF_ONE_LAUNCH, ids=lambda family: family.name)
def test_a_term_changes_by_the_same_factor_in_each_launch(family):
    run = run_time(family)
    of_values, whole = by_terms(run), values(family, *PARTS)
    terms, time = of_values(whole)
    assert pytest.approx(run.evaluate(whole)[0]) == time(terms)
    tripled = 0.0
    for part in PARTS:
        of_one, time_of_one = of_values(values(family, part))
        tripled += time_of_one({**of_one, "compute": 3 * of_one["compute"]})
    assert pytest.approx(tripled) == time({**terms, "compute": 3 * terms["compute"]})
