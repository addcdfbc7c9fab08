"""All paths by lg n squarings: the kernel against Floyd and Warshall, its work against the paper's, its predictions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from perfmodel.counts import count
from scripts.lab.experiments.squaring import STUDY
from scripts.lab.studies.apsp_formulas import transactions, work
from scripts.lab.studies.squaring import predicted
from scripts.lab.study_runs import study_data
from tests.lab.studies.test_apsp import KERNEL
from tests.recorded import SIMULATED


@pytest.fixture(scope="module")
def whole():
    return KERNEL.build(16, 32, whole=True)


def test_its_work_is_that_of_section_3(whole):
    counts, n = count(whole, subgroup_size=32), 256
    steps = int(math.log2(n))
    for kind in ("add", "minmax"):
        assert work(n) == counts.operations(kind=kind)(n=n, steps=steps)
    assert steps == counts.launches()(n=n, steps=steps)
    assert steps * (n // 16) ** 2 == counts.work_groups()(n=n, steps=steps)
    # Both factors are read, and the sub-block itself; Eq. 10 counts one factor, in chunks of C = 1 here.
    loads = counts.accesses(space="global", direction="load")(n=n, steps=steps)
    assert 2 * transactions(n, 16, 1) + steps * n**2 == loads


def shortest(a):
    """Floyd and Warshall: by vertices that a path may pass, not by numbers of edges."""
    found = a.copy()
    for k in range(len(a)):
        found = np.minimum(found, found[:, k, None] + found[None, k, :])
    return found


def test_repeated_squaring_finds_all_paths():
    """As the generated code does: d[s + 1] from d[s], lg n times."""
    n, rng = 32, np.random.default_rng(5)
    a = np.where(rng.random((n, n)) < 0.1, rng.uniform(0.5, 2, (n, n)), np.inf)
    np.fill_diagonal(a, 0)
    d = a
    for _ in range(int(math.log2(n))):
        d = KERNEL.reference({"a": d})["c"]
    np.testing.assert_allclose(shortest(a), d)


def test_the_papers_card_by_its_simulation(tmp_path):
    data = study_data(STUDY, tmp_path, SIMULATED)
    variant = {"sub_block": 32, "items": 32}
    four, one = predicted(data, variants=(variant, {**variant, "extra_local": 36864}))
    assert (8192, 65536, 4, 4.0) == (four.n, four.requested, four.active, four.threads)  # the run of section V
    assert (1, 1.0) == (one.active, one.threads)
    weights = data.model("threaded_manycore").weights
    work_s = weights["w_operation"] * 4 * work(8192) / 480  # a sum, a minimum and two local loads
    assert four.seconds == pytest.approx(work_s, rel=0.05)  # filling the tiles comes on top
    assert four.seconds > work_s
