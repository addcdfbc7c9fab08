"""A study: an experiment of a paper, what was measured for it, and what comes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from perfmodel.compare import compare
from perfmodel.errors import FactsError, UnmeasuredFeatureError
from perfmodel.models import families
from perfmodel.predicting.model import load
from perfmodel.store import TESTS_FILE, Measurement, read
from perfmodel.values import FrozenValue
from scripts.lab.studies.claim import Claim

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from perfmodel.compare.comparison import Comparisons
    from perfmodel.facts import DeviceFacts
    from perfmodel.predicting.model import FittedModel
    from perfmodel.predicting.prediction import Prediction
    from perfmodel.store import Measurements

#: Records of one table: the content of each column, by the column's name.
Records = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, eq=False)
class StudyData(FrozenValue):
    """The data of a study: its own measurements on a device, and that device's fitted models."""

    facts: DeviceFacts  # what is known of the device, and is found from its measurements
    # The study's measurements, those that failed left out, with these facts; None of a study without kernels.
    measured: Measurements | None
    failed: tuple[Measurement, ...]  # records of configurations that could not run, each with its status and message
    folder: Path  # the device's folder, with its measurement kernels, test kernels and weights
    recommended: str  # the family that predictions of this device should use
    _models: dict[str, FittedModel] = field(default_factory=dict, repr=False)
    _cases: dict[str, Comparisons] = field(default_factory=dict, repr=False, init=False)  # of these measurements

    @property
    def is_cpu(self) -> bool:
        """Whether the device is known to be a CPU."""
        return "device_type" in self.facts and self.facts.value("device_type") == "cpu"

    @property
    def families(self) -> tuple[str, ...]:
        """The families that the folder has weights of."""
        return tuple(name for name in families() if (self.folder / f"{name}.json").is_file())

    @cached_property
    def tests(self) -> Measurements:
        """The measured test kernels of the device's folder."""
        return read(self.folder / TESTS_FILE).with_facts(self.facts)

    def model(self, family: str = "") -> FittedModel:
        """Return a fitted model of the folder; by default of the recommended family."""
        name = family or self.recommended
        if name not in self._models:
            self._models[name] = load(self.folder / f"{name}.json")
        return self._models[name]

    def cases(self, family: str = "") -> Comparisons:
        """Return measured next to predicted times of all configurations that ran."""
        from perfmodel.compare.comparison import Comparisons

        if self.measured is None:
            return Comparisons()
        name = family or self.recommended
        if name not in self._cases:
            self._cases[name] = compare(self.model(name), self.measured)
        return self._cases[name]


def predictions(kernel: Any, sizes: Mapping[str, int], models: Mapping[str, FittedModel]) -> dict[str, Prediction]:
    """Return the predictions of a kernel, or of its counts, by family, without withheld ones."""
    found = {}
    for name, model in models.items():
        with suppress(FactsError, UnmeasuredFeatureError):
            found[name] = model.predict(kernel, sizes)
    return found


@dataclass(frozen=True, eq=False)
class Findings:
    """What comes out of a study on one device."""

    claims: tuple[Claim, ...]  # the paper's claims, each with the result here
    # By name the records of each table, which is written as CSV. The name "" gives a file of the study's name.
    tables: Mapping[str, Records]
    pictures: Mapping[str, Figure] = field(default_factory=lambda: MappingProxyType({}))  # by name the figures


@dataclass(frozen=True, eq=False)
class Study:
    """An experiment of a paper that can be run again."""

    name: str  # its name on the command line, and of its files
    title: str  # what it is about, in one line
    source: str  # the paper, its sections and figures
    page: str  # name of the paper's page in docs/papers, as ``karsin-2018``
    # Names of its classes in ``test_kernels/papers``; none where it looks at what is measured already.
    kernels: tuple[str, ...]
    examine: Callable[[StudyData], Findings]  # makes the tables, pictures and claims
