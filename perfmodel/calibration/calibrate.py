"""Calibrates a device: probes and measures it, fits every model family, and judges the fits on test kernels."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from time import monotonic
from typing import TypeAlias

from perfmodel import measuring, store
from perfmodel.calibration.kernel_choice import MEASUREMENT_KERNELS, TEST_KERNELS, discovered, sampling
from perfmodel.calibration.recommended import CANDIDATES, RECOMMENDED_FILE, Recommended, candidates, recommended
from perfmodel.compare import Comparison, Contender, compare, summarise
from perfmodel.compare.comparison import Verdict, error_table, judge
from perfmodel.compare.contenders import LEVEL, contenders, families_table
from perfmodel.compare.protocols import PROTOCOLS, TESTLESS, Judged, evaluate_fits, folds_of
from perfmodel.display import columns_text, percent
from perfmodel.errors import FitError, OptionError, PerfModelError
from perfmodel.facts import ROOFS_FILE, DeviceFacts, Fact
from perfmodel.facts.doubts import contradictions, disturbed_probes
from perfmodel.fitting import FamilyFits, FitOptions
from perfmodel.fitting.design import Evaluate, evaluate_rows
from perfmodel.fitting.device_folder import part_of, recorded_folder, with_given_facts
from perfmodel.fitting.evaluated import evaluated_in_processes
from perfmodel.fitting.throughput import save_roofs
from perfmodel.io import write_whole
from perfmodel.kernels import KernelClass
from perfmodel.measuring.campaign import BRIEF_CHECK, CHECK, DEFAULT, FULL, QUICK, QUICK_CHECK, Campaign
from perfmodel.measuring.probes.campaign import measure_probes
from perfmodel.measuring.probes.probe import BRIEF, THOROUGH
from perfmodel.measuring.run import AllMade, expected_making_s, make_kernels
from perfmodel.models import Family, families
from perfmodel.opencl import Device
from perfmodel.predicting.model import FittedModel, fit, fitted_model
from perfmodel.progress import FailedStep, Phase, Phases, Progress, Silent, task
from perfmodel.store.files import no_store, read_probes
from perfmodel.store.measurement import LOADED
from perfmodel.values import FrozenValue

CORE = "stevens_kloeckner_2016"  # the family that is fitted by default
VERDICT_FILE = "verdict.txt"
UNTESTED = "groups"  # the protocol of the verdict on a folder without test kernels


@dataclass(frozen=True, eq=False)
class FittedDevice(FrozenValue):
    """All families fitted to one device and judged on its test kernels, which no fit has seen.

    `models` has the fitted model of each family by name. `problems` has the reason why a family could not be fitted.
    `chosen` is the family of `candidates` to use for predictions, or "" if no family can be used. `comparisons` has the
    times of the test kernels, measured and predicted by the chosen family. Without test kernels, `comparisons` has the
    measured kernels, each predicted by a fit without its group. `samples` has the times of the random samples. `phases`
    has the duration of each task.
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
    samples: tuple[Comparison, ...] = ()
    phases: tuple[Phase, ...] = ()

    @property
    def weights_files(self) -> dict[str, Path]:
        """The weights file of each fitted family, by the family's name."""
        return {name: self.folder / f"{name}.json" for name in sorted(self.models)}

    @cached_property
    def verdict(self) -> Verdict:
        """What the fit of the chosen family may be used for."""
        return judge(summarise(self.comparisons), summarise(self.samples) if self.samples else None)

    @cached_property
    def text(self) -> str:
        """The content of ``verdict.txt``: the chosen family in detail, and all families side by side."""
        return f"{self.core}\n\nall families on the same cases\n\n{families_table(self.contenders)}\n"

    @cached_property
    def core(self) -> str:
        """The chosen family in detail, and notes on the measurements."""
        notes = "".join(f"note: {note}\n" for note in self.notes)
        if not self.chosen:
            lost = (name for name in CANDIDATES if name in self.problems)
            return "\n".join(f"{name} was not fitted: {self.problems[name]}" for name in lost) + notes
        why = "It is the only family that can be used here."
        if len(self.candidates) > 1:
            why = f"It predicts measured kernels best that its fit has not seen, of {', '.join(self.candidates)}."
        errors = error_table(self.comparisons) + (f"\n\n{self._sample_table}" if self.samples else "")
        head = f"{self.chosen} on {self.device}, {self.models[self.chosen].clock_text}\n{why}"
        reasons = "\n".join(f"- {reason}" for reason in self.verdict.reasons)
        return f"{head}\n\n{errors}\n\nverdict: {self.verdict.text}\n{reasons}\n{notes}"

    @property
    def _sample_table(self) -> str:
        table = [("kernels that no fit has seen", "cases", "predicted", "error", "mean factor", "tau")]
        for name, rows in (("kernels above", self.comparisons), ("random samples", self.samples)):
            of = summarise(rows)
            tau, factor = f"{of.tau:.2f}" if of.choices else "-", f"{of.mean_factor:.2f}"
            table.append((name, str(of.cases), str(of.cases - of.withheld), percent(of.error), factor, tau))
        return columns_text(table, left=1)


