"""Runs of the variants of one user's kernel, timed as the measured rows of fits are, and compared in their outputs.

A *visit* is a series of runs of one variant at one size.
"""

import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

import numpy as np
from loopy import TranslationUnit

from perfmodel import store
from perfmodel.counts import KernelCounts
from perfmodel.display import bytes_text
from perfmodel.documents import canonical
from perfmodel.errors import PerfModelError, failed
from perfmodel.kernels import Parameters
from perfmodel.measuring.bench import Bench, Timekeeper
from perfmodel.measuring.campaign import Campaign
from perfmodel.measuring.lock import LoadWatch, locked
from perfmodel.measuring.run import NO_END
from perfmodel.measuring.size_plan import PlanError, naming, plan_sizes
from perfmodel.measuring.subject import FailedError, Subject, remembered, stage
from perfmodel.measuring.supervised import recorded_before, under_way
from perfmodel.opencl import Device, devices
from perfmodel.predicting.model import FittedModel
from perfmodel.progress import Progress, Silent
from perfmodel.store import Measurement
from perfmodel.tuning.agreement import REFERENCE, Agreement, OutputComparison, expected_outputs, output_names
from perfmodel.tuning.user_kernel import Arguments, Reference, UserKernel, Variant, check_given

T = TypeVar("T")

# Three visits of ten runs, more if they disagree, and fewer runs if they would take longer than 3 s.
TRIALS = Campaign(
    "trials", visits=3, most_visits=6, apart_s=1.0, memory_fraction=0.8, timeout_s=60.0, wait_s=600.0, enough_s=3.0
)


def row_key(name: str, sizes: Mapping[str, int]) -> tuple[str, str]:
    """Return the key of a variant at some sizes in :attr:`Trials.rows`."""
    return name, canonical(dict(sizes))


def index_of_device(model: FittedModel) -> str | None:
    """Return the index of a model's device on this machine, or None if the machine lacks it."""
    platform = model.facts.platform if model.facts else None
    here = [device for device in devices() if device.name == model.device and platform in (None, device.platform)]
    return str(here[0].index) if here else None


