"""What is measured on a device, as the scoreboard divides it: measurement kernels, the 2016 paper's kernels, others."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from perfmodel.fitting.device_folder import measured_folder
from perfmodel.fitting.throughput import with_measured_facts
from scripts.lab.scoreboard.ideas import Idea

if TYPE_CHECKING:
    from perfmodel.store import Measurements

PAPER_TAG = "paper"
"""Tag of the test kernels of the 2016 paper, which are scored at tagged commits only."""
TESTS, PAPER, ALL, MEASURED = "tests", "paper", "all", "measured"
"""Sets of kernels: test kernels that are not the paper's, the paper's, both, and measurement kernels."""
SIMULATED = "simulated"
"""A word in the name of every device that is a simulation."""


@dataclass(frozen=True, eq=False)
class ScoredDevice:
    """What is measured on a device.

    Parameters
    ----------
    name
        Name of its folder.
    plain, known
        Measurement kernels without and with the facts that can be read off them.
    tests
        Test kernels.
    """

    name: str
    plain: Measurements
    known: Measurements
    tests: Measurements

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
    """Read a device's folder; see :func:`perfmodel.fitting.device_folder.measured_folder` for errors."""
    plain, tests = measured_folder(folder, measured_facts=False)
    return ScoredDevice(folder.name, plain, with_measured_facts(plain), tests)