def files_of_all(folder: Path) -> tuple[Path, ...]:
    """Return the files that :func:`fit_device` may write into a folder."""
    names = (*(f"{name}.json" for name in families()), RECOMMENDED_FILE, ROOFS_FILE, VERDICT_FILE)
    return tuple(folder / name for name in names)


def fit_device(
    folder: Path, out: Path | None = None, progress: Progress | None = None, names: Sequence[str] = (),
    given: Mapping[str, Fact] | None = None,
) -> FittedDevice:  # fmt: skip
    """Fit every family, or the named ones, to a device's folder. Write weights, recommendation and verdict into `out`.

    A family with negative weights may predict times below zero and is not recommended. If no candidate is left, the
    linear model is fitted again without negative weights. `given` facts, by key, replace the known facts of the device.
    """
    bar, target = progress or Silent(), out or folder
    measured, tests, samples = recorded_folder(folder, given)
    wanted = {name: family for name, family in families().items() if not names or name in names}
    parts = [part for part in (measured, tests, samples) if part is not None]
    evaluate: Evaluate = evaluated_in_processes(parts, tuple(wanted.values()), bar) or evaluate_rows
    models, problems, options, folds = dict[str, FittedModel](), dict[str, str](), FitOptions(), folds_of(tests)
    fits = {
        name: FamilyFits(measured, family, options, tests, folds, evaluate, samples=samples)
        for name, family in wanted.items()
    }

    def fit_one(name: str, report: Callable[[str], None]) -> None:
        try:
            models[name] = fitted_model(fits[name])
        except PerfModelError as error:
            problems[name] = " ".join(str(error).split())
            report(FailedStep(name, problems[name]))
        else:
            models[name].save(target / f"{name}.json")
            report(name)

    with task(bar, "fitting families", len(wanted)):
        for name in wanted:
            fit_one(name, bar.advance)
        if CORE in models and not _possible(measured, models):  # a linear model with weights >= 0 is better than none
            fits[CORE] = replace(fits[CORE], options=FitOptions(nonnegative=True))
            fit_one(CORE, bar.report)
    rivals = contenders(folder, tuple(wanted), progress=bar, made=fits)
    possible = tuple(_possible(measured, models))
    chosen = recommended(fits[name] for name in possible)
    save_roofs(measured, target, samples)
    if tests is None:
        rows = evaluate_fits(fits[chosen], LEVEL, (UNTESTED,))[0].rows if chosen else ()
        notes = (f"there are no test kernels; the verdict is for {PROTOCOLS[UNTESTED]}", *measured.notes)
    else:
        rows = compare(models[chosen], tests) if chosen else ()
        notes = (*measured.notes, *tests.notes)
    if loaded := sum(LOADED in row.flags for row in measured):
        notes += (
            f"{loaded} of {len(measured)} times were measured while other programs used the machine, and may be too "
            "high: run the same command on a quiet machine, which measures them again",
        )
    notes += doubts_of(measured.facts, folder)
    sampled = compare(models[chosen], samples) if chosen and samples else ()
    fitted = FittedDevice(target, measured.device, models, problems, possible, chosen, rows, rivals, notes, sampled)
    Recommended(family=chosen, candidates=possible, verdict=fitted.verdict.text if chosen else "").save(target)
    write_whole(target / VERDICT_FILE, fitted.text.encode())
    return fitted


