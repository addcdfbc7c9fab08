"""The search for the fastest recipe of a plain kernel: the model predicts hundreds of recipes, and a few run."""

import os
import pickle
import re
import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent import futures
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain, islice
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

import numpy as np
from loopy import TranslationUnit
from loopy.diagnostic import LoopyWarning

from perfmodel.calibration.recommended import load
from perfmodel.counts import KernelCounts, count
from perfmodel.counts.counting import statistics_of
from perfmodel.display import columns_text, html_table, interval_text, percent, seconds_text, values_text
from perfmodel.documents import one_line, require
from perfmodel.errors import AssumptionError, KernelError, OptionError, PerfModelError, SizeError, clipped
from perfmodel.fitting.conformal import check_level
from perfmodel.measuring.bench import Bench
from perfmodel.opencl import Device, find
from perfmodel.predicting.model import FittedModel
from perfmodel.predicting.prediction import Prediction
from perfmodel.predicting.predictions import Predicted, Predicting, scatter_of
from perfmodel.predicting.ranking import RankedVariant, Ranking, with_ties
from perfmodel.processes.pool import Processes, checked_jobs, is_death, processes_for
from perfmodel.processes.variants import packed, received, work
from perfmodel.progress import Progress, shown, task
from perfmodel.recipes.archive import record
from perfmodel.recipes.generator import Form, Recipes, legal, recipes_of
from perfmodel.recipes.recipe import LONGEST, Recipe
from perfmodel.tuning.anchoring import device_of, smaller_sizes
from perfmodel.tuning.trials import Trials
from perfmodel.tuning.tuned import Tuned, TunedVariant
from perfmodel.tuning.tuning import TUNE, Tuning
from perfmodel.tuning.user_kernel import Arguments, Reference, UserKernel, check_given
from perfmodel.values import FrozenValue

REPORT_S = 5.0  # time between two reports of the best recipe so far [s]
PLAIN = str(Recipe())  # name of the untransformed kernel
COUNTING_S = 30.0  # time of counting [s], and the largest share of a given budget
SHARE = 0.5
FIRST = 32  # forms, the most usual ones, that are predicted first
BATCH = 8  # recipes per process that are counted before the next ones are chosen
PARENTS, PER_FORM = 6, 2  # best recipes whose neighbours are counted, and most of them of one form
SAMPLED = 3  # best forms of which random tiles are counted
SHORTLIST, ALIKE = 64, 3  # recipes that may run, and most of them of one form
SHOWN = 10  # recipes in a table of predictions, and reasons of refusals
BUDGET_S, RUNS, RUN_S = 56.0, 5, 6.0  # no run starts later [s]; more time for each run above the default number
FIRST_RUN_S, LAST_RUN_S = 12.0, 5.0  # longest time of building and running a recipe once, also near the end [s]
AFFORDABLE_S = 1.0  # if the untransformed kernel is predicted to be slower, it is not timed [s]
COMPARED_S = 4.0  # if it is predicted to be slower, it runs only at small sizes, for its outputs [s]
LOSS = 1.5  # largest time of a recipe that is valid at small sizes over the best, else recipes run without assumptions
# Smaller sizes leave the same remainder by one of these numbers, so that tiles of powers of two divide both or neither.
STRIDES = (1 << 20, 1 << 18, 1 << 16, 1 << 13, 1024, 512, 256, 128)
EXACT_TERMS = 2 << 20  # float32 additions for an element after which sums in two orders may differ in the first digits
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Candidate(FrozenValue):
    """A recipe with its prediction, and its form."""

    name: str
    recipe: Recipe
    prediction: Prediction = field(repr=False)
    form: Form | None = None  #: None for the untransformed kernel

    @property
    def seconds(self) -> float:
        """The predicted time [s]."""
        return float(self.prediction.seconds)

    @property
    def unassumed(self) -> "Candidate":
        """The recipe without assumptions, with the same prediction, although its tests may take time."""
        if not self.recipe.assumptions:
            return self
        return replace(self, name=str(self.recipe.unassumed), recipe=self.recipe.unassumed)


