"""Protocols by which models are judged: which kernels are in the fit, and which are predicted.

:data:`PROTOCOLS` describes each of them. ``sizes`` leaves out the smallest size of each measured kernel, then the
second smallest, and so on. ``C`` judges predictions scaled by one run (:mod:`perfmodel.fitting.anchored`). ``groups``,
``kernels`` and ``variants`` need no test kernels, and use eight folds (:func:`perfmodel.fitting.family_fits.dealt`).
"""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

import numpy as np

from perfmodel.compare.comparison import Comparison, Comparisons, Figures, in_order, summarise, volume
from perfmodel.display import DataFrame, values_text
from perfmodel.documents import one_line
from perfmodel.fitting.anchored import anchor_rows
from perfmodel.fitting.conformal import Conformal, Unseen, check_level, scaled
from perfmodel.fitting.family_fits import FamilyFits, dealt
from perfmodel.fitting.types import Floats
from perfmodel.fitting.weights_file import FitOptions
from perfmodel.models import Family, find_family
from perfmodel.predicting.model import FittedModel
from perfmodel.store import Measurement, Measurements
from perfmodel.values import FrozenValue, grouped

PROTOCOLS: Mapping[str, str] = MappingProxyType({
    "A": "fitted to the measurement kernels",
    "B": "and without any kernel of the predicted kernel's group",
    "sizes": "measurement kernels, each at a size that is not in the fit",
    "C": "as B, scaled by one visit to the smallest size of each variant; the other sizes",
    "A/C": "as A, over the cases of C",
    "B/C": "as B, over the cases of C",
    "groups": "measured kernels, each by a fit without its group",
    "kernels": "measured kernels, each by a fit without this kernel, but with others of its group",
    "variants": "variants of measured kernels, each by a fit without this variant, but with others of its kernel",
})  # fmt: skip
"""The kernels in the fits of each protocol."""
UNASKED = ("A", "B", "sizes")  # the default protocols with test kernels
RECORDED = ("groups", "kernels", "variants")  # the default protocols without test kernels
TESTLESS = ("sizes", *RECORDED)  # the protocols that need no test kernels
FOLDS = 8  # of RECORDED
_UNSCALED: Mapping[str, str] = MappingProxyType({"C": "B", "A/C": "A", "B/C": "B"})  # the source of predictions


@dataclass(frozen=True, repr=False)
class Evaluation(FrozenValue):
    """The figures of a family on a device by one protocol."""

    protocol: str  # one of PROTOCOLS
    family: str
    device: str
    level: float | None  # probability of the rows' intervals; None without intervals
    rows: tuple[Comparison, ...] = field(repr=False)  # in the order of kernels, variants and sizes

    @cached_property
    def figures(self) -> Figures:
        """Figures over all rows."""
        return summarise(self.rows)

    def __repr__(self) -> str:
        return one_line(f"<Evaluation by {self.protocol} {self._of} {Comparisons(self.rows)}>")

    @property
    def _of(self) -> str:
        return f"of {self.family} on {self.device}:"

    def _repr_html_(self) -> str:
        cases = Comparisons(self.rows)
        return cases.table.html(f"protocol {self.protocol} ({PROTOCOLS[self.protocol]}), {self._of} {cases}")

    def to_frame(self) -> DataFrame:
        """Return a row for each case as a pandas table (:meth:`perfmodel.compare.Comparisons.to_frame`)."""
        return Comparisons(self.rows).to_frame()


def evaluate(
    measured: Measurements, tests: Measurements | None = None, family: str | Family = "stevens_kloeckner_2016", *,
    level: float | None = 0.9, options: FitOptions | None = None, protocols: Sequence[str] | None = None,
    folds: int | None = None, samples: Measurements | None = None,
) -> tuple[Evaluation, ...]:  # fmt: skip
    """Judge a family by some protocols. Return one evaluation for each, in the order of the protocols.

    Parameters
    ----------
    measured, tests, samples
        Measurement kernels and test kernels on one device, and random samples for intervals and fitted facts.
    level
        Probability of the intervals. None computes no intervals, which saves one fit for each group.
    protocols
        Some of :data:`PROTOCOLS`, by default A, B and sizes. Without tests they are groups, kernels and variants.
    folds
        Number of folds of the protocols groups, kernels and variants. The default is 8, and with tests one per group.
    """
    folds = folds or folds_of(tests)
    fits = FamilyFits(measured, find_family(family), options or FitOptions(), tests, folds, samples=samples)
    return evaluate_fits(fits, level, protocols)