def doubts_of(facts: DeviceFacts | None, folder: Path) -> tuple[str, ...]:
    """Return doubts about the probes of a device's folder, in words: disturbed probes, and contradictions."""
    if facts is None:
        return ()
    return tuple(map(str, (*disturbed_probes(facts, read_probes(folder)), *contradictions(facts))))


def _possible(measured: store.Measurements, models: Mapping[str, FittedModel]) -> list[str]:
    return [name for name in candidates(measured.facts) if name in models and not models[name].below_zero]


def fit_family(
    source: Path, family: Family, given: Mapping[str, Fact] | None = None, driver: str | None = None
) -> FittedModel:
    """Fit one family to measurements in a folder, or in its ``.jsonl`` file.

    Intervals also use the measured test kernels and samples, if the folder holds any. `given` facts are fixed instead
    of fitted. With `driver`, only what was measured with that version of the driver is used.
    """
    measured = store.read(source)
    if driver is not None:
        known = sorted({row.driver for row in measured.rows})
        if driver not in known:
            raise OptionError(f"nothing in '{source}' was measured with the driver '{driver}'", f"give one of {known}")
        measured = measured.of_driver(driver)
    measured = with_given_facts(measured, given)
    folder = source if source.is_dir() else source.parent
    tests, samples = (part_of(folder, measured, file) for file in (store.TESTS_FILE, store.SAMPLES_FILE))
    return fit(measured, family, others=tests, samples=samples)


def judge_family(
    folder: Path, family: Family, level: float = 0.9, protocols: Sequence[str] | None = None,
    tests: str = store.TESTS_FILE,
) -> Judged:  # fmt: skip
    """Fit one family to a device's folder and judge it by protocols on the kernels measured into its file `tests`."""
    measured, tested, samples = recorded_folder(folder, tests=tests)
    if tested is None and not set(protocols or ()) <= set(TESTLESS):
        raise no_store(folder / tests)
    fits = FamilyFits(measured, family, FitOptions(), tested, folds_of(tested), samples=samples)
    return Judged(fitted_model(fits), evaluate_fits(fits, level, protocols))


#: The duration of each phase after the kernels are made, on PoCL with two cores, by campaign [s].
EXPECTED_S: Mapping[str, Mapping[str, float]] = {
    "quick": {"probes": 10, "measurement kernels": 50, "test kernels": 10, "samples": 5, "fits": 25},
    "default": {"probes": 30, "measurement kernels": 90, "test kernels": 20, "samples": 20, "fits": 45},
    "full": {"probes": 35, "measurement kernels": 2100, "test kernels": 200, "samples": 30, "fits": 240},
}
MAKING, FITS = "making kernels", "fits"
PARTS = ("measurement kernels", "test kernels", "samples")
QUICK_S, DEFAULT_S = 130.0, 300.0  #: No measurement of a quick, or a default calibration begins later [s]
LEAST = 0.6  # share of a calibration's own budget that probes leave to measuring, also on a busy machine [1]
SHARES = (0.8, 0.2, 0.1)  #: Share of a budget for measurement kernels, least shares for test kernels and samples [1]

Kernels: TypeAlias = Iterable[KernelClass] | None  # Kernel classes of a user; None for the shipped classes


def expected_phases(campaign: Campaign, device: Device, made_first: bool) -> dict[str, float]:
    """Return the approximate duration [s] of each phase of a calibration on two cores, by name."""
    making_s = expected_making_s(_parts(campaign, None, None), device) if made_first else 0.0
    phases = {MAKING: making_s, **EXPECTED_S[campaign.name]}
    measured_s = sum(seconds for name, seconds in phases.items() if name not in {MAKING, FITS})
    share = 1.0 if campaign.budget_s is None else min(1.0, campaign.budget_s / measured_s)
    return {name: seconds * (1.0 if name in {MAKING, FITS} else share) for name, seconds in phases.items()}


