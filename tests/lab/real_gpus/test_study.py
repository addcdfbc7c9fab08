"""Recorded rows by hand: how a trait correlates with errors; and the committed page."""

import math

import loopy as lp
import pytest

from perfmodel.compare import Comparison, Comparisons
from perfmodel.counts import count
from perfmodel.quantities.case import Case
from scripts.lab.real_gpus.page import CLAIMS, COMMAND, PARTS
from scripts.lab.real_gpus.study import Recorded, key_of, missed, study, traits_of
from tests.corpus.kernel import make
from tests.machine import ROOT
from tests.standins import made_up

SIZES = (1, 2, 3, 4, 5, 6)
# Of the space "tile: a" each row takes as many seconds as its variant says; the model says 1 for all.
ROWS = Comparisons(
    [Comparison("tile: a", {}, float(size), 1.0, variant={"size": size}, interval=(0.5, 2.5)) for size in SIZES]
    + [
        Comparison("plain: a", {}, 2.0, 8.0, variant={"size": 1}),
        Comparison("plain: a", {}, 4.0, 1.0, variant={"size": 2}),
    ]
)
TRAITS = {
    key_of(row): {"size": float(row.variant["size"]), "rest": -float(row.variant["size"]), "same": 1.0} for row in ROWS
}
EXACT = Comparisons([Comparison(row.kernel, {}, row.measured, row.measured, variant=row.variant) for row in ROWS])


def test_what_goes_with_errors_counts_in_spaces_of_several_rows_only():
    """In the large space the time grows with the size and the prediction does not; the small space does not count."""
    found = missed(ROWS, TRAITS)
    assert pytest.approx((1.0, -1.0)) == (found["size"], found["rest"])
    assert math.isnan(found["same"])
    assert all(math.isnan(value) for value in missed(EXACT, TRAITS).values())


def test_traits_of_a_launch():
    """A group has 48 work-items in two warps; the lanes read a column of 48 rows, so that each needs a transaction."""
    unit = make("{[i, j]: 0 <= i < 48 and 0 <= j < 480}", "out[j, i] = a[i, j] + 1", "out: 480, 48; a: 48, 480")
    counts = count(lp.tag_inames(unit, {"i": "l.0", "j": "g.0"}), subgroup_size=32)
    known = made_up(
        compute_units=8, max_groups_per_unit=16, max_items_per_unit=1024, banks=32, global_transaction_bytes=32
    )
    found = traits_of(Case(counts, {}, known, "mwp_cwp"))
    assert (48.0, 0.25) == (found["work-items in a group"], found["idle lanes"])
    assert 480 / (8 * 16) == found["rounds of groups"]
    assert 2 * 16 == found["warps held"]
    assert 2 * 480 * 48 == found["global accesses in all"]
    # half of the accesses are the loads, with 32 transactions each; a store counts as 1
    assert pytest.approx(1 + 0.5 * 31) == found["transactions of an access"]
    assert (0.0, 1.0) == (found["local memory of a group [B]"], found["passes of a local access"])


@pytest.mark.nightly
def test_families_are_judged_in_processes(tmp_path):
    """The committed rows of one kernel of the device's folder."""
    source = ROOT / "fitted_weights" / "nvidia-titan-v"
    lines = [line for line in (source / "measurements.jsonl").read_text().splitlines() if "re_rij_ej_to_ei" in line]
    (tmp_path / "measurements.jsonl").write_text("\n".join(lines[:40]) + "\n")
    for name in ("device.json", "facts.yaml", "counts.jsonl.xz"):
        (tmp_path / name).symlink_to(source / name)
    *names, found = study(tmp_path, ["roofline"], jobs=1)
    assert ["roofline"] == names
    assert isinstance(found, Recorded)
    assert ("groups", "kernels", "variants") == found.judged[0].protocols
    assert {key_of(row) for row in found.judged[0].by("groups").rows} == set(found.traits)


def test_the_committed_page_has_every_part_and_what_the_papers_claim_names_families():
    page = (ROOT / "docs" / "lab" / "real-gpus.md").read_text()
    assert all(f"<!-- {name}: drawn by {COMMAND} -->" in page for name in PARTS)
    from perfmodel.models import families

    assert {claim.family for claim in CLAIMS} <= set(families())