@dataclass(frozen=True, repr=False)
class Transformed(FrozenValue):
    """A kernel after the best recipe that was found, and how it was found."""

    untransformed: TranslationUnit = field(hash=False)
    recipe: Recipe  #: without steps if no recipe is faster than the untransformed kernel
    device: str
    sizes: Mapping[str, int] = field(hash=False)
    seconds: float | None  #: Measured time [s], or None if nothing ran.
    plain: Prediction | None = field(default=None, hash=False)  #: Prediction of the untransformed kernel.
    candidates: tuple[Candidate, ...] = field(default=(), hash=False)  #: All predicted recipes, the fastest first.
    tuned: Tuned | None = field(default=None, hash=False)  #: The runs, by the names of recipes; None without runs.
    ranking: Ranking = field(default=Ranking(), hash=False)  #: Without runs: the recipes that could run, with ties.
    refused: Mapping[str, int] = field(default_factory=dict, hash=False)  #: Number of refused recipes by reason.
    notes: tuple[str, ...] = ()
    counting_s: float = 0.0  #: Time of applying, counting and predicting recipes [s].
    spent_s: float = 0.0  #: Time of the whole search [s].

    def kernel(self, **sizes: int) -> TranslationUnit:
        """Return the kernel after the best recipe if `sizes` fulfil its assumptions, or else one for all sizes."""
        return (self.recipe if self.recipe.allows(sizes) else self.otherwise).apply(self.untransformed)

    @cached_property
    def otherwise(self) -> Recipe:
        """The recipe for all sizes: the fastest without assumptions that ran, or else the best without its own."""
        valid = (recipe for recipe in self.times if not recipe.assumptions)
        fastest = min(valid, key=self.times.__getitem__, default=self.recipe.unassumed)
        return fastest if self.recipe.assumptions else self.recipe

    @cached_property
    def predicted(self) -> Prediction | None:
        """The prediction of the chosen recipe."""
        if not self.recipe.steps:
            return self.plain
        return next((one.prediction for one in self.candidates if one.recipe == self.recipe), None)

    @cached_property
    def tried(self) -> Mapping[Recipe, TunedVariant]:
        """The recipes that ran or failed. The recipe without steps is the untransformed kernel."""
        named = {one.name: one.recipe for one in self.candidates} | {PLAIN: Recipe()}
        return {named[variant.name]: variant for variant in (self.tuned.tried if self.tuned else ())}

    @cached_property
    def times(self) -> Mapping[Recipe, float]:
        """The measured times of recipes with right outputs [s]."""
        allows = self.tuned.outputs.allows if self.tuned else bool
        return {recipe: one.seconds for recipe, one in self.tried.items() if one.seconds and allows(one.name)}

    @property
    def speedup(self) -> float | None:
        """Time of the untransformed kernel over the time of the chosen recipe, both measured or both predicted."""
        if self.seconds and Recipe() in self.times:
            return self.times[Recipe()] / self.seconds
        after = self.predicted
        return None if self.plain is None or after is None else float(self.plain.seconds / after.seconds)

    @property
    def code(self) -> str:
        """The lines of Python that transform ``t_unit``."""
        return "\n".join(self.recipe.lines())

    @property
    def table(self) -> list[tuple[str, ...]]:
        """A heading and a row for each recipe that ran. Without runs, rows of the recipes predicted fastest."""
        heading, *rows = self.ranking.table[: SHOWN + 1] if self.tuned is None else self.tuned.table
        return [("recipe", *heading[1:]), *rows]

    @property
    def fastest(self) -> float | None:
        """Without runs: the probability that no other recipe that could run is faster [1]; None if it is unknown."""
        return self.ranking[0].fastest if self.ranking else None

    @property
    def why(self) -> list[tuple[str, ...]]:
        """A heading and rows with the predicted seconds of each term, untransformed and transformed, largest first."""
        rows: list[tuple[str, ...]] = [("term", "untransformed", "transformed", "times")]
        if self.plain is None or self.predicted is None:
            return rows
        before, after = self.plain.terms, self.predicted.terms
        for name in sorted({*before, *after}, key=lambda name: -max(before.get(name, 0.0), after.get(name, 0.0))):
            pair = (before.get(name, 0.0), after.get(name, 0.0))
            if any(pair):
                times = f"{pair[1] / pair[0]:.3g}" if pair[0] > 0 else "-"
                rows.append((name, *map(seconds_text, pair), times))
        whole = (float(self.plain.seconds), float(self.predicted.seconds))
        return [*rows, ("predicted time", *map(seconds_text, whole), f"{whole[1] / whole[0]:.3g}")]

    @property
    def summary(self) -> tuple[str, ...]:
        """Sentences on the result."""
        sentences = [self._chosen]
        if self.recipe.assumptions:
            valid = " and ".join(self.recipe.assumptions)
            sentences.append(f"this recipe is valid only where {valid}; the one for all sizes: {self.otherwise}")
        if self.plain is not None:
            forms = len({one.form for one in self.candidates})
            predicted = f"{len(self.candidates)} recipes ({forms} forms)"
            sentences.append(f"{predicted} were predicted in {self.counting_s:.0f} s")
        if self.tuned is not None:
            sentences += self.tuned.summary[1:] if self.tuned.best else self.tuned.summary
            failed = (one for one in self.tuned.tried if one.message and one.name not in self.tuned.outputs.wrong)
            sentences += [f"{one.name} failed: {one.message}" for one in failed]
        if self.refused:
            reasons = "; ".join(f"{reason} ({number})" for reason, number in Counter(self.refused).most_common(SHOWN))
            sentences.append(f"{sum(self.refused.values())} recipes were refused: {reasons}")
        return (*sentences, *self.notes)

    @property
    def _chosen(self) -> str:
        if not self.recipe.steps:
            return f"the kernel stays as it is{self._time}"
        of = "" if self.seconds and Recipe() in self.times else "predicted to be "
        times = "" if self.speedup is None else f", {of}{self.speedup:.3g} times as fast as the untransformed kernel"
        sentence = f"best recipe: {self.recipe}{self._time}{times}"
        if self.fastest is None:
            return sentence
        return f"{sentence}; it is the fastest of the predicted recipes with a probability of {percent(self.fastest)}"

    @property
    def _time(self) -> str:
        if self.seconds is not None:
            return f", {seconds_text(self.seconds)}"
        if self.predicted is None:
            return ""
        return f", predicted {seconds_text(self.predicted.seconds)} ({interval_text(self.predicted.interval)})"

    def __repr__(self) -> str:
        return one_line(f"<Transformed: {self.recipe}{self._time}>")

    def __str__(self) -> str:
        table = [columns_text(self.table), ""] if len(self.table) > 1 else []
        return "\n".join([*table, *self.summary])

    def _repr_html_(self) -> str:
        title = f"recipes on {self.device}" + (f", {values_text(self.sizes)}" if self.sizes else "")
        return html_table(self.table, title, self.summary)


