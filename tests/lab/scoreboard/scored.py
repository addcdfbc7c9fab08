"""A device by hand, as the scoreboard scores it: planted times, of which one kernel is the 2016 paper's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import nan
from typing import Any

from perfmodel.facts import DeviceFacts
from perfmodel.models import find_family
from scripts.lab.scoreboard.ideas import Idea
from scripts.lab.scoreboard.scored_device import ScoredDevice
from scripts.lab.scoreboard.scoring import Scoring, Stamp
from tests.compare.test_protocols import MEASURED, TESTS
from tests.standins import Row, Rows

STAMP = Stamp("2026-01-02", "abc1234")
IDEA = Idea("stevens_kloeckner_2016", find_family("stevens_kloeckner_2016"))


@dataclass(frozen=True)
class TaggedRow(Row):
    tags: tuple[str, ...] = ()


class Stored(Rows):
    """Rows with the methods of a store that the scoreboard calls."""

    def with_facts(self, facts: DeviceFacts | None) -> Stored:
        return Stored(self.rows, self.counts, self.device, facts)

    def of_kernels(self, *names: str) -> Stored:
        return Stored(tuple(row for row in self.rows if row.kernel in names), self.counts, self.device, self.facts)

    def __len__(self) -> int:
        return len(self.rows)


def tagged(row: Row, **changed: Any) -> TaggedRow:
    values = {name: getattr(row, name) for name in row.__dataclass_fields__}
    return TaggedRow(**{**values, "tags": ("paper",) if row.kernel == "other" else (), **changed})


def device(name: str = "toy", noise: Mapping[str, float] | None = None, called: str = "stand-in") -> ScoredDevice:
    """Return the device of ``tests/compare/test_protocols.py``; "other" is the paper's kernel."""
    known = noise or {}
    rows = tuple(tagged(row, disagreement=known.get(row.kernel, nan)) for row in TESTS.rows)
    measured = Stored(MEASURED.rows, MEASURED.counts, called)
    return ScoredDevice(name, measured, measured, Stored(rows, TESTS.counts, called))


def scoring(**changed: Any) -> Scoring:
    """Return a row of the scoreboard that reaches every goal."""
    good = Scoring(
        "2026-01-02", "abc1234", "toy", False, "gpuperf", "B", "tests", cases=20, error=0.1, factor=0.12, choices=5,
        regret=1.02, top1=0.6, top1_tied=0.8, tau=0.9, inside=0.9, width=1.5, oracle=0.04, weights=5, fit_s=0.5,
        predict_s=5e-5, score_s=2.0,
    )  # fmt: skip
    return replace(good, **changed)
