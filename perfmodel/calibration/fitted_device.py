"""Model families fitted to what a device's folder holds, and judged on its test kernels; needs no device."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from perfmodel import store
from perfmodel.calibration.recommended import CANDIDATES, RECOMMENDED_FILE, Recommended, candidates, recommended
from perfmodel.compare import Comparison, Contender, compare, fit_and_evaluate, summarise
from perfmodel.compare.contenders import contenders
from perfmodel.compare.protocols import UNASKED
from perfmodel.compare.verdict import Verdict, judge
from perfmodel.errors import OptionError, PerfModelError
from perfmodel.fitting import FamilyFits, FitOptions
from perfmodel.fitting.device_folder import measured_folder, tests_of, with_given_facts
from perfmodel.fitting.facts.measured_facts import with_measured_facts
from perfmodel.io import write_whole
from perfmodel.lazy import Lazy
from perfmodel.models import families
from perfmodel.predicting.model import FittedModel, fit, fitted_model
from perfmodel.progress import FailedStep, Progress, Silent, task
from perfmodel.report import Judged, error_table, families_table

if TYPE_CHECKING:
    from perfmodel.facts import Fact
    from perfmodel.models import Family
    from perfmodel.store import Measurements

CORE = "stevens_kloeckner_2016"
"""The family that is fitted unless another is asked for."""
VERDICT_FILE = "verdict.txt"


@dataclass(frozen=True, eq=False)
class FittedDevice(Lazy):
    """All families fitted to one device and judged on its test kernels, which no fit has seen.

    Parameters
    ----------
    folder
        Folder with the weights files and the verdict.
    device
        Name of the device.
    models, problems
        By the family's name: its fitted model, or the reason why it could not be fitted, in one line.
    candidates
        The families that could be chosen.
    chosen
        The family of these that predictions should use (:func:`perfmodel.calibration.recommended.recommended`); ""
        of none.
    comparisons
        Predicted and measured times of the test kernels, by that family.
    contenders
        The families side by side, on the same cases.
    notes
        What to know of the measurements (:attr:`perfmodel.store.Measurements.notes`).
    """

    folder: Path
    device: str
    models: Mapping[str, FittedModel]
    problems: Mapping[str, str]
    candidates: tuple[str, ...]
    chosen: str
    comparisons: tuple[Comparison, ...]
    contenders: tuple[Contender, ...]
    notes: tuple[str, ...] = ()

    @property
    def weights_files(self) -> dict[str, Path]:
        """The weights file of each fitted family, by the family's name."""
        return {name: self.folder / f"{name}.json" for name in sorted(self.models)}

    @cached_property
    def verdict(self) -> Verdict:
        """What the fit of the chosen family may be used for."""
        return judge(summarise(self.comparisons))

    @property
    def text(self) -> str:
        """The content of ``verdict.txt``: the chosen family in detail, and all families side by side."""
        if not self.chosen:
            lost = (name for name in CANDIDATES if name in self.problems)
            core = "\n".join(f"{name} was not fitted: {self.problems[name]}" for name in lost)
        else:
            reasons = "\n".join(f"- {reason}" for reason in self.verdict.reasons)
            errors = error_table(self.comparisons)
            why = f"It predicts measured kernels best that its fit has not seen, of {', '.join(self.candidates)}."
            core = f"{self.chosen} on {self.device}\n{why}\n\n{errors}\n\nverdict: {self.verdict.text}\n{reasons}\n"
        core += "".join(f"note: {note}\n" for note in self.notes)
        return f"{core}\n\nall families on the same cases\n\n{families_table(self.contenders)}\n"


def files_of_all(folder: Path) -> tuple[Path, ...]:
    """Return the files that :func:`fit_device` may write into a folder."""
    return (*(folder / f"{name}.json" for name in families()), folder / RECOMMENDED_FILE, folder / VERDICT_FILE)


