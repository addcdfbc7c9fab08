"""Sizes for the variants of a campaign, on a device."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass, replace

import pytest

from perfmodel import store
from perfmodel.kernels import KernelClass
from perfmodel.measuring import size_plan
from perfmodel.measuring.bench import Bench
from tests.campaigns import SCALE, TINY, measured
from tests.machine import device

pytestmark = [pytest.mark.device, pytest.mark.usefixtures("times_are_believed")]


@dataclass(frozen=True, eq=False)
class Ranked(KernelClass):
    """A class whose variants are to be ranked."""

    ranked: bool = True


def ranked(**changes) -> KernelClass:
    return Ranked(**{**vars(SCALE), **changes, "ranked": True})


def test_ranked_variants_share_their_sizes(tmp_path, monkeypatch):
    factor = {2: 1.0, 3: 4.0}
    monkeypatch.setattr(Bench, "trial", lambda self, s, p: p["n"] * 1e-5 * factor[s.variant["factor"]])
    campaign = replace(TINY, longest_s=0.011)

    def sizes(kernel, folder):
        found = measured(tmp_path / folder, kernel, campaign=campaign).rows
        return {f: sorted(row.parameters["n"] for row in found if row.variant["factor"] == f) for f in factor}

    assert {2: [256, 512, 1024], 3: [256]} == sizes(SCALE, "alone")
    assert {2: [256], 3: [256]} == sizes(ranked(), "ranked")


def test_a_ranked_variant_that_fails_leaves_the_others_their_ladder(tmp_path):
    old = SCALE.build

    def build(factor):
        if factor == 3:
            raise ZeroDivisionError("on purpose")
        return old(factor)

    found = measured(tmp_path, ranked(build=build))
    assert 3 == len(found)
    assert ["compile"] == [row.status for row in found.rows if row.status != "ok"]


def rewritten(path, **changes):
    """Change fields of each record of a store."""
    texts = [json.dumps({**json.loads(line), **changes}) for line in path.read_text().splitlines()]
    path.write_text("".join(f"{text}\n" for text in texts))


@pytest.mark.parametrize(("changes", "rows"), [({}, 6), ({"counts_hash": "of others"}, 12)])
def test_records_of_code_that_another_loopy_writes_are_found_by_their_counts(tmp_path, monkeypatch, changes, rows):
    """The OpenCL code has its terms in another order; counts and launch are the same."""
    path = tmp_path / "m.jsonl"
    store.prepare(path, device().facts)
    measured(path, SCALE)
    rewritten(size_plan.plan_path(path), key="of the same in other words")
    monkeypatch.delattr(size_plan, "plan_sizes")  # the sizes are taken from the file
    rewritten(path, kernel_hash="of the same in other words", **changes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # counts of others are not in the store
        found = measured(path, SCALE)
    assert (rows, 6) == (len(found.rows), len(found.current))
    assert rows - 6 == len(found.outdated)