def folds_of(tests: Measurements | None) -> int | None:
    """Return the default number of folds. With test kernels it is one for each group."""
    return FOLDS if tests is None else None


def evaluate_fits(
    fits: FamilyFits, level: float | None, protocols: Sequence[str] | None = None
) -> tuple[Evaluation, ...]:
    """Return an evaluation for each protocol, as :func:`evaluate` does."""
    if protocols is None:
        protocols = RECORDED if fits.tests is None else UNASKED
    scores: dict[str, Conformal] = {}
    groups = sorted({row.group for row in (*fits.measured, *(fits.tests or ()))})
    if level is not None:
        check_level(level)
        scores = {group: fits.scores_without(group) for group in groups}
    evaluations = []
    for name in dict.fromkeys(protocols):
        rows, unseen = _predict(fits, name)
        of_group = scores
        if name == "C":  # from the other groups' anchored rows, if there are any
            of_group = {group: fits.anchored.conformal.without(group) for group in groups} if fits.anchored else {}
        widths = None if level is None or not of_group else _half_widths(fits, rows, unseen, of_group, level)
        cases = _comparisons(rows, unseen, widths)
        evaluations.append(Evaluation(name, fits.family.name, fits.measured.device, level, cases))
    return tuple(evaluations)


def _half_widths(
    fits: FamilyFits, rows: tuple[Measurement, ...], unseen: Unseen, scores: Mapping[str, Conformal], level: float
) -> Floats:
    by_weight, groups = fits.by_weight(unseen), np.array([row.group for row in rows])
    widths = np.full(len(rows), np.nan)
    for group in sorted(set(groups)):
        members = groups == group
        others, of_group = scores[group], unseen.of(np.flatnonzero(members))
        resting = {name: column[members] for name, column in by_weight.items()}
        widths[members] = others.half_width(others.quantile(level), resting, of_group.private, of_group.lack)
    return widths


def _predict(fits: FamilyFits, protocol: str) -> tuple[tuple[Measurement, ...], Unseen]:
    measured, tests = tuple(fits.measured), tuple(fits.tests or ())
    if protocol in _UNSCALED:
        rows, unseen = _predict(fits, _UNSCALED[protocol])
        numbers, anchored = anchor_rows(rows, unseen, fits.anchored.carried if fits.anchored else 1.0)
        return tuple(rows[number] for number in numbers), anchored if protocol == "C" else unseen.of(numbers)
    if protocol == "A":
        return tests, fits.predict_tests()
    if protocol == "B":
        return tests, fits.predict_without_group(fits.unseen).of(fits.unseen)
    sized = protocol == "sizes"
    folds = ranks_of_sizes(measured) if sized else dealt(_labels(measured, protocol), fits.folds or FOLDS)
    others = len(fits.rows) - len(measured)
    return measured, fits.refits.left_out([*folds, *[None] * others], fits.seen).of(fits.seen)


def _labels(rows: tuple[Measurement, ...], protocol: str) -> Sequence[Hashable]:
    if protocol == "groups":
        return [row.group for row in rows]
    if protocol == "kernels":
        return [row.kernel for row in rows]
    forms = [(row.kernel, values_text(row.variant)) for row in rows]
    several = Counter(kernel for kernel, _ in set(forms))
    return [form if several[form[0]] > 1 else None for form in forms]


def ranks_of_sizes(rows: tuple[Measurement, ...]) -> list[int | None]:
    """Return the rank of each row's size (the product of parameters) in its variant. A single size has None."""
    labelled = [(f"{row.kernel} {values_text(row.variant)}", volume(row.parameters)) for row in rows]
    ordered = {kernel: sorted(set(sizes)) for kernel, sizes in grouped(labelled).items()}
    return [ordered[kernel].index(size) if len(ordered[kernel]) > 1 else None for kernel, size in labelled]


def _comparisons(rows: tuple[Measurement, ...], unseen: Unseen, half_widths: Floats | None) -> Comparisons:
    bounds = None if half_widths is None else np.transpose(scaled(unseen.seconds, half_widths)).tolist()
    cases = []
    for i, (row, seconds, needs) in enumerate(zip(rows, unseen.seconds, unseen.needs, strict=True)):
        predicted = None if needs or np.isnan(seconds) else float(seconds)
        interval = None if predicted is None or bounds is None else (bounds[i][0], bounds[i][1])
        cases.append(Comparison.of(row, predicted, needs, interval))
    return in_order(cases)


@dataclass(frozen=True)
class Judged:
    """The model of a family on a device, and its evaluation by each protocol."""

    model: FittedModel
    evaluations: tuple[Evaluation, ...]
