"""A device by hand, as the scoreboard scores it: planted times, of which one kernel is the 2016 paper's."""

from collections.abc import Mapping
from dataclasses import replace
from math import nan
from typing import Any

from perfmodel.models import find_family
from scripts.lab.scoreboard.ideas import Idea
from scripts.lab.scoreboard.scored_device import ScoredDevice
from scripts.lab.scoreboard.scoring import Scoring, Stamp
from tests.compare.test_protocols import MEASURED, TESTS

STAMP = Stamp("2026-01-02", "abc1234")
IDEA = Idea("stevens_kloeckner_2016", find_family("stevens_kloeckner_2016"))


def device(name: str = "toy", noise: Mapping[str, float] | None = None, called: str = "stand-in") -> ScoredDevice:
    """Return the device of ``tests/compare/test_protocols.py``; "other" is the paper's kernel."""
    rows = tuple(
        replace(row, disagreement=(noise or {}).get(row.kernel, nan), tags=("paper",) * (row.kernel == "other"))
        for row in TESTS.rows
    )
    measured = replace(MEASURED, device=called)
    return ScoredDevice(name, measured, measured, replace(TESTS, rows=rows, device=called))


def scoring(**changed: Any) -> Scoring:
    """Return a row of the scoreboard that reaches every goal."""
    good = Scoring(
        "2026-01-02", "abc1234", "toy", False, "gpuperf", "B", "tests", cases=20, error=0.1, factor=0.12, choices=5,
        regret=1.02, top1=0.6, top1_tied=0.8, tau=0.9, inside=0.9, width=1.5, oracle=0.04, weights=5, fit_s=0.5,
        predict_s=5e-5, score_s=2.0,
    )  # fmt: skip
    return replace(good, **changed)