def fit_device(
    folder: Path,
    out: Path | None = None,
    progress: Progress | None = None,
    names: Sequence[str] = (),
    given: Mapping[str, Fact] | None = None,
) -> FittedDevice:
    """Fit every family to a device's folder; write ``<family>.json`` for each, which to use, and ``verdict.txt``.

    A family that cannot be fitted is reported in the result; the others are fitted all the same.

    Parameters
    ----------
    folder
        Folder with ``measurements.jsonl`` and ``test.jsonl``.
    out
        Folder for the files that are written; `folder` by default.
    progress
        Listener to the fits.
    names
        The families; all of them by default.
    given
        Facts of the device, by key; they replace what is known.

    Raises
    ------
    StoreMissingError, ForeignDeviceError
        As of :func:`perfmodel.fitting.device_folder.measured_folder`.
    OutputError
        If a file cannot be written.
    """
    bar, target = progress or Silent(), out or folder
    measured, tests = measured_folder(folder, measured_facts=False, given=given)
    wanted = {name: family for name, family in families().items() if not names or name in names}
    with task(bar, "fitting families", len(wanted)):
        models, problems, fits = _fit_families(measured, tests, wanted, target, bar.advance)
    try:
        rivals = contenders(folder, tuple(wanted), begin=bar.start, advance=bar.advance, made=fits)
    finally:
        bar.stop()
    possible = [name for name in candidates(measured.facts) if name in models]
    chosen = recommended(fits[name] for name in possible)
    Recommended(family=chosen, candidates=tuple(possible)).save(target)
    rows = compare(models[chosen], tests) if chosen else ()
    notes = (*measured.notes, *tests.notes)
    found = FittedDevice(target, measured.device, models, problems, tuple(possible), chosen, rows, rivals, notes)
    write_whole(target / VERDICT_FILE, found.text.encode())
    return found


def _fit_families(
    measured: Measurements, tests: Measurements, wanted: Mapping[str, Family], target: Path,
    advance: Callable[[str], None],
) -> tuple[dict[str, FittedModel], dict[str, str], dict[str, FamilyFits]]:
    """Fit and save families; return the models, the problem of each that cannot be fitted, and the fits."""
    models, problems, fits = {}, {}, {}
    for name, family in wanted.items():
        fits[name] = FamilyFits(measured, family, FitOptions(), tests)
        try:
            models[name] = fitted_model(fits[name])
        except PerfModelError as error:
            problems[name] = " ".join(str(error).split())
            advance(FailedStep(name, problems[name]))
        else:
            models[name].save(target / f"{name}.json")
            advance(name)
    return models, problems, fits


def fit_family(
    source: Path, family: Family, options: FitOptions | None = None, measured_facts: bool = False,
    given: Mapping[str, Fact] | None = None, driver: str | None = None,
) -> FittedModel:
    """Fit one family to measurements in a folder, or in its ``.jsonl`` file.

    Intervals also rest on the measured test kernels, where the folder holds them. With `measured_facts`,
    facts that can be read off the measurements are fixed instead of fitted; so are the `given` ones. With `driver`,
    only what was measured with that version of the driver is used.

    Raises
    ------
    OptionError
        If nothing was measured with that driver.
    """
    measured = store.read(source)
    if driver is not None:
        known = sorted({row.driver for row in measured.rows})
        if driver not in known:
            raise OptionError(f"nothing in '{source}' was measured with the driver '{driver}'", f"give one of {known}")
        measured = measured.of_driver(driver)
    if measured_facts:
        measured = with_measured_facts(measured)
    measured = with_given_facts(measured, given)
    folder = source if source.is_dir() else source.parent
    tests = tests_of(folder, measured, store.TESTS_FILE) if (folder / store.TESTS_FILE).is_file() else None
    return fit(measured, family, options=options, others=tests)


def judge_family(
    folder: Path,
    family: Family,
    options: FitOptions | None = None,
    measured_facts: bool = False,
    level: float = 0.9,
    protocols: Sequence[str] = UNASKED,
    given: Mapping[str, Fact] | None = None,
    tests: str = store.TESTS_FILE,
) -> Judged:
    """Fit one family to a device's folder and judge it by some protocols on the kernels measured into its file `tests`.

    Facts are as of :func:`fit_family`.

    Raises
    ------
    StoreMissingError, ForeignDeviceError
        As of :func:`perfmodel.fitting.device_folder.measured_folder`.
    MissingFactError
        If the family needs an unknown fact of the device and the options do not let it be fitted.
    """
    measured, tested = measured_folder(folder, measured_facts, given, tests)
    return Judged(
        *fit_and_evaluate(measured, tested, family, level=level, options=options, protocols=protocols)
    )
