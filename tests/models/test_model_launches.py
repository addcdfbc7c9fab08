"""Models whose formula is of one launch, against the same launches as kernels of their own."""

from functools import cache

import numpy as np
import pytest

from perfmodel.facts import Fact, published
from perfmodel.fitting import FitOptions
from perfmodel.fitting.design import build_design
from perfmodel.models import families
from perfmodel.models.model import RunTime, known_weights
from perfmodel.quantities.case import Case
from tests.contract import Row, Rows
from tests.quantities.test_multiplicity import sequence

KNOWN = published("gtx-770").updated({"global_transaction_bytes": Fact(128, "B", "made up")})
#: Work-items of each launch, and the loads that each adds up: few that wait, many at the bandwidth, one group.
PARTS = (512, 4000), (262144, 8), (64, 60)
OF_ONE_LAUNCH = [family for family in families().values() if family.of_one_launch]

counted = cache(sequence)


def run_time(family):
    own = {one.name: (one.start or 1.0) * (1 + k / 10) for k, one in enumerate(family.weights)}
    return RunTime(family, {**own, **known_weights(family, KNOWN, fit_facts=True)})


def values(family, *parts):
    return family.values(Case(counted(*parts), {}, KNOWN, family.name))


def test_they_are_those_of_warps():
    assert {"gpuperf", "mwp_cwp", "mwp_cwp_l2", "mwp_cwp_l2_all_warps"} == {family.name for family in OF_ONE_LAUNCH}


@pytest.mark.parametrize("family", OF_ONE_LAUNCH, ids=lambda family: family.name)
class TestFamily:
    def test_launches_take_as_long_as_kernels_of_one_launch(self, family):
        run, whole = run_time(family), values(family, *PARTS)
        seconds, terms = run.evaluate(whole)
        each = [run.evaluate(values(family, part)) for part in PARTS]
        assert pytest.approx(sum(one for one, _ in each)) == seconds
        assert pytest.approx(seconds) == run.seconds(whole)
        for name in family.parts:
            assert pytest.approx(sum(of_one[name] for _, of_one in each)) == terms[name]

    def test_what_rests_on_a_weight_is_that_of_all_launches(self, family):
        run = run_time(family)
        each = [run.by_weight(values(family, part)) for part in PARTS]
        for name, seconds in run.by_weight(values(family, *PARTS)).items():
            assert pytest.approx(sum(of_one[name] for of_one in each)) == seconds

    def test_a_fit_sees_rows_of_one_launch_and_of_several(self, family):
        forms = (PARTS, PARTS[:1], PARTS[1:], PARTS[:1] * 2)
        rows = tuple(Row("k", counted(*parts).hash, {}, 1.0) for parts in forms)
        of_hash = {counted(*parts).hash: counted(*parts) for parts in forms}
        table, run = build_design(Rows(rows, of_hash, KNOWN), family, FitOptions(fit_facts=True)), run_time(family)
        columns = dict(zip(table.names, table.matrix.T, strict=True))
        found = table.model.value(columns, [run.weights[name] for name in table.model.weights])
        np.testing.assert_allclose(found, [run.seconds(values(family, *parts)) for parts in forms], rtol=1e-12)
