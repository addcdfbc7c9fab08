"""Model families compared on one device, with the same measurements, cases, folds and options."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from types import MappingProxyType
from typing import Any

from perfmodel.compare.comparison import Comparisons, Figures, kernels, summarise, unranked_note
from perfmodel.compare.protocols import RECORDED, Evaluation, evaluate_fits, folds_of
from perfmodel.display import DataFrame, columns_text, data_frame, finite, html_table, percent, seconds_text
from perfmodel.documents import one_line
from perfmodel.errors import PerfModelError
from perfmodel.fitting.design import evaluate_rows, fit_to_design
from perfmodel.fitting.device_folder import recorded_folder
from perfmodel.fitting.family_fits import FamilyFits
from perfmodel.fitting.throughput import takes_regression, with_measured_facts
from perfmodel.fitting.weights_file import FitOptions
from perfmodel.models import Family, families, find_family
from perfmodel.progress import FailedStep, Progress, Silent, task as reported
from perfmodel.store import Measurements
from perfmodel.values import FrozenValue, cached_method

COLUMNS = (
    "device", "family", "protocol", "kernel", "cases", "error", "factor", "regret", "top1", "tau", "weights",
    "fit_s", "predict_s", "withheld", "problem",
)  # fmt: skip
"""Keys of :func:`records`."""
COMPARED = ("A", "B")  # the protocols with test kernels; "sizes" would need a fit for each size
LEVEL = 0.9  # of the intervals without test kernels


@dataclass(frozen=True, repr=False)
class Contender(FrozenValue):
    """The figures of a family on a device, over the cases that all compared families predict."""

    family: str
    device: str
    weights: int = 0  # number of fitted weights
    fit_s: float = float("nan")  # of one fit to all measurement kernels
    predict_s: float = float("nan")  # of one prediction of a counted kernel
    evaluations: tuple[Evaluation, ...] = field(default=(), repr=False)  # by A and B, or the RECORDED protocols
    withheld: int = 0  # cases that this family withheld, by the first of these protocols
    problem: str = ""  # why the family could not be fitted

    @property
    def protocols(self) -> tuple[str, ...]:
        """The protocols of the evaluations."""
        return tuple(evaluation.protocol for evaluation in self.evaluations)

    def by(self, protocol: str) -> Evaluation:
        """Return the evaluation by one protocol."""
        return next(evaluation for evaluation in self.evaluations if evaluation.protocol == protocol)

    @cached_method
    def figures(self, protocol: str, kernel: str | None = None) -> Figures:
        """Return the figures of one kernel, or of all."""
        return summarise([row for row in self.by(protocol).rows if kernel in (None, row.kernel)])

    def __repr__(self) -> str:
        if self.problem:
            return one_line(f"<Contender {self.family} on {self.device}: not fitted: {self.problem}>")
        errors = ", ".join(f"{percent(self.figures(protocol).error)} by {protocol}" for protocol in self.protocols)
        return one_line(f"<Contender {self.family} on {self.device}: error {errors}>")

    @property
    def cells(self) -> tuple[str, ...]:
        """The figures as text, in the order of :attr:`Contenders.header`."""
        errors = [percent(self.figures(protocol).error) for protocol in self.protocols]
        first = self.figures(self.protocols[0])
        choices = (f"{first.regret:.2f}", f"{first.tau:.2f}")
        return (self.family, *errors, percent(first.factor), *choices, str(self.weights))


class Contenders(tuple[Contender, ...]):
    """Families judged on the same cases. The tuple is shown as a table, the best by the strictest protocol first."""

    __slots__ = ()

    def __repr__(self) -> str:
        return one_line(f"<Contenders: {', '.join(contender.family for contender in self)}>")

    @property
    def judged(self) -> tuple[Contender, ...]:
        """The fitted families in ascending order of their errors by the strictest protocol (B or groups)."""
        fitted = [contender for contender in self if contender.evaluations]
        return tuple(sorted(fitted, key=lambda one: one.figures("B" if "B" in one.protocols else "groups").error))

    @property
    def header(self) -> tuple[str, ...]:
        """The headings of :attr:`Contender.cells`: errors of each protocol, and other figures of the first protocol."""
        protocols = self.judged[0].protocols if self.judged else COMPARED
        by_first = (f"{name}, {protocols[0]}" for name in ("factor - 1", "regret", "tau"))
        return ("family", *(f"error, {protocol}" for protocol in protocols), *by_first, "weights")

    def _repr_html_(self) -> str:
        judged, devices = self.judged, ", ".join(dict.fromkeys(contender.device for contender in self))
        notes = [f"not fitted: {contender.family}: {contender.problem}" for contender in self if contender.problem]
        cases = "no family was fitted"
        if judged:
            cases = f"{len(judged[0].evaluations[0].rows)} cases that every family predicts"
        return html_table([self.header, *(contender.cells for contender in judged)], f"{devices}: {cases}", notes)

    def to_frame(self) -> DataFrame:
        """Return a pandas table of :data:`COLUMNS` with a row for each family, protocol and kernel."""
        return data_frame(records(self), COLUMNS)


def records(contenders: Iterable[Contender]) -> Iterator[dict[str, Any]]:
    """Yield figures by device, family, protocol and kernel, and over all kernels. An unknown figure is None."""
    for contender in contenders:
        head: dict[str, Any] = {**dict.fromkeys(COLUMNS), "device": contender.device, "family": contender.family}
        if contender.problem:
            yield {**head, "problem": contender.problem}
        for each in contender.evaluations:
            for kernel in (*kernels(each.rows), None):
                figures = contender.figures(each.protocol, kernel)
                yield {
                    **head, "protocol": each.protocol, "kernel": kernel or "all", "cases": figures.cases,
                    **{name: finite(getattr(figures, name)) for name in ("error", "factor", "regret", "top1", "tau")},
                    **{name: getattr(contender, name) for name in ("weights", "fit_s", "predict_s", "withheld")},
                }  # fmt: skip


def contender_of(fits: FamilyFits) -> Contender:
    """Judge a family on all tests that it predicts. Without tests use measured rows, with intervals."""
    name, device = fits.family.name, fits.measured.device
    try:
        if fits.tests is None:
            weights, fit_s, predict_s = timed(fits, fits.measured.of_kernels(next(iter(fits.measured)).kernel))
            evaluations = evaluate_fits(fits, LEVEL, RECORDED)
        else:
            weights, fit_s, predict_s = timed(fits, fits.tests or fits.measured)
            evaluations = evaluate_fits(fits, None, COMPARED)
    except PerfModelError as error:
        return Contender(name, device, problem=" ".join(str(error).split()))
    return Contender(name, device, weights, fit_s, predict_s, evaluations, summarise(evaluations[0].rows).withheld)


def timed(fits: FamilyFits, cases: Measurements) -> tuple[int, float, float]:
    """Return the number of fitted weights, and how long one fit (features given) and one prediction take [s]."""
    known, table = fits.refits.table.known, fits.refits.table.select(fits.seen)
    started = perf_counter()
    fitted = fit_to_design(table, fits.family, fits.options)
    fit_s = perf_counter() - started
    started = perf_counter()
    times = fits.design_of(cases, evaluate_rows).times
    return len(fitted.names) - len(known), fit_s, (perf_counter() - started) / len(times)


def on_common_cases(contenders: Iterable[Contender]) -> Contenders:
    """For each protocol and device, leave out the cases for which at least one contender has no prediction."""
    every = tuple(contenders)
    common = []
    for contender in every:
        rivals = [other for other in every if other.device == contender.device and other.evaluations]
        kept = []
        for made in contender.evaluations:
            lost = {row.case for rival in rivals for row in rival.by(made.protocol).rows if row.predicted is None}
            kept.append(replace(made, rows=Comparisons(row for row in made.rows if row.case not in lost)))
        common.append(replace(contender, evaluations=tuple(kept)))
    return Contenders(common)


def contenders(
    folder: Path, names: tuple[str, ...] = (), progress: Progress | None = None,
    made: Mapping[str, FamilyFits] = MappingProxyType({}),
) -> Contenders:  # fmt: skip
    """Fit families, all by default, to a folder's measurements and judge them on the same cases.

    A weight such as a roof or a latency may be derived from the measurements. A family with such a weight is judged
    twice: with the weight fitted, and as ``<name> (measured)`` with the derived weight. `made` has existing fits, by
    family.
    """
    chosen, options = [find_family(name) for name in names or families()], FitOptions(fit_facts=True)
    first, bar = next(iter(made.values()), None), progress or Silent()
    plain, tests, samples = (first.measured, first.tests, first.samples) if first else recorded_folder(folder)

    def fits_of(family: Family, known: Measurements) -> FamilyFits:
        checked, sampled = (rows and rows.with_facts(known.facts) for rows in (tests, samples))
        if tests is not None and not family.choices:
            sampled = None  # no figure uses them
        return FamilyFits(known, family, options, checked, folds_of(tests), samples=sampled)

    fits = [made.get(family.name) or fits_of(family, plain) for family in chosen]
    known: dict[bool, Measurements] = {}
    for family in chosen:
        kind = takes_regression(family)
        own = known[kind] = known.get(kind) or with_measured_facts(plain, family)
        if has_measured_weight(family, plain, own):
            fits.append(fits_of(replace(family, name=f"{family.name} (measured)"), own))
    judged = []
    with reported(bar, f"families on {plain.device}", len(fits)):
        for contender in map(contender_of, fits):
            bar.advance(FailedStep(contender.family, contender.problem) if contender.problem else contender.family)
            judged.append(contender)
    return on_common_cases(sorted(judged, key=lambda contender: contender.family))


def has_measured_weight(family: Family, plain: Measurements, measured: Measurements) -> bool:
    """Return whether a family has a weight whose fact is derived from the measurements."""
    derived = set(measured.facts or ()) - set(plain.facts or ())
    return any(weight.fact in derived for weight in family.weights)


SCHEMA = "perfmodel.comparison/1"
BEST = "*"

_COLUMNS: tuple[tuple[str, str, Callable[[float], str], int], ...] = (
    ("all", "error", percent, 1), ("factor - 1", "factor", percent, 1), ("regret", "regret", "{:.3f}".format, 1),
    ("top-1", "top1", percent, -1), ("tau", "tau", "{:.2f}".format, -1), ("inside", "inside", percent, 0),
    ("width", "width", "{:.3g}".format, 0), ("weights", "weights", "{:.0f}".format, 1),
    ("fit", "fit_s", seconds_text, 1), ("predict", "predict_s", seconds_text, 1),
)  # fmt: skip
"""Heading; attribute of the figures or of the contender; its text; and 1 if small values are good, else -1."""


def families_table(contenders: Sequence[Contender], width: int | None = None) -> str:
    """Return a table with a row for each family and protocol, and one for a random choice. Best values are marked."""
    judged = [contender for contender in contenders if contender.evaluations]
    problems = [f"not fitted: {one.family}: {one.problem}" for one in contenders if one.problem]
    if not judged:
        return "\n".join(problems)
    rows = [(contender, protocol) for contender in judged for protocol in judged[0].protocols]
    names = kernels(judged[0].by("A").rows) if "A" in judged[0].protocols else ()
    columns: list[tuple[str, list[float], Callable[[float], str], int]] = []
    columns += [(name, [one.figures(by, name).error for one, by in rows], percent, 1) for name in names]
    for name, key, text, sign in _COLUMNS:
        if judged[0].evaluations[0].level or name not in ("inside", "width"):
            values = [getattr(one if hasattr(one, key) else one.figures(by), key) for one, by in rows]
            columns.append((name, values, text, sign))
    cells = [[one.family, by] for one, by in rows]
    for _, values, text, sign in columns:
        best = {
            by: min((sign * x for x, (_, its) in zip(values, rows, strict=True) if its == by and math.isfinite(x)),
                    default=math.nan)
            for by in judged[0].protocols
        }  # fmt: skip
        for row, value, (_, by) in zip(cells, values, rows, strict=True):
            mark = BEST if sign and sign * value == best[by] else " "
            row.append(("-" if math.isnan(value) else text(value)) + mark)
    for by in judged[0].protocols:
        figures = judged[0].figures(by)
        random = {"regret": f"{figures.random_regret:.3f}", "top-1": percent(figures.random_top1), "tau": "0.00"}
        random = random if figures.choices else {}
        cells.append(["random choice", by, *(f"{random.get(name, '-')} " for name, *_ in columns)])
    table = columns_text([["family", "by", *(name for name, *_ in columns)], *cells], 2, width)
    return "\n".join([table, *_notes(judged), *problems])


def _notes(judged: Sequence[Contender]) -> list[str]:
    first = judged[0]
    counts = ", ".join(f"{len(evaluation.rows)} by {evaluation.protocol}" for evaluation in first.evaluations)
    withheld = [f"{contender.family} {contender.withheld}" for contender in judged if contender.withheld]
    return [
        f"{first.device}: cases that every family predicts: {counts}; {BEST} best of its column and protocol.",
        "kernels, all: geometric mean of |p - t|/t; factor: of max(p/t, t/p); regret: time of the variant chosen "
        "over the best one's; top-1: how often they are the same; tau: Kendall's; weights: fitted ones; fit, predict: "
        "seconds on this machine, now.",
        *([f"inside: times in their {percent(first.evaluations[0].level)} interval; width: median of upper over lower "
           "bound."] if first.evaluations[0].level else []),
        *([f"withheld by {first.protocols[0]}: {', '.join(withheld)}"] if withheld else []),
        *unranked_note(first.evaluations[0].rows),
    ]
