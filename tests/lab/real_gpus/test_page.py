"""The page on real GPUs: its tables from planted rows, and the committed one's marks."""

from __future__ import annotations

from pathlib import Path

from scripts.lab.real_gpus.page import CLAIMS, COMMAND, PARTS, real_gpus_page
from tests.lab.real_gpus.test_study import recorded

ROOT = Path(__file__).resolve().parents[3]


def test_tables_have_every_family_and_random_choice():
    drawn = real_gpus_page("", recorded())
    rows = [line for line in drawn.splitlines() if line.startswith(("| `flat`", "| random choice"))]
    # In one space all six tie in the flat model, in the other it chooses the worst of two; at random 2.99 and 1.41.
    assert "| 2.45 | 8.3 % |" in rows[0]
    assert "| 2.06 | 33.3 % | 0.00 |" in rows[1]
    assert "size (+1.00)" in drawn
    assert "Not fitted: `needy`: a fact is missing." in drawn


def test_the_committed_page_has_every_part_and_what_the_papers_claim_names_families():
    page = (ROOT / "docs" / "lab" / "real-gpus.md").read_text()
    assert all(f"<!-- {name}: drawn by {COMMAND} -->" in page for name in PARTS)
    from perfmodel.models import families

    assert {claim.family for claim in CLAIMS} <= set(families())
