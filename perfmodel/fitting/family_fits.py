"""Fits of a family to some of a device's measured rows, and their predictions of rows whose features they have."""

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

import numpy as np

from perfmodel.errors import FitError, OptionError
from perfmodel.facts import Fact, FactValue
from perfmodel.fitting import design as designs
from perfmodel.fitting.anchored import Anchored, anchored_errors
from perfmodel.fitting.conformal import Conformal, Unseen, calibrate, lack_of_support, support_of
from perfmodel.fitting.design import Design, DesignFit, Evaluate, build_design, evaluate_rows, fitted_weights
from perfmodel.fitting.selection import Scatter, cells_of, estimate_scatter
from perfmodel.fitting.types import Flags, Floats, Rows
from perfmodel.fitting.weights_file import FitOptions, FittedWeights
from perfmodel.models import Family, find_family
from perfmodel.models.model import weight_name
from perfmodel.store import Measurement, Measurements
from perfmodel.values import FrozenValue

SAMPLES = "samples"  #: The fold of samples, which no fit uses


class Refits:
    """Fits of a family to some rows of a design, and predictions of other rows by these fits. Each fit is made once."""

    def __init__(
        self, table: Design, family: Family, options: FitOptions | None = None, groups: Sequence[str] | None = None
    ) -> None:
        self.table = table
        self.family = family
        self.options = options
        self.groups = np.array(groups if groups is not None else [""] * len(table.times))
        self._made: dict[bytes, DesignFit] = {}

    def fit(self, seen: Rows) -> DesignFit:
        """Return the fit to the rows with these numbers. Raise a FitError for fewer rows than weights."""
        key = np.sort(seen).tobytes()
        if key not in self._made:
            self._made[key] = designs.fit_to_design(self.table.select(seen), self.family, self.options)
        return self._made[key]

    def support(self, seen: Rows) -> Floats:
        """Return the support of each weight in the fit to some rows, shape (n_weights,)."""
        return support_of(self.fit(seen).by_weight(self.table.select(seen)), self.groups[seen].tolist())

    def predict(self, seen: Rows, unseen: Rows) -> Unseen:
        """Predict the `unseen` rows by a fit to the `seen` rows. If these are too few, withhold all predictions."""
        table = self.table
        free = () if self.family.resources else [name for name in table.names if self.family.is_quantity(name)]
        charged = np.array([name not in free for name in table.names], dtype=np.bool_)
        exercised = (table.matrix != 0) & charged
        lacking = exercised[unseen] & ~np.any(exercised[seen], axis=0)
        predictable = ~np.any(lacking, axis=1)
        seconds, by_weight, lack = self._nothing(len(unseen))
        if predictable.any():
            try:
                fit, rows = self.fit(seen), table.select(unseen[predictable])
                seconds[predictable], by_weight[predictable] = fit.predict(rows), fit.by_weight(rows)
                lack[predictable] = lack_of_support(by_weight[predictable], self.support(seen))
            except FitError:
                lacking = exercised[unseen]
        needs = (tuple(table.names[i] for i in np.flatnonzero(row)) for row in lacking)
        return Unseen(seconds, tuple(needs), by_weight, lack, table.private[unseen])

    def left_out(self, folds: Sequence[object], fitted: Rows | None = None, asked: Rows | None = None) -> Unseen:
        """Predict each row by a fit without the rows of its fold. A fold may be a group.

        Rows with the fold None are in every fit and are not predicted. Fits use only the rows `fitted`. Only the rows
        `asked` are predicted, and predictions of the others are NaN. By default, `fitted` and `asked` are all rows.
        """
        labels = np.array([-1 if fold is None else folds.index(fold) for fold in folds], dtype=np.int64)
        fits, wanted = _flags(len(labels), fitted), _flags(len(labels), asked) & (labels >= 0)
        seconds, by_weight, lack = self._nothing(len(labels))
        needs: list[tuple[str, ...]] = [()] * len(labels)
        for label in np.unique(labels[wanted]):
            fold = np.flatnonzero(wanted & (labels == label))
            unseen = self.predict(np.flatnonzero(fits & (labels != label)), fold)
            seconds[fold], by_weight[fold], lack[fold] = unseen.seconds, unseen.by_weight, unseen.lack
            for i, row in zip(fold, unseen.needs, strict=True):
                needs[i] = row
        return Unseen(seconds, tuple(needs), by_weight, lack, self.table.private)

    def _nothing(self, rows: int) -> tuple[Floats, Floats, Floats]:
        return np.full(rows, np.nan), np.full((rows, len(self.table.model.weights)), np.nan), np.full(rows, np.nan)


