"""Tuning: run the most promising variants of a kernel until the best is known."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from loopy import TranslationUnit

from perfmodel import store
from perfmodel.analyses.roofline import KernelPoint, facts_with_roofs, points_of
from perfmodel.counts import KernelCounts
from perfmodel.counts.unused import statistics_of_variants
from perfmodel.documents import require
from perfmodel.errors import NegativeTimeError, PerfModelError, TrialError, TuningError
from perfmodel.facts import DeviceFacts
from perfmodel.fitting.conformal import check_level
from perfmodel.kernels.space import Space
from perfmodel.measuring.campaign import Campaign
from perfmodel.predicting.model import FittedModel, Prediction
from perfmodel.predicting.predictions import Predicting, scatter_of
from perfmodel.progress import Progress, Silent
from perfmodel.store import Measurement
from perfmodel.tuning.anchoring import device_of
from perfmodel.tuning.posterior import Search, prior_of
from perfmodel.tuning.trials import TRIALS, Trials
from perfmodel.tuning.tuned import Tuned, TunedVariant
from perfmodel.tuning.user_kernel import Arguments, Reference, Variant

#: One visit to each variant; those near the best are visited again in the end.
TUNE = replace(TRIALS, name="tune", visits=1, most_visits=3, apart_s=0.0)
#: Variants up to this factor slower than the best, or within their noise, are visited again [1], so many at most.
NEAR, MOST_NEAR = 1.1, 5

#: Variants expected to be this much slower than the best are the last ones to be run only for their outputs [1].
SLOW = 30.0
#: Variants that are run only for their outputs, at most.
MOST_COMPARED = 12

KNOWN = "the best is known"
ALL = "all variants were tried"
BUDGET = "the budget is used"
UNKNOWN_ROOF = "calibrate the device, or fit its folder again (perfmodel fit --all), which keeps its roofs"
ROOF = "the best is as near to the device's roof as was asked for"
MOST = "as many variants ran as were allowed"


@statistics_of_variants()
def tune(
    variants: Mapping[str, Variant] | Callable[..., TranslationUnit] | Space,
    sizes: Mapping[str, int] | None = None,
    /,
    *,
    space: Mapping[str, Sequence[Any]] | None = None,
    restrictions: Iterable[Callable[..., bool]] = (),
    model: FittedModel | None = None,
    level: float = 0.9,
    within: float = 0.02,
    of_roof: float | None = None,
    budget_s: float | None = None,
    most: int | None = None,
    keep: str | Path | None = None,
    kernel: str = "kernel",
    arguments: Arguments | None = None,
    reference: Reference | None = None,
    tolerance: float | None = None,
    compare: bool = True,
    statistics: Mapping[str, float] | None = None,
    campaign: Campaign = TUNE,
    jobs: int = 1,
    progress: Progress | None = None,
    watch: Callable[[Tuned], None] | None = None,
    **more_sizes: int,
) -> Tuned:
    """Find the fastest variant of a kernel: count and predict all of them, and run the promising ones.

    All variants are counted and predicted. Then the most promising one runs, the belief in all others is updated by
    what it took, and so on (:mod:`perfmodel.tuning.belief`), until the best is known or the budget is used. In the end
    the variants near the best run again, since times are noisy.

    Outputs are compared: with those of `reference`, or else between variants. Then the best is one of the majority.
    Where the search ends with few variants, others run once for their outputs alone, until three more agree than
    differ, and one of them is not among those that looked fast. ``Tuned.outputs`` says what was compared.

    Parameters
    ----------
    variants
        Translation units by name, or functions without arguments that make them; or a :class:`Space`; or with `space`
        one function that takes the parameters of the space by name and returns a translation unit.
    sizes, **more_sizes
        The size parameters, integers.
    space
        The values of each parameter of a transformation, as in ``{"tile": (8, 16, 32), "prefetch": (False, True)}``.
    restrictions
        Functions of some of these parameters; configurations for which one returns false are left out.
    model
        A fitted model of a device of this machine; by default the one that :func:`perfmodel.load` finds.
    level
        Probability with which the best should be known.
    within
        Share by which a variant has to be faster than another to matter [1].
    of_roof
        End once a variant reaches this share of what the device's roofs allow [1], as 0.8; None for no such rule.
    budget_s
        No variant is begun later than this after the start [s], counting included; None for no limit.
    most
        Number of variants that may run, for their times or for their outputs; None for no limit.
    keep
        A store of measurements, to which every run is added. Runs of the same code at the same sizes that it holds
        already are not made again, so that a search that was stopped goes on.
    kernel
        The kernel's name in that store.
    arguments
        ``arguments(**sizes)`` gives arrays and scalars by argument name; with a parameter ``variant`` those of the
        variant of that name, as where layouts of arrays differ. Those that it leaves out, or all of them, are made:
        arrays hold numbers in [0.5, 2), converted to their types, and scalars that are no sizes are 1.
    reference
        ``reference(**arguments)`` gets copies of the kernel's arguments by name, and gives the right outputs by name,
        or a translation unit that computes them.
    tolerance
        Largest relative difference of floating-point outputs [1]; by their type if left out
        (:func:`perfmodel.tuning.agreement.tolerance_of`).
    compare
        Whether outputs are compared; without that a fast variant may be a wrong one.
    statistics
        Of what depends on data, as of :func:`perfmodel.count`.
    campaign
        How a visit is made.
    jobs
        Number of processes that count and predict the variants, as of :func:`perfmodel.count_all`; with 1 this one
        does. All have ended before the first variant runs.
    progress
        Receives a report of each variant that is counted.
    watch
        Is called with what is known after each run.

    Returns
    -------
    Tuned
        The variants that ran, those that were skipped, the best and its ties. A variant that fails is one of them,
        with its status and message, and does not end the search.

    Raises
    ------
    SpaceError, SizeError, LevelError
        If the space makes no sense; a size is left out, unknown, or no integer; `level` is not between 0 and 1.
    TuningError
        If there are no variants, none can be predicted, `within` or `of_roof` is no share, a roof is asked for and
        not known.
    NoWeightsError
        If no model is given and none is found.
    AnchorDeviceError, BrokenDeviceError, DeviceBusyError
        If the model's device is not one of this machine's, runs nothing, or is in use.
    OutputError, ReferenceOutputError
        If the store cannot be written, or `reference` gives nothing that outputs can be compared with.

    Examples
    --------
    ::

        found = pm.tune(build, {"n": 1024}, space={"tile": (8, 16, 32), "prefetch": (False, True)},
                        restrictions=[lambda tile, prefetch: prefetch or tile < 32])
        print(found.best.name, found.best.seconds, len(found.tried), len(found.skipped))
    """
    check_level(level)
    if not 0 <= within < 1:
        raise TuningError(f"within is {within!r}", "give a share of at least 0 and below 1, as 0.02 for 2 %")
    if of_roof is not None and not 0 < of_roof <= 1:
        raise TuningError(f"of_roof is {of_roof!r}", "give a share above 0 and up to 1, as 0.8 for 80 %")
    began = monotonic()
    require(isinstance(variants, (Mapping, Space)) or callable(variants), "tune: variants", variants,
            "a Space, a mapping of names to kernels, or a function with space=")  # fmt: skip
    require(sizes is None or isinstance(sizes, Mapping), "tune: sizes", sizes, "a mapping of names to sizes")
    named, made = _named(variants, space, restrictions)
    if model is None:
        from perfmodel.calibration.recommended import load

        model = load()
    model = model.by_clock("host")  # as runs are timed
    at = {**(sizes or {}), **more_sizes}
    trials = Trials(
        device_of(model), named, at, campaign, arguments,
        kernel=kernel, statistics=statistics, progress=progress, keep=None if keep is None else Path(keep),
        reference=reference, tolerance=tolerance, compare=compare,
    )  # fmt: skip
    with trials:
        watcher = watch or (lambda tuned: None)
        course = _Course(trials, model, at, level, within, of_roof, most, began, budget_s, watcher)
        course.predict(progress or Silent(), None if made is None else made.coordinates, jobs)
        if keep is not None:
            course.recall(store.read(keep).current)
        return course.finished()


def _named(
    variants: Mapping[str, Variant] | Callable[..., TranslationUnit] | Space,
    space: Mapping[str, Sequence[Any]] | None,
    restrictions: Iterable[Callable[..., bool]],
) -> tuple[Mapping[str, Variant], Space | None]:
    """Return the variants by name, and their space; None without a space."""
    if isinstance(variants, Space):
        return variants.variants, variants
    if callable(variants):
        if space is None:
            raise TuningError("a function was given without a space", "give space={name: values, ...} too")
        made = Space(variants, space, restrictions)
        return made.variants, made
    if space is not None:
        raise TuningError("a space was given with variants that have names", "give a function that builds them")
    if not variants:
        raise TuningError("there are no variants", "give at least one")
    return variants, None


@dataclass(frozen=True, eq=False)
class _Counts(Mapping[str, KernelCounts]):
    """The counts of variants by name, each made when it is asked for; the trials keep them."""

    trials: Trials

    def __getitem__(self, name: str) -> KernelCounts:
        return self.trials.count(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.trials.variants)

    def __len__(self) -> int:
        return len(self.trials.variants)


@dataclass(eq=False)
class _Course:
    """One search under way."""

    trials: Trials
    model: FittedModel
    at: Mapping[str, int]
    level: float
    within: float
    of_roof: float | None
    most: int | None
    began: float
    budget_s: float | None
    watch: Callable[[Tuned], None]
    names: list[str] = field(default_factory=list)
    predictions: list[Prediction] = field(default_factory=list)
    tried: dict[str, TunedVariant] = field(default_factory=dict)
    expected: dict[str, float] = field(default_factory=dict)
    aside: set[str] = field(default_factory=set)
    confirmed: set[str] = field(default_factory=set)
    counting_s: float = 0.0

    def predict(self, progress: Progress, coordinates: np.ndarray | None, jobs: int = 1) -> None:
        """Count and predict all variants; one that cannot be is noted as failed."""
        asked = Predicting(
            self.model, allow_unmeasured=True, spared=PerfModelError, progress=progress, options=self.trials.counting,
            jobs=None if jobs == 1 else jobs,
        )  # fmt: skip
        failures: list[Exception] = []
        variants = _Counts(self.trials) if jobs == 1 else self.trials.variants
        with closing(asked.stream(variants, self.at)) as outcomes:
            for name, outcome in outcomes:
                if isinstance(outcome, NegativeTimeError):  # such a time says nothing, and the variant runs
                    self.names.append(name)
                    self.predictions.append(Prediction(outcome.seconds, {}, kernel=name))
                elif isinstance(outcome, PerfModelError):
                    failures.append(outcome)
                    status, message = "constraint", str(outcome)
                    if isinstance(outcome, TrialError):
                        status, message = outcome.status, outcome.problem
                    self.tried[name] = TunedVariant(name, status=status, message=message)
                else:
                    self.names.append(name)
                    self.predictions.append(outcome.prediction)
        if not self.names:
            raise TuningError(f"no variant can be predicted ({failures[0]})", "mend that first")
        if coordinates is not None:
            places = [place for place, name in enumerate(self.trials.variants) if name in set(self.names)]
            coordinates = coordinates[places]
        scatter = scatter_of(self.model, self.predictions)
        self.search = Search(prior_of(self.predictions, scatter, coordinates), self.within)
        self.counting_s = monotonic() - self.began

    def recall(self, rows: Iterable[Measurement]) -> None:
        """Take earlier records of the same code at the same sizes, as if the variants had run now."""
        for row in rows:
            name = str(row.variant.get("variant"))
            if row.kernel == self.trials.kernel.name and name in self.names and self.trials.recall(row):
                self._note(name)

    def finished(self) -> Tuned:
        """Run variants until the best is known and its output compared, and those near it again."""
        ended = self._race()
        while self._compared():
            ended = self._race()
        promising = {self.names[place] for place in self.search.surprising}
        for _ in range(MOST_NEAR * self.trials.campaign.most_visits):
            if (name := self._unsure(promising)) is None or self._late:
                break
            self._visit(name)
        return self._known(ended)

    def _race(self) -> str:
        """Run variants until the best is known; return why no more ran."""
        while (place := self.search.following) is not None:
            if self.search.settled >= self.level:
                return KNOWN
            if self._late:
                return BUDGET
            if not self._may_run:
                return MOST
            if self._near_roof:
                return ROOF
            self._visit(self.names[place])
            self.watch(self._known(""))
        return ALL

    @property
    def _may_run(self) -> bool:
        """Whether fewer variants ran than may."""
        ran = self.tried.keys() | self.aside
        return self.most is None or len(ran & set(self.names)) < self.most

    def _compared(self) -> bool:
        """Run variants for their outputs until these are settled; return whether a time turned out not to count.

        The best runs once more: one that gives other outputs each time agrees with none.
        """
        before = self._timed
        if not self.trials.compares:
            return False
        while (name := self._unconfirmed or self._witness()) is not None and not self._late:
            if name not in self.tried:
                if not self._may_run:
                    break
                self.aside.add(name)
            self.confirmed.add(name)
            self.trials.compare(name)
            self._note(name)
        return bool(before - self._timed)

    @property
    def _unconfirmed(self) -> str | None:
        """The fastest variant if its output was not compared at least once since it was timed."""
        best = None if self.search.best is None else self.names[self.search.best]
        return None if best in self.confirmed else best

    def _witness(self) -> str | None:
        """Return a variant that may tell whose outputs are right; None where they are settled or none is left.

        At least one is not of those that ran because they looked fast: these may have the same fault.
        """
        agreement, least = self.trials.agreement(), self.search.least
        aside = self.aside & set(agreement.compared)
        if least is None or (agreement.settled and (agreement.reference or aside)) or len(self.aside) >= MOST_COMPARED:
            return None
        known = {*agreement.compared, *agreement.uncompared, *(self.tried.keys() - self._timed)}
        waiting = [place for place, name in enumerate(self.names) if name not in known]
        scattered = np.random.default_rng(self.trials.campaign.seed).permutation(waiting)
        slow = self.search.posterior.seconds > SLOW * least
        return next((self.names[place] for place in sorted(scattered, key=lambda place: bool(slow[place]))), None)

    def _unsure(self, promising: Collection[str]) -> str | None:
        """Return a variant that one disturbed visit might misplace, the fastest first; None where there is none.

        The best, those within the noise of their runs, and the promising ones are visited twice, and again where their
        visits disagree.
        """
        allows, campaign = self.trials.agreement().allows, self.trials.campaign
        judged = {name: self.trials.judged(name) for name in self._timed if allows(name)}
        good = sorted((row.seconds, name, row) for name, row in judged.items() if row is not None)
        near = [
            (name, row) for seconds, name, row in good
            if seconds <= max(NEAR, 1 + row.spread) * good[0][0] or name in promising
        ][:MOST_NEAR]  # fmt: skip
        wanted = ((name, campaign.most_visits if row.disagrees else 2, len(row.every_visit)) for name, row in near)
        return next((name for name, most, made in wanted if made < min(most, campaign.most_visits)), None)

    def _visit(self, name: str) -> None:
        """Visit a variant, no longer than all runs of one near the best would take."""
        least, runs = self.search.least, self.trials.campaign.runs
        self.trials.visit(name, enough_s=None if least is None else NEAR * runs * least)
        self._note(name)

    def _note(self, name: str) -> None:
        """Note that a variant ran, and what is known now of all that did: another's output may tell more of theirs."""
        self.expected.setdefault(name, float(self.search.posterior.seconds[self.names.index(name)]))
        for noted, expected in self.expected.items():
            place = self.names.index(noted)
            row = self.trials.judged(noted)
            if row is None:  # it ran for its output alone, and nothing says that this is wrong
                if self.tried.pop(noted, None) is not None:
                    self.search.forget(place)
                continue
            seconds = row.seconds if row.status == "ok" else None
            self.search.note(place, seconds)
            reached = None if seconds is None else self._reached(noted, seconds)
            self.tried[noted] = TunedVariant(
                noted, self.predictions[place].seconds, expected, row.status, seconds, row.message, row.flags,
                self.trials.spent(noted).total_s, reached,
            )  # fmt: skip

    def _reached(self, name: str, seconds: float) -> KernelPoint | None:
        """Return the place of a variant that took so long below the roofs, where it is known."""
        return points_of(self.facts, {name: self.trials.count(name)}, self.at, {name: seconds}).get(name)

    @cached_property
    def facts(self) -> DeviceFacts:
        """What is known of the device, its roofs too."""
        return facts_with_roofs(self.model)

    @property
    def _near_roof(self) -> bool:
        """Whether the best reaches the share of the roof that was asked for."""
        if self.of_roof is None or self.search.best is None:
            return False
        best = self.tried[self.names[self.search.best]]
        if best.reached is None or math.isnan(best.reached.share):
            raise TuningError("of_roof was given, and a roof of the device is not known", UNKNOWN_ROOF)
        return best.reached.share >= self.of_roof

    @property
    def _timed(self) -> set[str]:
        return {name for name, variant in self.tried.items() if variant.seconds}

    def _known(self, ended: str) -> Tuned:
        """Return what is known now."""
        runs = self.trials.campaign.runs
        costs = [variant.cost_s - (variant.seconds or 0.0) * runs for variant in self.tried.values()]
        building = max(float(np.mean(costs)), 0.0) if costs else 0.0
        expected = self.search.posterior.seconds
        skipped = [
            TunedVariant(
                name, self.predictions[place].seconds, float(expected[place]),
                cost_s=building + runs * float(expected[place]),
            )
            for place, name in enumerate(self.names)
            if place not in self.search.times
        ]  # fmt: skip
        return Tuned(
            self.trials.device.name, self.at, tuple(self.tried.values()),
            tuple(sorted(skipped, key=lambda variant: variant.expected or 0.0)),
            self.search.settled, self.within, ended, self.counting_s, self.trials.agreement(),
        )  # fmt: skip

    @property
    def _late(self) -> bool:
        return self.budget_s is not None and monotonic() - self.began >= self.budget_s