def transformed(
    t_unit: TranslationUnit, sizes: Mapping[str, int] | None = None, /, *, runs: int = 5,
    model: FittedModel | None = None, level: float = 0.9, within: float = 0.02, of_roof: float | None = None,
    budget_s: float | None = None, kernel: str = "kernel", arguments: Arguments | None = None,
    reference: Reference | None = None, tolerance: float | None = None, compare: bool = True,
    statistics: Mapping[str, float] | None = None, space: Recipes | None = None, keep: str | Path | None = None,
    archive: bool = True, jobs: int = -1, progress: Progress | bool | None = None,
    watch: Callable[[Tuned], None] | None = None, **more_sizes: int,
) -> Transformed:  # fmt: skip
    """Transform a plain kernel: predict many recipes, run the promising ones, and return the fastest.

    First the model predicts one recipe of each form, then other tiles and neighbours of the best recipes. Then the
    recipes run as in :func:`perfmodel.tune`. Their outputs are compared with the outputs of the untransformed kernel,
    at small sizes if the untransformed kernel is slow and there are no `arguments`. If it is not slow, it is timed
    first, and no slower recipe is chosen.

    Parameters
    ----------
    t_unit
        The kernel. Inames that have a tag keep it.
    sizes, **more_sizes
        The size parameters, integers.
    runs
        Most recipes that run, not counting the best one without its assumptions. If 0, the model alone chooses, also
        for a device of another machine.
    model
        A fitted model, by default the model of the device in use (:func:`perfmodel.load`).
    budget_s
        No recipe runs later than this many seconds after the start, by default 56, or 6 more for each run above five.
        At most half of it, and at most 30 s, are used for counting.
    space
        The recipes to choose from, by default those of :func:`perfmodel.recipes_of`.
    archive
        Whether the times of the recipes that ran go into the archive of the device (:func:`perfmodel.best`).
    jobs
        As in :func:`perfmodel.count_all`.
    level, within, of_roof, keep, kernel, arguments, reference, tolerance, compare, statistics, progress, watch
        As in :func:`perfmodel.tune`. By default the untransformed kernel is the reference.

    Returns
    -------
    Transformed
        The recipe, the transformed unit (``kernel(**sizes)``), and what was tried. If nothing can be transformed or
        predicted, the unit is as it was, and ``notes`` gives the reason.

    Raises
    ------
    ArgumentError, SizeError, OptionError
        If an argument is not allowed.
    WeightsError, BrokenDeviceError, DeviceBusyError
        If no model of a device of this machine is found, or if the device does not work or stays in use.

    Examples
    --------
    ::

        found = pm.transformed(plain, n=1024)
        print(found)
        print(found.code)
    """
    began, jobs = monotonic(), checked_jobs(jobs)
    require(isinstance(t_unit, TranslationUnit), "transformed: t_unit", t_unit, "a translation unit of Loopy")
    require(sizes is None or isinstance(sizes, Mapping), "transformed: sizes", sizes, "a mapping of names to sizes")
    if isinstance(runs, bool) or not isinstance(runs, int) or runs < 0:
        raise OptionError(f"runs={runs!r}", "give an integer of at least 0; with 0 the model alone chooses")
    check_level(level)
    if model is None:
        model = load()
    model, at, bar = model.by_clock("host"), {**(sizes or {}), **more_sizes}, shown(progress)
    device = device_of(model) if runs else None
    known = dict(statistics or {})
    if arguments is not None:
        given = arguments
        known = statistics_of(t_unit, lambda: {**given(**at), **at}) | known
    found = Transformed(t_unit, Recipe(), model.device, at, None)
    checked = partial(count, subgroup_size=model.fitted.subgroup_size, statistics=known, check=True, sizes=at)
    try:
        counts = checked(t_unit)
        plain = model.predict(counts, at, level=level, allow_unmeasured=True)
        if model.facts is not None:
            counts.check_launch(model.facts)
        space = recipes_of(t_unit, at, model.facts) if space is None else space
    except (SizeError, AssumptionError):
        raise
    except PerfModelError as error:
        return replace(found, notes=(str(error),), spent_s=monotonic() - began)
    predicting = Predicting(model, level, True, skipped=PerfModelError, jobs=jobs, options={"statistics": known})
    budget_s = BUDGET_S + RUN_S * max(runs - RUNS, 0) if budget_s is None else budget_s
    limit = min(COUNTING_S, SHARE * budget_s)
    search = _ModelSearch(t_unit, space, predicting, at, began + limit, bar)
    with _quiet_loopy():
        search.run(limit)
    found = replace(
        found, plain=plain, candidates=search.ranked, refused=search.refused, notes=space.notes,
        counting_s=monotonic() - began,
    )  # fmt: skip
    if found.candidates:
        trials = partial(
            Trials, sizes=at, campaign=TUNE, arguments=arguments, kernel=kernel, statistics=known, progress=bar,
            observes=False, compare=compare, tolerance=tolerance, keep=None if keep is None else Path(keep),
            reference=reference or (lambda **passed: t_unit),
        )  # fmt: skip
        tuning = partial(
            Tuning, model=model, at=at, level=level, within=within, of_roof=of_roof, most=runs, began=began,
            budget_s=budget_s, watch=watch,
        )  # fmt: skip
        with _quiet_loopy():
            ran = None if device is None else _chosen_by_runs(found, counts, device, trials, tuning)
            if ran is not None and device is not None and archive:
                ran = _archived(ran, t_unit, str(device.index))
            found = ran or _chosen_by_model(found, model, level, checked)
    elif space.forms and monotonic() > search.ends:
        note = "the time was over before a recipe was predicted; give a larger budget"
        found = replace(found, notes=(*found.notes, note))
    return replace(found, spent_s=monotonic() - began)


