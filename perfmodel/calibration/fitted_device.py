"""Model families fitted to what a device's folder holds, and judged on its test kernels; needs no device."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from perfmodel import store
from perfmodel.calibration.refit import CORE, FittedFamilies, fit_all
from perfmodel.compare import Comparison, Contender, compare, fit_and_evaluate, summarise
from perfmodel.compare.contenders import contenders
from perfmodel.compare.verdict import Verdict, judge
from perfmodel.fitting import FitOptions, write_whole
from perfmodel.fitting.device_folder import measured_folder, tests_of
from perfmodel.fitting.facts.measured_facts import with_measured_facts
from perfmodel.measuring.progress import Progress, Silent
from perfmodel.models import families
from perfmodel.predict import FittedModel, fit
from perfmodel.report import Judged, families_table

if TYPE_CHECKING:
    from perfmodel.models import Family

VERDICT_FILE = "verdict.txt"


@dataclass(frozen=True, eq=False)
class FittedDevice:
    """All families fitted to one device and judged on its test kernels.

    Parameters
    ----------
    folder
        Folder with the weights files and the verdict.
    families
        The fitted models, the reasons where a family could not be fitted, and the measured test kernels.
    contenders
        The families side by side, on the same cases.
    """

    folder: Path
    families: FittedFamilies
    contenders: tuple[Contender, ...]

    @property
    def weights_files(self) -> dict[str, Path]:
        """The weights file of each fitted family, by the family's name."""
        return {name: self.folder / f"{name}.json" for name in sorted(self.families.models)}

    @cached_property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Predicted and measured times of the test kernels, by the family of the core paper."""
        model = self.families.models.get(CORE)
        return () if model is None else tuple(compare(model, self.families.tests))

    @cached_property
    def verdict(self) -> Verdict:
        """What the fit of the core paper's family may be used for."""
        return judge(summarise(self.comparisons))

    @property
    def text(self) -> str:
        """The content of ``verdict.txt``: the core paper's family in detail, and all families side by side."""
        problem = self.families.problems.get(CORE)
        core = f"{CORE} was not fitted: {problem}" if problem else self.families.verdict()
        return f"{core}\n\nall families on the same cases\n\n{families_table(self.contenders)}\n"


def files_of_all(folder: Path) -> tuple[Path, ...]:
    """Return the files that :func:`fit_device` may write into a folder."""
    return (*(folder / f"{name}.json" for name in families()), folder / VERDICT_FILE)


def fit_device(folder: Path, out: Path | None = None, progress: Progress | None = None) -> FittedDevice:
    """Fit every family to a device's folder; write the weights files and ``verdict.txt``.

    Parameters
    ----------
    folder
        Folder with ``measurements.jsonl`` and ``test.jsonl``.
    out
        Folder for the files that are written; `folder` by default.
    progress
        Listener to the fits.

    Raises
    ------
    StoreMissingError, ForeignDeviceError, OutputError
        As of :func:`perfmodel.calibration.refit.fit_all`.
    """
    bar, target = progress or Silent(), out or folder
    try:
        bar.start("fitting families", len(families()))
        fitted = fit_all(folder, target, bar.advance)
    finally:
        bar.stop()
    try:
        rivals = contenders(folder, begin=bar.start, advance=bar.advance)
    finally:
        bar.stop()
    found = FittedDevice(target, fitted, rivals)
    write_whole(target / VERDICT_FILE, found.text.encode())
    return found


def fit_family(
    source: Path, family: Family, options: FitOptions | None = None, measured_facts: bool = False
) -> FittedModel:
    """Fit one family to a folder or a file of measurements.

    Intervals also rest on the measured test kernels, where the folder holds them.

    Parameters
    ----------
    source
        Folder, or its ``.jsonl`` file.
    family
        The family.
    options
        How to fit.
    measured_facts
        Whether facts that can be read off the measurements are fixed instead of fitted.
    """
    measured = store.read(source)
    if measured_facts:
        measured = with_measured_facts(measured)
    folder = source if source.is_dir() else source.parent
    tests = tests_of(folder, measured) if (folder / store.TESTS_FILE).is_file() else None
    return fit(measured, family, options=options, others=tests)


def judge_family(
    folder: Path, family: Family, options: FitOptions | None = None, measured_facts: bool = False, level: float = 0.9
) -> Judged:
    """Fit one family to a device's folder and judge it by every protocol.

    Raises
    ------
    StoreMissingError, ForeignDeviceError
        As of :func:`perfmodel.fitting.device_folder.measured_folder`.
    MissingFactError
        If the family needs an unknown fact of the device and the options do not let it be fitted.
    """
    measured, tests = measured_folder(folder, measured_facts)
    return Judged(*fit_and_evaluate(measured, tests, family, level=level, options=options))