def dealt(labels: Sequence[Hashable], folds: int | None) -> list[int | None]:
    """Return the fold of each row. Rows of one label share a fold, and a row with the label None has no fold.

    Labels with the most rows are dealt first, and labels with equally many rows by their text. Each label goes to the
    fold with the fewest rows so far. If no number of folds is given, each label has a fold of its own.
    """
    if folds is not None and not (isinstance(folds, int) and folds >= 2):
        raise OptionError(f"folds is {folds!r}", "give a whole number from 2 up; with 8 each fit lacks 1/8 of the rows")
    sizes = Counter(label for label in labels if label is not None)
    filled = [0] * (len(sizes) if folds is None else folds)
    fold_of: dict[Hashable, int | None] = {None: None}
    for label in sorted(sizes, key=lambda label: (-sizes[label], str(label))):
        fold_of[label] = fold = filled.index(min(filled))
        filled[fold] += sizes[label]
    return [fold_of[label] for label in labels]


def _flags(count: int, rows: Rows | None) -> Flags:
    return np.ones(count, dtype=np.bool_) if rows is None else np.isin(np.arange(count), rows)


SOURCE = "chosen by cross-validation over groups of measured kernels"


def log_errors(unseen: Unseen, times: Floats) -> Floats:
    r"""Return :math:`|\log(t/p)|` of rows, shape (n_rows,). If a prediction is withheld or not positive, it is NaN."""
    with np.errstate(invalid="ignore", divide="ignore"):
        errors = np.abs(np.log(times / unseen.seconds))
    return np.where(unseen.known & (unseen.seconds > 0), errors, np.nan)


def error_of_kernels(errors: Floats, kernels: Sequence[str], measured: int) -> float:
    """Return the mean over kernels of the mean error of each kernel. Errors that are NaN are ignored.

    Rows after the first `measured` ones are samples. If there are samples, the result is the mean of two means: of the
    samples and of the other rows. A new kernel may resemble either kind. Without any error the result is NaN.
    """
    by_kernel: tuple[dict[str, list[float]], ...] = defaultdict(list), defaultdict(list)
    for i, (error, kernel) in enumerate(zip(errors.tolist(), kernels, strict=True)):
        if not math.isnan(error):
            by_kernel[i >= measured][kernel].append(error)
    parts = [np.mean([np.mean(of_one) for of_one in part.values()]) for part in by_kernel if part]
    return float(np.mean(parts)) if parts else math.nan


def with_facts(measurements: Measurements, values: Mapping[str, FactValue]) -> Measurements:
    """Return measurements with these values of facts, which a fit chose or tries."""
    chosen = {key: Fact(value, "", SOURCE) for key, value in values.items()}
    return measurements.with_facts(measurements.known_facts.updated(chosen))