@contextmanager
def _quiet_loopy() -> Iterator[None]:
    """Suppress Loopy's warnings about recipes, most of which are tried only once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LoopyWarning)
        warnings.filterwarnings("ignore", "Cannot (satisfy|enforce)", UserWarning)  # of an order of loops
        yield


def _chosen_by_model(
    found: Transformed, model: FittedModel, level: float, checked: Callable[[TranslationUnit], object]
) -> Transformed:
    """Choose the recipe predicted fastest, with the probability that it is."""
    found = _only_legal(found, checked)
    if not found.candidates or found.plain is None:
        return found
    could_run = (Candidate(PLAIN, Recipe(), found.plain), *shortlist(found.candidates))
    chosen = sorted(could_run, key=lambda one: one.seconds)
    scatter = scatter_of(model, [one.prediction for one in chosen])
    ranking = with_ties([RankedVariant.of(one.name, one.prediction) for one in chosen], scatter, level)
    return replace(found, recipe=chosen[0].recipe, ranking=ranking)


def _only_legal(found: Transformed, checked: Callable[[TranslationUnit], object]) -> Transformed:
    """Leave out the fastest recipes that `checked` or Loopy refuses. The search had no time to write their code."""
    left, refused = list(found.candidates), Counter(found.refused)
    while left:
        try:
            checked(legal(left[0].recipe, found.untransformed))
            break
        except PerfModelError as error:
            refuse(refused, error)
            del left[0]
    notes = found.notes if left else (*found.notes, "Loopy refuses all predicted recipes")
    return replace(found, candidates=tuple(left), refused=refused, notes=notes)


def _chosen_by_runs(
    found: Transformed, counts: KernelCounts, device: Device, trials: partial[Trials], tuning: partial[Tuning]
) -> Transformed | None:
    """Run recipes, and choose the fastest among those with right outputs. Return None if nothing ran.

    `counts` are the untransformed kernel's, and `trials` and `tuning` lack what depends on the recipes. The fastest
    runs without its assumptions too, and that recipe is chosen if it is not slower.
    """
    plain, t_unit, arguments = found.plain, found.untransformed, trials.keywords["arguments"]
    affordable = plain is not None and plain.seconds <= AFFORDABLE_S
    once = plain is not None and plain.seconds <= COMPARED_S and _additions(counts, found.sizes) < EXACT_TERMS
    small = found.sizes if once else _small_sizes(found, counts, tuning.keywords["model"], arguments)
    compare_at = None if small == found.sizes else small
    allowed = [one for one in found.candidates if one.recipe.allows(small)]
    others = len(found.candidates) - len(allowed)
    if not allowed or allowed[0].seconds > LOSS * found.candidates[0].seconds:  # tests may cost less than that
        allowed, others = [one if one.recipe.allows(small) else one.unassumed for one in found.candidates], 0
    chosen = shortlist(allowed)
    candidates = {one.name: one for one in (*(one.unassumed for one in chosen), *chosen)}
    ran_once = partial(_ran, t_unit=t_unit, device=device.index, at=(small, found.sizes), arguments=arguments)
    rehearsal = Rehearsal(ran_once, tuning.keywords["began"] + tuning.keywords["budget_s"])
    variants = {name: partial(rehearsal.unit, one.recipe, t_unit) for name, one in candidates.items()}
    variants[PLAIN] = partial(Recipe().apply, t_unit)
    with trials(device, variants, compare_at=compare_at) as runs, closing(rehearsal):
        first = {PLAIN: plain} if affordable and plain else {}
        search = tuning(runs, most=tuning.keywords["most"] + len(first), first=tuple(first))
        search.expect({**first, **{one.name: one.prediction for one in chosen}})
        tuned = search.finished()
        best = candidates.get(tuned.best.name) if tuned.best else None
        if best is not None and best.unassumed.name not in search.tried:
            again = tuning(runs, most=1, watch=None, budget_s=None)  # whatever the model predicts
            again.expect({best.unassumed.name: best.prediction})
            more = again.finished()
            tuned = replace(tuned, tried=(*tuned.tried, *more.tried), outputs=more.outputs)
    if not tuned.tried:
        return None
    notes = list(found.notes)
    if plain is not None and not first:
        notes.append(f"the untransformed kernel was not timed: its prediction is {seconds_text(plain.seconds)}")
    if others:
        notes.append(f"{others} recipes could not run: their assumptions do not hold at {values_text(small)}")
    if compare_at is not None:
        notes.append(f"outputs were compared with the untransformed kernel's at {values_text(compare_at)}")
    # among ties, the recipe that is valid at all sizes is chosen
    ran = next((one for one in tuned.tied if best and one.name == best.unassumed.name), tuned.best)
    recipe = candidates[ran.name].recipe if ran and ran.name != PLAIN else Recipe()
    every = {one.recipe: one for one in (*found.candidates, *candidates.values())}
    return replace(
        found, recipe=recipe, seconds=ran.seconds if ran else None, tuned=tuned,
        notes=tuple(notes), candidates=tuple(sorted(every.values(), key=lambda one: one.seconds)),
    )  # fmt: skip


def _small_sizes(
    found: Transformed, counts: KernelCounts, model: FittedModel, arguments: Arguments | None
) -> Mapping[str, int]:
    """Return sizes at which the untransformed kernel is fast enough to run once, and its sums have enough digits."""
    for stride in STRIDES:
        small = small_sizes(counts, found.sizes, stride)
        with suppress(PerfModelError):
            seconds = model.predict(counts, small, allow_unmeasured=True).seconds
            if seconds <= COMPARED_S and _additions(counts, small) < EXACT_TERMS:
                break
    if arguments is not None:
        try:
            check_given(found.untransformed.default_entrypoint, arguments(**small), small)
        except Exception:  # of the user's code, or sizes of the data that differ
            return found.sizes
    return small


def _additions(counts: KernelCounts, sizes: Mapping[str, int]) -> float:
    """Return about how many float32 numbers a kernel adds for each element that it stores."""
    stores = float(counts.accesses(space="global", direction="store")(**sizes))
    return float(counts.operations(dtype="float32", kind="add")(**sizes)) / max(stores, 1.0)


def _archived(found: Transformed, t_unit: TranslationUnit, device: str) -> Transformed:
    """Add the times of all recipes with right outputs to the archive of the device. If that fails, add a note."""
    try:
        record(t_unit, found.sizes, found.times, device)
    except PerfModelError as error:
        return replace(found, notes=(*found.notes, str(error)))
    return found


def shortlist(ranked: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Return the recipes that may run, in the given order.

    At most :data:`ALIKE` of them are of one form, and the predicted times of these differ in the first two digits:
    runs of recipes that are almost equal say little.
    """
    distinct = dict[tuple[Form | None, str], Candidate]()
    for one in ranked:
        distinct.setdefault((one.form, f"{one.seconds:.1e}"), one)
    return tuple(islice(_several(distinct.values(), ALIKE), SHORTLIST))


