"""The page on real GPUs: its tables from planted rows, and the committed one's marks."""

from __future__ import annotations

from pathlib import Path

from scripts.lab.real_gpus.page import CLAIMS, COMMAND, PARTS

ROOT = Path(__file__).resolve().parents[3]


def test_the_committed_page_has_every_part_and_what_the_papers_claim_names_families():
    page = (ROOT / "docs" / "lab" / "real-gpus.md").read_text()
    assert all(f"<!-- {name}: drawn by {COMMAND} -->" in page for name in PARTS)
    from perfmodel.models import families

    assert {claim.family for claim in CLAIMS} <= set(families())