@dataclass(frozen=True, eq=False)
class FamilyFits(FrozenValue):
    """All fits of a family to rows of a device's measurements. Each fit is made when it is first needed.

    Fits use the rows `measured`. Errors on `tests` and `samples` also determine the intervals, and samples help to
    choose facts. `folds` is the number of folds of cross-validation. By default each group is a fold. `evaluate`
    returns the values of rows, like :class:`perfmodel.fitting.evaluated.Evaluated`.
    """

    measured: Measurements
    family: Family
    options: FitOptions = field(default_factory=FitOptions)
    tests: Measurements | None = None
    folds: int | None = None
    evaluate: Evaluate = evaluate_rows
    samples: Measurements | None = None

    @cached_property
    def known(self) -> Measurements:
        """The measured rows, whose facts include those that the family chooses (:attr:`Family.choices`).

        Facts are chosen one after the other, in the family's order. Facts that are not chosen yet have their first
        candidate. The candidate with the smallest error of kernels is taken. For the error, a fit without the group of
        a row predicts the row (in `folds` folds). The fit to all rows predicts samples. Known facts are kept.
        """
        facts = self.measured.facts
        choices = {key: values for key, values in self.family.choices.items() if facts is None or key not in facts}
        groups = dealt([row.group for row in self.measured], self.folds) if choices else []
        if not groups:
            return self.measured
        chosen = {key: values[0] for key, values in choices.items()}

        @cache
        def loss(*values: FactValue) -> float:
            return self._loss(with_facts(self.measured, dict(zip(choices, values, strict=True))), groups)

        if len(set(groups)) > 1:
            for key, values in choices.items():
                chosen[key] = min(values, key=lambda value: loss(*{**chosen, key: value}.values()))
        return with_facts(self.measured, chosen)

    def _loss(self, known: Measurements, groups: list[int | None]) -> float:
        table, rows, count = build_design(known, self.family, self.options, self.evaluate), [*known], len(groups)
        if self.samples:
            others = self.samples.with_facts(known.facts)
            table = table.stacked(build_design(others, self.family, self.options, self.evaluate), self.family)
            rows += self.samples
        folds = [*groups, *[SAMPLES] * (len(rows) - count)]
        unseen = Refits(table, self.family, self.options).left_out(folds, np.arange(count))
        error = error_of_kernels(log_errors(unseen, table.times), [row.kernel for row in rows], count)
        return np.inf if math.isnan(error) else error

    @cached_property
    def design(self) -> Design:
        """The design of the measured rows alone."""
        return build_design(self.known, self.family, self.options, self.evaluate)

    def design_of(self, others: Measurements, evaluate: Evaluate | None = None) -> Design:
        """Return the design of other rows of the device."""
        known = others.with_facts(self.known.facts) if self.family.choices else others
        return build_design(known, self.family, self.options, evaluate or self.evaluate)

    def with_tests(self, tests: Measurements) -> "FamilyFits":
        """Return the fits with other tests. The chosen facts and the design of the measured rows are kept."""
        fits = replace(self, tests=tests)
        vars(fits).update(known=self.known, design=self.design)  # where cached properties keep their values
        return fits

    @property
    def weights(self) -> FittedWeights:
        """The weights fitted to the measured rows, with the data for intervals and ties from all rows."""
        fitted = fitted_weights(self.known, self.family, self.options, self.design)
        update = {
            "conformal": self.scores, "measured": self.design.measured_range, "scatter": self.scatter,
            "anchored": self.anchored,
        }  # fmt: skip
        return fitted.model_copy(update=update)

    @cached_property
    def rows(self) -> tuple[Measurement, ...]:
        """The measured rows, then the tests' rows, then the samples' rows."""
        return (*self.measured, *(self.tests or ()), *(self.samples or ()))

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """The group of each row. Samples form as many groups as all other rows."""
        others = [row.group for row in (*self.measured, *(self.tests or ()))]
        folds = dealt([row.kernel for row in self.samples or ()], max(2, len(set(others))))
        return (*others, *(f"{SAMPLES} {fold}" for fold in folds))

    @cached_property
    def refits(self) -> Refits:
        """Fits to some of :attr:`rows`."""
        table = self.design
        for others in (self.tests, self.samples):
            if others:
                table = table.stacked(self.design_of(others), self.family)
        return Refits(table, self.family, self.options, self.groups)

    @property
    def seen(self) -> Rows:
        """Numbers of the measured rows among :attr:`rows`."""
        return np.arange(len(self.design.times))

    @property
    def unseen(self) -> Rows:
        """Numbers of the tests' rows among :attr:`rows`."""
        return np.arange(len(self.seen), len(self.rows) - len(self.sampled))

    @property
    def sampled(self) -> Rows:
        """Numbers of the samples' rows among :attr:`rows`."""
        return np.arange(len(self.rows) - sum(1 for _ in self.samples or ()), len(self.rows))

    def fit_measured(self) -> DesignFit:
        """Return the fit to all measured rows."""
        return self.refits.fit(self.seen)

    def predict_tests(self) -> Unseen:
        """Predict the tests' rows by the fit to all measured rows."""
        return self.refits.predict(self.seen, self.unseen)

    def predict_without_group(self, asked: Rows | None = None) -> Unseen:
        """Predict rows, all by default, each by a fit without any row of its group."""
        sampled = len(self.sampled)
        folds = dealt(self.groups[: len(self.rows) - sampled], self.folds)
        return self.refits.left_out([*folds, *[SAMPLES] * sampled], fitted=self.seen, asked=asked)

    @cached_property
    def scores(self) -> Conformal:
        """Conformal scores of all rows. The score of a row is by a fit without the group of the row."""
        return self._calibrated(np.arange(len(self.rows)))

    def scores_without(self, group: str) -> Conformal:
        """Return the scores of all groups except one, with scales from the rows of these groups only."""
        return self._calibrated(np.array([i for i, each in enumerate(self.groups) if each != group], dtype=np.int64))

    @cached_property
    def scatter(self) -> Scatter | None:
        """Scatter of errors between variants of a kernel at the same sizes, or None if no kernel has two variants."""
        count = len(self.seen)
        seconds = self._without_group.seconds[:count]
        return estimate_scatter(cells_of(self.rows[:count], self.refits.table.times, seconds))

    @cached_property
    def anchored(self) -> Anchored | None:
        """Errors of predictions that are scaled at the smallest size, or None if no kernel has two sizes."""
        times, measured = self.refits.table.times, len(self.seen)
        return anchored_errors(self.rows, self.groups, times, self._without_group, measured)

    def by_weight(self, unseen: Unseen) -> dict[str, Floats]:
        """Return the seconds due to each fitted weight in predictions, by the name of the weight."""
        return {} if unseen.by_weight is None else {name: unseen.by_weight[:, i] for name, i in self._columns.items()}

    def _calibrated(self, rows: Rows) -> Conformal:
        unseen, columns = self._without_group.of(rows), [*self._columns.values()]
        by_weight = None if unseen.by_weight is None else unseen.by_weight[:, columns]
        groups = [self.groups[i] for i in rows]
        return calibrate(replace(unseen, by_weight=by_weight), self.refits.table.times[rows], groups, self._support)

    @cached_property
    def _without_group(self) -> Unseen:
        return self.predict_without_group()

    @cached_property
    def _columns(self) -> dict[str, int]:
        """The column of each weight in the matrix of all rows, for the weights in the fit to the measured rows."""
        known, every = {*self.design.model.weights}, self.refits.table.model.weights
        return {weight_name(self.family, name): i for i, name in enumerate(every) if name in known}

    @cached_property
    def _support(self) -> dict[str, float]:
        support = self.refits.support(self.seen)
        return {name: float(support[i]) for name, i in self._columns.items()}


def fit_weights(measurements: Measurements, family: str | Family, options: FitOptions | None = None) -> FittedWeights:
    """Fit a family to the measurements of one device. The result has no intervals."""
    fits = FamilyFits(measurements, find_family(family), options or FitOptions())
    return fitted_weights(fits.known, fits.family, fits.options, fits.design)