def _several(ranked: Iterable[Candidate], most: int) -> Iterator[Candidate]:
    forms = Counter[Hashable]()
    for one in ranked:
        forms[one.form] += 1
        if forms[one.form] <= most:
            yield one


def small_sizes(counts: KernelCounts, at: Mapping[str, int], stride: int) -> Mapping[str, int]:
    """Return smaller sizes at which recipes are as valid as at the given ones, or these if there are none.

    Each size becomes its remainder by `stride` plus `stride`. If the kernel's assumptions exclude these
    sizes, all shrink in proportion.
    """
    small = {name: min(size, stride + size % stride) for name, size in at.items()}
    try:
        counts.work_groups()(**small)
    except AssumptionError:
        small = dict(smaller_sizes([counts], at)[0])
    return small


@dataclass(eq=False)
class _ModelSearch:
    """Predicts the first recipes of forms, neighbours of the best recipes, and random tiles of the best forms."""

    t_unit: TranslationUnit
    space: Recipes
    asked: Predicting
    at: Mapping[str, int]
    ends: float  # by the monotonic clock [s]
    progress: Progress
    found: dict[Recipe, Candidate] = field(default_factory=dict)
    checked: set[Recipe] = field(default_factory=set)  # Loopy can write their code
    refused: Counter[str] = field(default_factory=Counter)
    seen: set[Recipe] = field(default_factory=set)
    names: Counter[str] = field(default_factory=Counter)
    sources: dict[Hashable, Iterator[Recipe]] = field(default_factory=dict)
    random: np.random.Generator = field(default_factory=partial(np.random.default_rng, TUNE.seed))
    reported: float = field(default_factory=monotonic)

    @property
    def ranked(self) -> tuple[Candidate, ...]:
        """The predicted recipes, the fastest first."""
        return tuple(sorted(self.found.values(), key=lambda one: one.seconds))

    def run(self, seconds: float) -> None:
        """Predict recipes for `seconds`, or until none is left."""
        pool = nullcontext(None) if self.asked.jobs == 1 else processes_for(self.asked.jobs or 1, BATCH)
        with task(self.progress, "predicting recipes", 1, seconds), pool as processes:
            if processes is not None:
                processes.until = self.ends  # some recipes take minutes to count
            self._asked = replace(self.asked, processes=processes)
            size = BATCH * (processes.count if processes else 1)
            forms = self.space.forms
            self._firsts = [self._unseen(map(self.space.first, some)) for some in (forms, self._shuffled(forms))]
            more = self._predict(list(islice(self._firsts[0], FIRST)))
            while more and (recipes := self._following(size)):
                more = self._predict(recipes)
            self.progress.advance()

    def _following(self, size: int) -> list[Recipe]:
        """Return unseen recipes: neighbours of the best, random tiles of the best forms, and new forms, in turn."""
        while unchecked := [one.recipe for one in self._parents[:PARENTS] if one.recipe not in self.checked]:
            if not self._predict(unchecked, check=True):
                return []  # the time is over
        parents = self._parents
        forms = dict.fromkeys(one.form for one in parents if one.form is not None)
        near = [self._source(one.recipe, self.space.neighbours) for one in parents]
        tiles = [self._source(form, lambda form: self._shuffled(tuple(self.space.of(form)))) for form in forms]
        # the best first; all others if the best have no more neighbours
        best = _in_turn([*near[:PARENTS], *tiles[:SAMPLED], *self._firsts])
        return list(islice(chain(best, _in_turn([*near, *tiles])), size))

    @property
    def _parents(self) -> list[Candidate]:
        """The best recipes, the fastest first. At most :data:`PER_FORM` of them are of one form."""
        return list(_several(self.ranked, PER_FORM))

    def _source(self, key: Key, recipes: Callable[[Key], Iterable[Recipe]]) -> Iterator[Recipe]:
        if key not in self.sources:
            self.sources[key] = self._unseen(recipes(key))
        return self.sources[key]

    def _shuffled(self, values: Sequence[Any]) -> list[Any]:
        return [values[index] for index in self.random.permutation(len(values))]

    def _unseen(self, recipes: Iterable[Recipe | None]) -> Iterator[Recipe]:
        for recipe in recipes:
            if recipe is not None and recipe not in self.seen:
                self.seen.add(recipe)
                yield recipe

    def _predict(self, recipes: Sequence[Recipe], check: bool = False) -> bool:
        """Predict recipes, and return whether there is time for more. Loopy also writes their code if `check`."""
        named = {self.found[recipe].name if check else self._name(recipe): recipe for recipe in recipes}
        built = legal if check else Recipe.apply
        variants = {name: partial(built, recipe, self.t_unit) for name, recipe in named.items()}
        asked = replace(self._asked, options={**self._asked.options, "check": check})
        with closing(asked.stream(variants, self.at)) as outcomes:
            for name, outcome in outcomes:
                self._note(name, named[name], outcome)
                if check:
                    self.checked.add(named[name])
                if monotonic() > self.ends:
                    return False
        return bool(recipes) and monotonic() <= self.ends

    def _name(self, recipe: Recipe) -> str:
        name = str(recipe)
        self.names[name] += 1
        return name if self.names[name] == 1 else f"{name} ({self.names[name]})"

    def _note(self, name: str, recipe: Recipe, outcome: Predicted | PerfModelError) -> None:
        if isinstance(outcome, PerfModelError):
            refuse(self.refused, outcome)
            self.found.pop(recipe, None)
        elif outcome.problem or not outcome.prediction.seconds > 0:
            self.refused[outcome.problem or "the predicted time is not positive"] += 1
        else:
            self.found[recipe] = Candidate(name, recipe, outcome.prediction, self.space.point(recipe).form)
        now = monotonic()
        if now - self.reported >= REPORT_S:
            best = min(self.found.values(), key=lambda one: one.seconds, default=None)
            text = f"{len(self.found)} recipes of {len({one.form for one in self.found.values()})} forms"
            text += f", best {seconds_text(best.seconds)}: {best.name}" if best else ""
            self.progress.report(f"{text}; {max(self.ends - now, 0):.0f} s left")
            self.reported = now


