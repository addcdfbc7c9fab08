"""What is measured on a device, as the scoreboard divides it: measurement kernels, the 2016 paper's kernels, others."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from perfmodel.fitting.device_folder import recorded_folder
from perfmodel.fitting.throughput import with_measured_facts
from perfmodel.store import Measurements
from scripts.lab.scoreboard.ideas import Idea

PAPER_TAG = "paper"
"""Tag of the test kernels of the 2016 paper, which are scored at tagged commits only."""
TESTS, PAPER, ALL, MEASURED, OTHERS = "tests", "paper", "all", "measured", "recorded"
"""Sets of kernels: test kernels that are not the paper's, the paper's, both, measurement kernels, and recorded ones."""
SIMULATED = "simulated"
"""A word in the name of every device that is a simulation."""


@dataclass(frozen=True, eq=False)
class ScoredDevice:
    """What is measured on a device."""

    name: str  # name of its folder
    # plain, known: measurement kernels without and with the facts that can be read off them.
    plain: Measurements
    known: Measurements
    tests: Measurements  # test kernels
    # Whether others recorded the times: variants of measured kernels are alternatives, and it has no tests.
    recorded: bool = False

    @property
    def simulated(self) -> bool:
        """Whether it is a simulation."""
        return SIMULATED in self.plain.device.lower()

    def rows(self, idea: Idea) -> Measurements:
        """Return the measured rows with the facts that an idea takes."""
        return self.known if idea.measured_facts else self.plain

    def tests_of(self, idea: Idea, kernels: str) -> Measurements:
        """Return the test kernels of a set, with the facts that an idea takes."""
        tests = self.tests.with_facts(self.rows(idea).facts)
        return tests if kernels == ALL else tests.of_kernels(*self.kernels_of(kernels))

    def kernels_of(self, kernels: str) -> frozenset[str]:
        """Return the names of the test kernels of a set."""
        paper = frozenset(row.kernel for row in self.tests if PAPER_TAG in row.tags)
        every = frozenset(row.kernel for row in self.tests)
        return {PAPER: paper, TESTS: every - paper, ALL: every}[kernels]


def read_scored(folder: Path) -> ScoredDevice:
    """Read a device's folder; see :func:`perfmodel.fitting.device_folder.recorded_folder` for errors."""
    plain, tests, _ = recorded_folder(folder)
    known, recorded = with_measured_facts(plain), bool(plain.known_facts.recorded)
    return ScoredDevice(folder.name, plain, known, Measurements((), {}) if tests is None else tests, recorded)
