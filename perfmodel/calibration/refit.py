"""Fit every model family to the measurements in a device's folder; needs no device."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from perfmodel.compare import compare, figures
from perfmodel.compare.verdict import judge
from perfmodel.errors import PerfModelError
from perfmodel.fitting.device_folder import measured_folder
from perfmodel.models import families
from perfmodel.predict import FittedModel, fit
from perfmodel.report import error_table

if TYPE_CHECKING:
    from perfmodel.store import Measurements

CORE = "stevens_kloeckner_2016"
"""The family that decides what a device's fit is good for."""


@dataclass(frozen=True)
class FittedFamilies:
    """All families fitted to one device.

    Parameters
    ----------
    models
        Each family's fitted model, by the family's name.
    problems
        For each family that could not be fitted the reason, in one line.
    tests
        The measured test kernels, which no fit has seen.
    """

    models: Mapping[str, FittedModel]
    problems: Mapping[str, str]
    tests: Measurements

    def verdict(self, family: str = CORE) -> str:
        """Return the errors of a family's predictions of the test kernels, and the verdict on them, as text."""
        rows = compare(self.models[family], self.tests)
        found = judge(figures(rows))
        reasons = "\n".join(f"- {reason}" for reason in found.reasons)
        return f"{family} on {self.tests.device}\n\n{error_table(rows)}\n\nverdict: {found.text}\n{reasons}\n"


def fit_all(
    folder: Path, out: Path | None = None, progress: Callable[[str], None] = lambda note: None
) -> FittedFamilies:
    """Fit every family to a device's folder and write ``<family>.json`` for each.

    A family that cannot be fitted is reported in the result; the others are fitted all the same.

    Parameters
    ----------
    folder
        Folder with ``measurements.jsonl`` and ``test.jsonl``.
    out
        Folder for the weights files; `folder` by default.
    progress
        Called after each family with its name, followed by ``: `` and the problem where there was one.

    Raises
    ------
    StoreMissingError, ForeignDeviceError
        As of :func:`perfmodel.fitting.device_folder.measured_folder`.
    OutputError
        If a file cannot be written.
    """
    measured, tests = measured_folder(folder, measured_facts=False)
    models: dict[str, FittedModel] = {}
    problems: dict[str, str] = {}
    for name in families():
        try:
            models[name] = fit(measured, name, others=tests)
        except PerfModelError as error:
            problems[name] = " ".join(str(error).split())
            progress(f"{name}: {problems[name]}")
            continue
        models[name].save((out or folder) / f"{name}.json")
        progress(name)
    return FittedFamilies(models, problems, tests)