def _in_turn(sources: Sequence[Iterator[Recipe]]) -> Iterator[Recipe]:
    """Yield one item of each iterator in turn, until all end."""
    waiting = list(sources)
    while waiting:
        for source in tuple(waiting):
            try:
                yield next(source)
            except StopIteration:
                waiting.remove(source)


class Rehearsal:
    """Builds recipes and runs each once by `run` in another process, which may crash or take too long.

    The search `ends` at this time of the monotonic clock [s]: shortly before it, recipes get less time. Loopy may write
    code that a driver compiles for minutes. PoCL keeps what it compiled on disk, for this process too.
    """

    def __init__(self, run: Callable[[Recipe], TranslationUnit], ends: float) -> None:
        self._run, self._processes, self._ends = run, Processes(1), ends

    def close(self) -> None:
        """End the process."""
        self._processes.end(kill=True)

    def unit(self, recipe: Recipe, t_unit: TranslationUnit) -> TranslationUnit:
        """Return the transformed unit. Raise a KernelError if it is not legal, crashes, or takes too long."""
        name, most_s = clipped(str(recipe), LONGEST), min(FIRST_RUN_S, max(self._ends - monotonic(), LAST_RUN_S))
        future = self._processes.submit(work, pickle.dumps(bool), packed(name, partial(self._run, recipe)))
        try:
            value, _ = received(name, future.result(timeout=most_s))
        except Exception as error:
            late = isinstance(error, futures.TimeoutError)
            if not late and not is_death(error):
                raise
            self.close()
            problem = f"compiling and running it once took more than {most_s:.0f} s" if late else "it crashed"
            raise KernelError(problem, "it was left out") from error
        if isinstance(value, PerfModelError):
            raise value
        return legal(recipe, t_unit)


def _ran(
    recipe: Recipe, t_unit: TranslationUnit, device: int, at: Sequence[Mapping[str, int]], arguments: Arguments | None
) -> TranslationUnit:  # fmt: skip
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # a compiler that crashes writes a page to standard error
    sizes = next(filter(recipe.allows, at))
    unit = legal(recipe, t_unit)
    kernel = UserKernel("recipe", {PLAIN: unit}, arguments, (sizes,), TUNE.seed)
    kernel.ask_for_arguments(PLAIN, sizes)
    Bench(find(str(device)), TUNE).output(kernel.subject(PLAIN), sizes)
    return unit


def refuse(refused: Counter[str], error: PerfModelError) -> None:
    """Count a refusal by its reason. Reasons that differ only in names and numbers count as the first of them."""
    reason = clipped(str(getattr(error, "reason", "") or error.problem), LONGEST)
    alike = {re.sub(r"'[^']*'|\d+", "", known): known for known in (reason, *refused)}
    refused[alike[re.sub(r"'[^']*'|\d+", "", reason)]] += 1
