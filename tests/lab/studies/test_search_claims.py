"""Claims of chapter 6: from the formulas, and from made-up times."""

import re
import shutil
from collections.abc import Callable
from typing import Any

import pytest

from perfmodel.counts import count
from perfmodel.kernels import discover
from perfmodel.measuring.subject import Subject
from scripts.lab.experiments.search import STUDY
from scripts.lab.studies import StudyData
from scripts.lab.studies.claim import UNSHOWN
from scripts.lab.studies.karsin import SPT, gpu
from scripts.lab.studies.search_claims import counted_claims
from scripts.lab.studies.search_points import block_records, conflict_records, platform_records
from tests.lab.studies.products import study_of
from tests.machine import ROOT
from tests.recorded import INTEL

FORMS = (
    {"layout": "sorted"}, {"layout": "bst"}, {"layout": "btree"},
    *({"form": form, "levels": 8} for form in ("naive", "free", "limited")),
)  # fmt: skip


def searches(seconds: Callable[[dict[str, Any], dict[str, int]], float], folder) -> StudyData:
    """Return the study with times ``seconds(variant, sizes)`` [s] of :data:`FORMS` at their smallest rung."""
    kernels, rows = {kernel.name: kernel for kernel in discover(ROOT / "test_kernels" / "papers")}, []
    for variant in FORMS:
        kernel = kernels["search_local" if "form" in variant else "search_global"]
        subject = Subject(kernel, variant)
        counts = count(subject.generated.t_unit, subgroup_size=16, statistics=subject.statistics)
        for sizes in kernel.sizes.at(kernel.sizes.start):
            rows.append((kernel.name, variant, sizes, counts, seconds(variant, sizes)))
    return study_of(rows, "search", folder)


pytestmark = pytest.mark.nightly  # research code, and long

NS = 1e-9


@pytest.fixture(scope="module")
def counted():
    return counted_claims(platform_records(), block_records(warps=10), conflict_records(gpu("GIBSON"), warps=20))


def by_source(claims, source):
    return [one for one in claims if one.source == source]


def test_layouts_and_conflicts_are_as_the_chapter_derives_them(counted):
    for source in ("Section 6.1.4", "Section 6.2.2", "Corollary 6.2.1", "Section 6.2.3"):
        (one,) = by_source(counted, source)
        assert one.agrees, one
    assert "24 (sorted), 14 (bst), 3 (btree)" in by_source(counted, "Section 6.1.4")[0].found
    assert "take 319 serialised" in by_source(counted, "Corollary 6.2.1")[0].found  # 31 + 32*9 for 2^14 words
    assert "take 31 there" in by_source(counted, "Section 6.2.3")[0].found


def test_which_form_is_slowest_depends_on_powers_of_two(counted):
    """Only lists of an odd length show what the figure does; neither its N nor the N of the factor 2.98 is printed."""
    (slowest,), (gain,) = (by_source(counted, source) for source in ("Figure 6.7, GIBSON", "Section 6.2.4"))
    assert slowest.agrees
    assert re.search(r"powers of two it has at [0-4] of 9 lists.*odd numbers .* it has at [5-9] of 9", slowest.found)
    assert UNSHOWN == gain.verdict
    assert {False} == {one.measured for one in counted}


def test_findings_of_measured_variants(tmp_path):
    """A query takes 1 ns for each level in the list, half of that in the trees; lists in local memory take 1 ns."""

    def seconds(variant, sizes):
        return sizes["q"] * NS * (sizes.get("depth", 1) / (1 if variant.get("layout") == "sorted" else 2))

    for name in ("bottleneck", SPT):
        shutil.copy(INTEL / f"{name}.json", tmp_path)
    found = STUDY.examine(searches(seconds, folder=tmp_path))
    assert 3 * 4 + 3 == len(found.tables[""])
    (row,) = [one for one in found.tables[""] if one["form"] == "btree" and one["keys"] == 2**20]
    assert 10.0 == pytest.approx(row["measured_ns_per_query"])
    (layouts,) = by_source(found.claims, "Figures 6.1 to 6.3")
    assert "2.00 and 2.00 times" in layouts.found
    assert {4} == {one["choices"] for one in found.tables["choices"]}  # of layouts alone, at four numbers of keys
    assert {3} == {one["variants"] for one in found.tables["choices"]}
    assert {"global", "local", "conflicts"} == set(found.pictures)