class Trials:
    """Runs variants of one kernel on a device, one visit at a time. The context manager locks the device.

    Parameters are as in :func:`perfmodel.tune`. The `ladder` holds sizes from small to large, from which :meth:`settle`
    chooses. `compare_at` are the sizes at which outputs are compared, by default the sizes of each run. Without
    `observes`, `statistics` has all statistics of the data. Call
    :func:`perfmodel.measuring.pin_threads` before devices are listed, as campaigns do. If the device does not work or
    stays in use, entering raises BrokenDeviceError or DeviceBusyError.
    """

    def __init__(
        self, device: Device, variants: Mapping[str, Variant], sizes: Mapping[str, int], campaign: Campaign = TRIALS,
        arguments: Arguments | None = None, *, kernel: str = "kernel", statistics: Mapping[str, float] | None = None,
        progress: Progress | None = None, compare: bool = True, tolerance: float | None = None,
        keep: Path | None = None, ladder: Sequence[Mapping[str, int]] = (), reference: Reference | None = None,
        compare_at: Mapping[str, int] | None = None, observes: bool = True,
    ) -> None:  # fmt: skip
        self.device, self.sizes, self.campaign = device, dict(sizes), campaign
        self.kernel = UserKernel(kernel, variants, arguments, ladder or (self.sizes,), campaign.seed, observes)
        self.variants = self.kernel.variants
        # The joined record of all visits by row_key(); its output may be wrong, and judged() returns a failure then.
        self.rows: dict[tuple[str, str], Measurement] = {}
        self.compares, self._tolerance, self._reference = compare, tolerance, reference
        self._compare_at = None if compare_at is None else dict(compare_at)
        self._progress, self._keep, self._statistics = progress or Silent(), keep, dict(statistics or {})
        self._counts: dict[str, KernelCounts] = {}
        self._tried: dict[tuple[str, str], float | FailedError] = {}
        self._comparisons: dict[str, OutputComparison] = {}
        self._spent = defaultdict[str, float](float)
        self._earlier = defaultdict[tuple[str, str], list[Measurement]](list)
        self._stack = ExitStack()

    def __enter__(self) -> "Trials":
        if self._keep is not None:
            store.prepare(self._keep, self.device.facts)
            for row in recorded_before(self._keep):  # records of earlier processes of this supervised command
                if row.kernel == self.kernel.name:
                    self._earlier[row_key(str(row.variant.get("variant")), row.parameters)].append(row)
        with ExitStack() as stack:
            stack.enter_context(locked(self.device.facts, self._progress, self.campaign.wait_s))
            self.bench = Bench(self.device, self.campaign)
            watch = LoadWatch(self._progress.report)
            given = self._statistics, self.sizes
            self.timekeeper = Timekeeper(self.bench, self.bench.launch_overhead(), *given, watch=watch)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, raised: type[BaseException] | None, *more: object) -> None:
        with self._stack:
            if raised is None and self._keep is not None:
                self._keep_judgements(self._keep)

    def visit(self, name: str, sizes: Mapping[str, int] | None = None, *, enough_s: float | None = None) -> Measurement:
        """Visit a variant, and return the record of this visit, also of a failure.

        The first visit to a variant builds it. The first visit at these sizes (by default the trials' own) compares its
        output. Without a reference an output is judged only after other variants have run (:meth:`judged`). Runs end
        after `enough_s` [s].
        """
        at = self._prepared(name, sizes)
        key = row_key(name, at)
        row = self._earlier[key].pop(0) if self._earlier[key] else None
        if row is None or row.status == "ok":  # a variant with an earlier row runs again, for its output
            visited = self._watched(name, at, lambda: self._visited(name, at, enough_s, row))
            if self._keep is not None and visited is not row:
                store.append(self._keep, visited, self.timekeeper.counts_of(visited))
            row = visited
        self.rows[key] = row.after(self.rows.get(key))
        return row

    def build(self, name: str) -> float | None:
        """Build a variant and compare its output, like a first visit. Return the time [s], or None if that fails."""
        at = self._prepared(name)
        if self._failed_before(name, at) is None:
            with suppress(FailedError), self._spending(name):
                self._watched(name, at, lambda: self._first_run(name, at))
                return self._first_run(name, at)
        return None

    def compare(self, name: str) -> Measurement | None:
        """Run a variant to compare its output, without timing. Return the record of a failure."""
        at = self._prepared(name)
        row = self._failed_before(name, at)
        if row is None:
            row = self._watched(name, at, lambda: self._compared(name, at))
            if self._keep is not None and row is not None:
                store.append(self._keep, row)
        if row is not None:
            self.rows[row_key(name, at)] = row
        return row

    def agreement(self, sizes: Mapping[str, int] | None = None) -> Agreement:
        """Return the variants with the same outputs at some sizes, in groups."""
        comparison = self._comparisons.get(canonical(self._compare_at or self._at(sizes)))
        return comparison.agreement if comparison else Agreement()

    def judged(self, name: str, sizes: Mapping[str, int] | None = None) -> Measurement | None:
        """Return the record of all visits to a variant, or None without a visit. A wrong output is a failure."""
        at = self._at(sizes)
        row, agreement = self.rows.get(row_key(name, at)), self.agreement(at)
        if name not in agreement.wrong or (row and row.status != "ok"):
            return row
        return self._failed(name, FailedError("correctness", agreement.difference(name)), at)

    def count(self, name: str) -> KernelCounts:
        """Count a variant for the device, without generating code. Raise TrialError if it cannot be built."""
        if name not in self._counts:
            self._counts[name] = self._counted(name, check=False)
        return self._counts[name]

    @property
    def counting(self) -> dict[str, Any]:
        """The options of :func:`perfmodel.count` for a variant."""
        return {"subgroup_size": self.bench.fact("subgroup_size"), "statistics": self._statistics}

    def recall(self, row: Measurement) -> bool:
        """Use an earlier record as a visit if device, sizes, and code or counts are equal. Return whether they are."""
        name = str(row.variant.get("variant"))
        if name not in self.variants or canonical(row.parameters) != canonical(self.sizes):
            return False
        try:
            subject = self.kernel.subject(name)
        except FailedError:
            return False
        now = self.timekeeper.failed(subject, NO_END, self.sizes)
        if not subject.hash:
            return False
        if not now.matches(row):
            with suppress(PerfModelError, FailedError):
                now = now.model_copy(update={"counts_hash": self.count(name).hash})
            if not now.matches(row):
                return False
            row = row.model_copy(update={"kernel_hash": subject.hash})
        key = row_key(name, self.sizes)
        self.rows[key] = row.after(self.rows.get(key))
        return True

    def spent(self, name: str) -> float:
        """Return the time of building and running a variant so far [s]."""
        return self._spent[name]

    def settle(self) -> Parameters:
        """Choose the first sizes of the ladder at which all variants run long enough, as campaigns do.

        Raise a TrialError if a variant cannot be built, counted or run, or if no sizes fit into the memory.
        """
        try:
            team = tuple(map(self._named, self.variants))
            self.sizes = dict(plan_sizes(self.timekeeper, team, self._trial_s).parameters[0])
        except PlanError as error:
            name = str(error.subject.variant["variant"])
            raise failed(name, error.failure.status, error.failure.message) from error
        return self.sizes

    def _trial_s(self, subject: Subject, at: Parameters) -> float:
        name = str(subject.variant["variant"])
        if (row := self._failed_before(name, at)) is not None:
            raise FailedError(row.status, row.message)
        self.kernel.ask_for_arguments(name, at)
        with stage("constraint"):
            check_given(subject.generated.kernel, self.kernel.given, at)
        return self._watched(name, at, lambda: self.bench.trial(subject, at))

    def _at(self, sizes: Mapping[str, int] | None) -> dict[str, int]:
        return self.sizes if sizes is None else dict(sizes)

    def _prepared(self, name: str, sizes: Mapping[str, int] | None = None) -> dict[str, int]:
        self.kernel.check_name(name)
        at = self._at(sizes)
        self.kernel.ask_for_arguments(name, at)
        return at

    @contextmanager
    def _spending(self, name: str) -> Iterator[None]:
        began = perf_counter()
        try:
            yield
        finally:
            self._spent[name] += perf_counter() - began

    def _failed_before(self, name: str, at: Parameters) -> Measurement | None:
        return next((row for row in self._earlier[row_key(name, at)] if row.status != "ok"), None)

    def _watched(self, name: str, at: Parameters, work: Callable[[], T]) -> T:
        with under_way(self._keep, partial(self._failed, name, NO_END, at)) if self._keep else nullcontext():
            return work()

    def _compared(self, name: str, at: Parameters) -> Measurement | None:
        again = row_key(name, at) in self._tried
        try:
            with self._spending(name):
                self._first_run(name, at)
                if again and self.compares:
                    comparison, outputs = self._compared_outputs(name, self.kernel.subject(name), at)
                    comparison.again(name, outputs, self._terms(name, at))
        except FailedError as failure:
            return self._failed(name, failure, at)
        return None

    def _visited(self, name: str, at: Parameters, enough_s: float | None, known: Measurement | None) -> Measurement:
        try:
            with self._spending(name):
                first_s = self._first_run(name, at)
                return known or self._timed(name, at, first_s, enough_s)
        except FailedError as failure:
            return self._failed(name, failure, at)

    def _counted(self, name: str, check: bool) -> KernelCounts:
        try:
            subject = self.kernel.subject(name)
            unit, known = subject.kernel.build(), subject.statistics
        except FailedError as failure:
            raise failed(name, failure.status, failure.message) from failure
        return self.timekeeper.count_unit(unit, check, known)

    def _timed(self, name: str, at: Parameters, first_s: float, enough_s: float | None) -> Measurement:
        subject = self.kernel.subject(name)
        self.timekeeper.checked[subject.key] = None  # by _first_run
        if enough_s is not None:
            self.bench.campaign = replace(self.campaign, enough_s=min(enough_s, self.campaign.enough_s or enough_s))
        try:
            return self.timekeeper.measured(self.timekeeper.configuration(subject, at, first_s))
        finally:
            self.bench.campaign = self.campaign

    def _first_run(self, name: str, at: Parameters) -> float:
        def run() -> float:
            began = perf_counter()
            self._try(name, self.kernel.subject(name), at)
            return perf_counter() - began

        return remembered(self._tried, row_key(name, at), run)

    def _try(self, name: str, subject: Subject, at: Parameters) -> None:
        with stage("constraint"):
            counts = self._counted(name, check=True)  # first, because its errors are clearer than the compiler's
            self.timekeeper.counted[subject.key] = self._counts[name] = counts
            counts.work_groups()(**at)  # the code does not check the kernel's assumptions
            counts.check_launch(self.device.facts)
            check_given(subject.generated.kernel, self.kernel.given, at)
            self._check_memory(subject, at)
        if not self.compares:
            self.bench.compiled(subject)
            return
        comparison, outputs = self._compared_outputs(name, subject, at)
        with stage("correctness"):
            comparison.add(name, outputs, self._terms(name, at))
            if self._reference is not None and name in (agreement := comparison.agreement).wrong:
                raise FailedError("correctness", agreement.difference(name))

    def _compared_outputs(self, name: str, subject: Subject, at: Parameters) -> tuple[OutputComparison, dict[str, Any]]:
        """Run a variant once at the sizes of comparisons. Return the comparison at these sizes, and its outputs."""
        there = self._compare_at or at
        self.kernel.ask_for_arguments(name, there)
        with stage("constraint"):
            self._counts[name].work_groups()(**there)
        try:
            passed, outputs = self._outputs(subject, there)
            return self._comparison(passed, outputs, there), outputs
        finally:
            self.kernel.ask_for_arguments(name, at)

    def _comparison(self, passed: Mapping[str, Any], outputs: Mapping[str, Any], at: Parameters) -> OutputComparison:
        comparison = self._comparisons.get(canonical(at))
        if comparison is None:
            comparison = OutputComparison(self._expected(passed, outputs, at), self._tolerance)
            self._comparisons[canonical(at)] = comparison
        elif self.kernel.by_variant and (expected := self._expected(passed, outputs, at)) is not None:
            comparison.expect(expected)
        return comparison

    def _outputs(self, subject: Subject, at: Parameters) -> tuple[dict[str, Any], dict[str, Any]]:
        passed, after = self.bench.output(subject, at)
        return passed, {output: after[output] for output in output_names(subject.generated.kernel)}

    def _terms(self, name: str, at: Parameters) -> float:
        """Return about how many additions a variant makes for each element that it stores."""
        counts = self._counts[name]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an upper bound is enough
            stores = counts.accesses(space="global", direction="store")(**at)
            return float(counts.operations(kind="add")(**at)) / max(float(stores), 1.0)

    def _expected(
        self, passed: Mapping[str, Any], outputs: Mapping[str, Any], at: Parameters
    ) -> Mapping[str, Any] | None:
        if self._reference is None:
            return None
        copies = {name: np.array(given) if isinstance(given, np.ndarray) else given for name, given in passed.items()}
        value = self._reference(**copies)
        if isinstance(value, TranslationUnit):
            only = UserKernel(self.kernel.name, {REFERENCE: value}, self.kernel.arguments, (at,), self.campaign.seed)
            only.given = self.kernel.given
            try:
                self.timekeeper.work_groups(only.subject(REFERENCE), at)
                value = self._outputs(only.subject(REFERENCE), at)[1]
            except FailedError as failure:
                raise failed(REFERENCE, failure.status, failure.message) from failure
        return expected_outputs(value, outputs)

    def _keep_judgements(self, keep: Path) -> None:
        for (name, _), before in self.rows.items():
            row = self.judged(name, before.parameters)
            if row is not None and row.status != before.status:
                store.append(keep, row)

    def _check_memory(self, subject: Subject, at: Parameters) -> None:
        if self.bench.fits(subject, at):
            return
        arrays = sorted(subject.arrays(at), key=lambda array: -array.octets)
        needs = ", ".join(f"{array.name} {bytes_text(array.octets)}" for array in arrays)
        total, most = sum(array.octets for array in arrays), self.campaign.memory_fraction
        memory, single = self.bench.fact("global_memory_bytes"), self.bench.fact("max_alloc_bytes")
        raise FailedError(
            "constraint",
            f"its arrays need {bytes_text(total)} ({needs}); at most {most:.0%} of the device's {bytes_text(memory)} "
            f"are filled, {bytes_text(single)} by one array of at most 2**31 - 1 elements: choose smaller sizes",
        )

    def _named(self, name: str) -> Subject:
        return naming(self.kernel.unbuilt(name), lambda _: self.kernel.subject(name))

    def _failed(self, name: str, failure: FailedError, at: Parameters) -> Measurement:
        if failure.status == "runtime":
            self.bench.see_that_it_works()
        return self.timekeeper.failed(self.kernel.described(name), failure, at)
