"""Tuning: run the most promising variants of a kernel until the best is known."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from time import monotonic

import numpy as np

from perfmodel import store
from perfmodel.analyses.roofline import facts_with_roofs, points_of
from perfmodel.calibration.recommended import load
from perfmodel.counts.unused import statistics_of_variants
from perfmodel.documents import require
from perfmodel.errors import PerfModelError, PredictionError, TrialError, TuningError
from perfmodel.facts import DeviceFacts
from perfmodel.fitting.conformal import check_level
from perfmodel.kernels.space import Space
from perfmodel.measuring.campaign import Campaign
from perfmodel.predicting.model import FittedModel
from perfmodel.predicting.prediction import Prediction
from perfmodel.predicting.predictions import Predicting, scatter_of
from perfmodel.progress import Progress, Silent
from perfmodel.store import Measurement
from perfmodel.tuning.anchoring import device_of
from perfmodel.tuning.posterior import Search, prior_of
from perfmodel.tuning.trials import TRIALS, Trials
from perfmodel.tuning.tuned import Tuned, TunedVariant
from perfmodel.tuning.user_kernel import Arguments, Reference, Variant

TUNE = replace(TRIALS, name="tune", visits=1, most_visits=3, apart_s=0.0)
# Variants slower than the best by up to this factor, or by the noise, are visited again; the largest number of them.
NEAR, MOST_NEAR = 1.1, 5
# Variants expected to be slower than the best by this factor are the last to run for their outputs alone [1].
SLOW = 30.0
MOST_COMPARED = 12  # most variants that run only for their outputs

KNOWN, ALL, BUDGET = "the best is known", "all variants were tried", "the time is used up"
UNKNOWN_ROOF = "calibrate the device, or fit its folder again (perfmodel fit --all), which keeps its roofs"
ROOF = "the best reaches the given share of the device's roof"
MOST = "as many ran as allowed"


@statistics_of_variants()
def tune(
    variants: Mapping[str, Variant] | Space, sizes: Mapping[str, int] | None = None, /, *,
    model: FittedModel | None = None, level: float = 0.9, within: float = 0.02, of_roof: float | None = None,
    budget_s: float | None = None, most: int | None = None, keep: str | Path | None = None, kernel: str = "kernel",
    arguments: Arguments | None = None, reference: Reference | None = None, tolerance: float | None = None,
    compare: bool = True, statistics: Mapping[str, float] | None = None, campaign: Campaign = TUNE, jobs: int = 1,
    progress: Progress | None = None, watch: Callable[[Tuned], None] | None = None, **more_sizes: int,
) -> Tuned:  # fmt: skip
    """Find the fastest variant of a kernel: count and predict all of them, and run the promising ones.

    The variant predicted fastest runs first. Each run updates the expected times of all others
    (:mod:`perfmodel.tuning.posterior`), until the best is known or the budget is used. In the end variants near the
    best run again, because times are noisy. Outputs are compared with the outputs of `reference`. Without a reference,
    outputs of variants are compared with each other, and the majority is right. If too few variants have run for a
    majority, others run only for their outputs.

    Parameters
    ----------
    variants
        A :class:`Space`, or translation units or functions without arguments that return such units, by name.
    sizes, **more_sizes
        The size parameters, integers.
    model
        A fitted model of a device of this machine, by default the model that :func:`perfmodel.load` finds.
    level, within
        Probability with which the best must be known. Variants faster by less than `within` (a share) do not matter.
    of_roof, budget_s, most
        Limits that end the search: a share of the device's roofs that a variant reaches [1], a time after the start [s]
        (counting included), and a number of variants that ran.
    keep, kernel
        A store of measurements for all runs, and the name of the kernel in the store. Runs in the store of the same
        code at the same sizes are not repeated, so that a stopped search continues.
    arguments
        ``arguments(**sizes)`` returns arrays and scalars by argument name. If the function has a parameter ``variant``,
        the values are for this variant. By default arrays hold numbers in [0.5, 2), converted to their types, and
        scalars are 1.
    reference
        ``reference(**arguments)`` gets copies of the kernel's arguments. The function returns the right outputs by
        name, or a translation unit that computes them.
    tolerance, compare
        Largest relative difference of floating-point outputs [1], by default from their type
        (:func:`perfmodel.tuning.agreement.tolerance_of`). With ``compare=False`` no outputs are compared.
    statistics, jobs, progress
        As of :func:`perfmodel.count_all`.
    campaign, watch
        Settings of a visit, and a function that is called with the result so far after each run.

    Returns
    -------
    Tuned
        The variants that ran, the skipped variants, the best and its ties. A failed variant has a status and a message.

    Raises
    ------
    TuningError, SizeError, OptionError
        If the sizes, `level`, `within` or `of_roof` are not allowed, or if no variant can be predicted.
    WeightsError, BrokenDeviceError, DeviceBusyError
        If no model of a device of this machine is found, or if the device does not work or stays in use.

    Examples
    --------
    ::

        space = pm.Space(build, {"tile": (8, 16, 32), "prefetch": (False, True)},
                         [lambda tile, prefetch: prefetch or tile < 32])
        found = pm.tune(space, {"n": 1024})
        print(found.best.name, found.best.seconds, len(found.tried), len(found.skipped))
    """
    check_level(level)
    if not 0 <= within < 1:
        raise TuningError(f"within is {within!r}", "give a share of at least 0 and below 1, as 0.02 for 2 %")
    if of_roof is not None and not 0 < of_roof <= 1:
        raise TuningError(f"of_roof is {of_roof!r}", "give a share above 0 and up to 1, as 0.8 for 80 %")
    began = monotonic()
    require(isinstance(variants, (Mapping, Space)), "tune: variants", variants, "a Space, or kernels by name")
    require(sizes is None or isinstance(sizes, Mapping), "tune: sizes", sizes, "a mapping of names to sizes")
    named: Mapping[str, Variant] = variants.variants if isinstance(variants, Space) else variants
    if not named:
        raise TuningError("the mapping of variants is empty", "give at least one")
    if model is None:
        model = load()
    model = model.by_clock("host")  # the clock of the runs
    at = {**(sizes or {}), **more_sizes}
    trials = Trials(
        device_of(model), named, at, campaign, arguments, kernel=kernel, statistics=statistics, progress=progress,
        keep=None if keep is None else Path(keep), reference=reference, tolerance=tolerance, compare=compare,
    )  # fmt: skip
    with trials:
        search = Tuning(trials, model, at, level, within, of_roof, most, began, budget_s, watch)
        search.predict(progress or Silent(), variants.coordinates if isinstance(variants, Space) else None, jobs)
        if keep is not None:
            search.recall(store.read(keep).current)
        return search.finished()


@dataclass(eq=False)
class Tuning:
    """A tuning in progress. Each variant that can be predicted has the index of its name in `names`.

    Call :meth:`predict`, or :meth:`expect` with known predictions, and then :meth:`finished`. The variants `first` run
    before all others. Other parameters are as of :func:`tune`, and `began` is the start of the time budget.
    """

    trials: Trials
    model: FittedModel
    at: Mapping[str, int]
    level: float
    within: float
    of_roof: float | None
    most: int | None
    began: float
    budget_s: float | None
    watch: Callable[[Tuned], None] | None
    first: tuple[str, ...] = ()
    names: list[str] = field(default_factory=list)
    predictions: list[Prediction] = field(default_factory=list)
    tried: dict[str, TunedVariant] = field(default_factory=dict)
    expected: dict[str, float] = field(default_factory=dict)  # before the first run [s]
    only_compared: set[str] = field(default_factory=set)
    confirmed: set[str] = field(default_factory=set)  # compared after they were timed
    counting_s: float = 0.0

    def predict(self, progress: Progress, coordinates: np.ndarray | None, jobs: int = 1) -> None:
        """Count and predict all variants. `coordinates` are those of a :class:`Space`."""
        asked = Predicting(
            self.model, allow_unmeasured=True, skipped=PerfModelError, progress=progress, options=self.trials.counting,
            jobs=None if jobs == 1 else jobs,
        )  # fmt: skip
        failures: list[Exception] = []
        variants: Mapping[str, Variant] = self.trials.variants
        if jobs == 1:  # the trials keep the counts
            variants = {name: partial(self.trials.count, name) for name in variants}
        with closing(asked.stream(variants, self.at)) as outcomes:
            for name, outcome in outcomes:
                if isinstance(outcome, PredictionError):  # the variant runs without a valid prediction
                    self.names.append(name)
                    self.predictions.append(Prediction(outcome.seconds, {}, kernel=name))
                elif isinstance(outcome, TrialError):
                    failures.append(outcome)
                    self.tried[name] = TunedVariant(name, status=outcome.status, message=outcome.reason)
                elif isinstance(outcome, PerfModelError):
                    failures.append(outcome)
                    self.tried[name] = TunedVariant(name, status="constraint", message=str(outcome))
                else:
                    self.names.append(name)
                    self.predictions.append(outcome.prediction)
        if not self.names:
            raise TuningError(f"no variant can be predicted ({failures[0]})", "correct that first")
        if coordinates is not None:
            coordinates = coordinates[[name in set(self.names) for name in self.trials.variants]]
        self._begin(coordinates)

    def expect(self, predictions: Mapping[str, Prediction]) -> None:
        """Take the predictions of variants, by name, which were made before."""
        self.names, self.predictions = list(predictions), list(predictions.values())
        self._begin(None)

    def _begin(self, coordinates: np.ndarray | None) -> None:
        scatter = scatter_of(self.model, self.predictions)
        self.search = Search(prior_of(self.predictions, scatter, coordinates), self.within)
        self.counting_s = monotonic() - self.began

    def recall(self, rows: Iterable[Measurement]) -> None:
        """Use earlier records of the same code at the same sizes as runs."""
        for row in rows:
            name = str(row.variant.get("variant"))
            if row.kernel == self.trials.kernel.name and name in self.names and self.trials.recall(row):
                self._note(name)

    def finished(self) -> Tuned:
        """Run variants until the best is known and its output is compared. Then run variants near the best again."""
        ended = self._searched()
        while self._compared():
            ended = self._searched()
        promising = {self.names[index] for index in self.search.surprising}
        for _ in range(MOST_NEAR * self.trials.campaign.most_visits):
            if (name := self._unsure(promising)) is None or self._late:
                break
            self._visit(name)
        return self._result(ended)

    def _searched(self) -> str:
        while (index := self.search.following) is not None:
            name = next((name for name in self.first if name not in self.tried), None)
            if name is None and self.search.settled >= self.level:
                return KNOWN
            if self._late:
                return BUDGET
            if not self._may_run:
                return MOST
            if self._near_roof:
                return ROOF
            self._visit(name or self.names[index])
            if self.watch is not None:
                self.watch(self._result(""))
        return ALL

    @property
    def _may_run(self) -> bool:
        started = {name for name, variant in self.tried.items() if variant.status not in ("compile", "constraint")}
        return self.most is None or len((started | self.only_compared) & set(self.names)) < self.most

    def _compared(self) -> bool:
        """Run variants, and the best once more, until enough outputs agree. Return whether a time became invalid."""
        before = self._timed
        if not self.trials.compares:
            return False
        while (name := self._unconfirmed or self._witness()) is not None and not self._late:
            if name not in self.tried:
                if not self._may_run:
                    break
                self.only_compared.add(name)
            self.confirmed.add(name)
            self.trials.compare(name)
            self._note(name)
        return bool(before - self._timed)

    @property
    def _unconfirmed(self) -> str | None:
        best = None if self.search.best is None else self.names[self.search.best]
        return None if best in self.confirmed else best

    def _witness(self) -> str | None:
        """Return a variant to run for its output, at least one random. Return None if enough agree or none is left."""
        agreement, least = self.trials.agreement(), self.search.least
        random = self.only_compared & set(agreement.compared)
        settled = agreement.settled and (agreement.reference or random)
        if least is None or settled or len(self.only_compared) >= MOST_COMPARED:
            return None
        known = {*agreement.compared, *agreement.uncompared, *(self.tried.keys() - self._timed)}
        waiting = [index for index, name in enumerate(self.names) if name not in known]
        shuffled = np.random.default_rng(self.trials.campaign.seed).permutation(waiting)
        slow = self.search.posterior.seconds > SLOW * least
        return next((self.names[index] for index in sorted(shuffled, key=lambda index: bool(slow[index]))), None)

    def _unsure(self, promising: Collection[str]) -> str | None:
        """Return the fastest variant near the best that needs another visit. Each of these gets at least two visits."""
        allows, most = self.trials.agreement().allows, self.trials.campaign.most_visits
        judged = {name: self.trials.judged(name) for name in self._timed if allows(name)}
        good = sorted((row.seconds, name, row) for name, row in judged.items() if row is not None)
        near = [
            (name, row) for seconds, name, row in good
            if seconds <= max(NEAR, 1 + row.spread) * good[0][0] or name in promising
        ][:MOST_NEAR]  # fmt: skip
        again = (name for name, row in near if len(row.every_visit) < (most if row.disagrees else min(2, most)))
        return next(again, None)

    def _visit(self, name: str) -> None:
        least, runs = self.search.least, self.trials.campaign.runs
        self.trials.visit(name, enough_s=None if least is None else NEAR * runs * least)
        self._note(name)

    def _note(self, name: str) -> None:
        """Note a run and judge all earlier runs again, because the output may change which variants are right."""
        self.expected.setdefault(name, float(self.search.posterior.seconds[self.names.index(name)]))
        for noted, expected in self.expected.items():
            index, row = self.names.index(noted), self.trials.judged(noted)
            if row is None:  # the variant ran only for its output
                if self.tried.pop(noted, None) is not None:
                    self.search.forget(index)
                continue
            seconds = row.seconds if row.status == "ok" else None
            self.search.note(index, seconds)
            reached = None
            if seconds is not None:
                counted = {noted: self.trials.count(noted)}
                reached = points_of(self.facts, counted, self.at, {noted: seconds}).get(noted)
            self.tried[noted] = TunedVariant(
                noted, self.predictions[index].seconds, expected, row.status, seconds, row.message, row.flags,
                self.trials.spent(noted), reached,
            )  # fmt: skip

    @cached_property
    def facts(self) -> DeviceFacts:
        """The facts of the device, with its roofs."""
        return facts_with_roofs(self.model)

    @property
    def _near_roof(self) -> bool:
        if self.of_roof is None or self.search.best is None:
            return False
        best = self.tried[self.names[self.search.best]]
        if best.reached is None or math.isnan(best.reached.share):
            raise TuningError("of_roof was given, but a roof of the device is unknown", UNKNOWN_ROOF)
        return best.reached.share >= self.of_roof

    @property
    def _timed(self) -> set[str]:
        return {name for name, variant in self.tried.items() if variant.seconds}

    def _result(self, ended: str) -> Tuned:
        runs = self.trials.campaign.runs
        costs = [variant.cost_s - (variant.seconds or 0.0) * runs for variant in self.tried.values()]
        building = max(float(np.mean(costs)), 0.0) if costs else 0.0
        times = zip(self.names, self.predictions, map(float, self.search.posterior.seconds), strict=True)
        skipped = [
            TunedVariant(name, prediction.seconds, expected, cost_s=building + runs * expected)
            for index, (name, prediction, expected) in enumerate(times) if index not in self.search.times
        ]  # fmt: skip
        return Tuned(
            self.trials.device.name, self.at, tuple(self.tried.values()),
            tuple(sorted(skipped, key=lambda variant: variant.expected or 0.0)),
            self.search.settled, self.within, ended, self.counting_s, self.trials.agreement(),
        )  # fmt: skip

    @property
    def _late(self) -> bool:
        return self.budget_s is not None and monotonic() - self.began >= self.budget_s