def _parts(campaign: Campaign, kernels: Kernels, tests: Kernels) -> list[tuple[Iterable[KernelClass], Campaign]]:
    check = {QUICK.name: QUICK_CHECK, FULL.name: CHECK}.get(campaign.name, BRIEF_CHECK)
    part, shipped = sampling(campaign)
    return [
        (discovered(None, MEASUREMENT_KERNELS) if kernels is None else kernels, campaign),
        (discovered(None, TEST_KERNELS) if tests is None else tests, check),
        *([(shipped, part)] if kernels is None else []),
    ]


def probe_device(
    device: Device, folder: Path, campaign: Campaign = DEFAULT, progress: Progress | None = None, again: bool = False
) -> None:
    """Run the probes that a device's folder lacks, or all with `again`. A quick campaign probes briefly."""
    measure_probes(device, folder, progress, BRIEF if campaign.name == QUICK.name else THOROUGH, again)


def measure_device(
    device: Device, folder: Path, campaign: Campaign = DEFAULT, progress: Progress | None = None,
    kernels: Kernels = None, tests: Kernels = None, made: AllMade | None = None,
) -> None:  # fmt: skip
    """Measure measurement kernels, test kernels and samples as :func:`calibrate`. Each has a share of the budget."""
    began, budget_s = monotonic(), campaign.budget_s
    files = (folder, folder / store.TESTS_FILE, folder / store.SAMPLES_FILE)
    for index, (classes, part) in enumerate(_parts(campaign, kernels, tests)):
        if budget_s is not None:
            left_s = budget_s - (monotonic() - began) if index else 0.0
            part = replace(part, budget_s=max(left_s, SHARES[index] * budget_s))
        if isinstance(progress, Phases):
            progress.part = PARTS[index]
        measuring.measure(classes, device, files[index], progress, part, made=made)
    if isinstance(progress, Phases):
        progress.part = ""


def calibrate(
    device: Device, folder: Path, campaign: Campaign = DEFAULT, progress: Progress | None = None,
    kernels: Kernels = None, tests: Kernels = None, *, made_first: bool = False,
) -> FittedDevice:  # fmt: skip
    """Probe and measure a device, fit the families that can be recommended, and judge the fits on unseen kernels.

    If a call was stopped, the next call continues from what the folder holds. The campaign's budget covers probes,
    measurement kernels, test kernels and samples. Samples are measured only if `kernels` is None. With `made_first`,
    kernels are made before the budget begins. Raise a FitError if no measurement kernel was measured, because the
    budget is too small or all kernels fail.
    """
    store.prepare(folder, device.facts)  # a folder that cannot be used is refused before anything takes long
    phases = Phases(progress or Silent())
    made = make_kernels(_parts(campaign, kernels, tests), device, phases) if made_first else None
    began = monotonic()
    probe_device(device, folder, campaign, phases)
    if campaign.budget_s is not None:
        least_s = LEAST * campaign.budget_s if made_first else 0.0
        campaign = replace(campaign, budget_s=max(least_s, campaign.budget_s - (monotonic() - began)))
    measure_device(device, folder, campaign, phases, kernels, tests, made)
    return replace(fit_measured(folder, phases), phases=tuple(phases.done))


def fit_measured(folder: Path, progress: Progress | None = None) -> FittedDevice:
    """Fit families to a folder with measurements, as :func:`calibrate` does, and pack its counts."""
    measured = store.read(folder)
    if not len(measured):
        raise FitError(
            f"nothing was measured into '{folder}', so no weights were fitted: the budget ended before the first "
            "measurement, or every kernel failed",
            "give a larger --budget, or none, and run the same command again: it goes on",
        )
    fitted = fit_device(folder, progress=progress, names=candidates(measured.facts))
    store.pack(folder)
    return fitted
