r"""Two versions of kernels: the formulas that changed, and the ratio of their predicted times.

Both versions of a kernel share most errors of a prediction. The error of the log ratio of their times has Student's
distribution, and its scale grows with the share c of the predicted time that changed:

.. math:: s^2 = (\sigma^2 + \tau^2) \left(\nu + (1 - \nu)(1 - e^{-c / \ell})\right), \quad
    c = \frac{\sum_k |T_k' - T_k|}{\sum_k \max(T_k, T_k')}

:math:`T_k` and :math:`T_k'` are the terms of both predictions, and :math:`\sigma` is the scatter of the model's errors
between variants of one kernel (:mod:`perfmodel.fitting.selection`). Kernels of other projects add :math:`\tau`. If
all formulas are equal, :math:`\nu` is 0 and :math:`\ell` larger, because variants differ in their launches, and
versions with equal formulas do not. The constants are from pairs of measured kernels (docs/diff.md).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from perfmodel.analyses.descriptions import term_label
from perfmodel.documents import one_line
from perfmodel.errors import PerfModelError, PredictionError, SizeError, listed
from perfmodel.fitting.selection import Scatter, difference_quantile, probabilities_of_best
from perfmodel.predicting import FittedModel, Prediction
from perfmodel.predicting.predictions import scatter_of, together
from perfmodel.values import FrozenValue
from perfmodel.versions.formulas import Change, Formulas, paired
from perfmodel.versions.sides import Side, Version

LEVEL = 0.9  # probability of the intervals of ratios
OWN_SHARE = 0.15  # nu: share of the variance that any change has [1]
UNLIKE = 0.2  # tau: more scatter of errors, for kernels that are unlike the measured ones [1]
REACH = 0.1  # l: share of the time that has to change before errors are nearly independent [1]
EQUAL_REACH = 1.0  # l if all formulas are equal, so that only the order of the code differs: an assumption [1]
UNKNOWN = Scatter(deviation=0.3, freedom=8, cells=1)  # of weights that lack the scatter
NOISE = 0.015  # least scale: two measured times of one kernel differ by this much [1]
SLOWER, DOUBTFUL = 0.5, 0.45  # least probabilities to be slower, and to be undecided [1]


@dataclass(frozen=True)
class TimeChange(FrozenValue):
    """The predicted times of both versions of a kernel at one size."""

    sizes: Mapping[str, int]  #: The size parameters of both versions.
    old: Prediction
    new: Prediction
    scale: float  #: The scale s of the error of the log ratio [1].
    freedom: int | None  #: The degrees of freedom of the errors; None if they are normal.
    bounds: tuple[str, str]  #: The largest term of each prediction in words.

    @property
    def ratio(self) -> float:
        """The new time over the old time [1]."""
        return float(self.new.seconds / self.old.seconds)

    @property
    def interval(self) -> tuple[float, float]:
        """Bounds of the ratio [1] with the probability :data:`LEVEL`."""
        factor = math.exp(self.scale * difference_quantile(self.freedom, (1 + LEVEL) / 2))
        return self.ratio / factor, self.ratio * factor

    def slower(self, by: float = 0.0) -> float:
        """Return the probability that the new version takes more than ``1 + by`` times as long as the old one [1]."""
        return float(probabilities_of_best([1 + by, self.ratio], self.scale, self.freedom)[0])


@dataclass(frozen=True)
class KernelDifference(FrozenValue):
    """Two versions of a kernel. `problem` is the reason why no times are predicted, or empty."""

    name: str
    old_name: str
    changes: tuple[Change, ...]
    times: tuple[TimeChange, ...] = ()
    problem: str = ""

    @property
    def title(self) -> str:
        """The name of the kernel, and its old name if it has another."""
        return self.name if self.name == self.old_name else f"{self.name} (was {self.old_name})"

    def worst(self, by: float = 0.0) -> TimeChange | None:
        """Return the times at the size with the largest probability to be slower, or None without times."""
        return max(self.times, key=lambda each: (each.slower(by), each.ratio), default=None)


@dataclass(frozen=True)
class Difference(FrozenValue):
    """All kernels of two sides."""

    old: str  #: The names of both sides.
    new: str
    kernels: tuple[KernelDifference, ...]  #: The kernels that both sides have.
    removed: tuple[str, ...]  #: Names of kernels that only one side has.
    added: tuple[str, ...]
    errors: Mapping[str, str]  #: Kernels that cannot be counted, with the reason.
    model: str = ""  #: Name of the model of the times; empty without times.

    def __repr__(self) -> str:
        changed = sum(bool(each.changes) for each in self.kernels)
        return one_line(f"<Difference {self.old} -> {self.new}: {changed} of {len(self.kernels)} kernels changed>")

    def slower(self, by: float) -> tuple[KernelDifference, ...]:
        """Return the kernels that take more than ``1 + by`` times as long, with a probability of at least one half."""
        return tuple(
            each for each in self.kernels
            if (worst := each.worst(by)) and worst.ratio > 1 + by and worst.slower(by) >= SLOWER
        )  # fmt: skip

    def undecided(self, by: float) -> dict[str, str]:
        """Return the kernels for which it is not known whether they are slower, with the reason."""
        reasons = {each.title: each.problem for each in self.kernels if each.problem and each.changes}
        for each in self.kernels:
            worst = each.worst(by)
            if worst and DOUBTFUL < worst.slower(by) < SLOWER:
                reasons[each.title] = f"it is slower by more than {by:.0%} with a probability of {worst.slower(by):.0%}"
        return reasons | {name: f"it cannot be counted: {reason}" for name, reason in self.errors.items()}


def difference(
    old: Side, new: Side, model: FittedModel | None = None, points: Sequence[Mapping[str, int]] = ()
) -> Difference:
    """Compare two sides.

    Parameters
    ----------
    old, new
        The sides (:func:`perfmodel.versions.sides.read_side`).
    model
        The model of the times. Without it, formulas are compared only.
    points
        Sizes at which times are predicted. By default the sizes of a recorded program; kernels without sizes need none.
        A kernel uses the sizes that it has.

    Raises
    ------
    SizeError
        If no kernel has one of the sizes.
    PerfModelError
        If no kernel of one side has a counterpart in the other.
    """
    before, after = ({name: Formulas.of(each.counts) for name, each in side.kernels.items()} for side in (old, new))
    pairs = paired(before, after)
    if not pairs:
        names = [f"{side.label} ({listed(side.kernels, most=200)})" for side in (new, old)]
        problem = f"no kernel of {' matches one of '.join(names)}"
        raise PerfModelError(problem, "compare two versions of the same kernels, or give one kernel a side (--variant)")
    _check_names(points, [*old.kernels.values(), *new.kernels.values()])
    kernels = []
    for name, old_name in pairs.items():
        found = KernelDifference(name, old_name, before[old_name].changes(after[name]))
        try:
            times = _times(model, old.kernels[old_name], new.kernels[name], points, not found.changes) if model else ()
            kernels.append(replace(found, times=tuple(times)))
        except PerfModelError as error:
            kernels.append(replace(found, problem=str(error)))
    errors = {name: str(error) for side in (old, new) for name, error in side.errors.items()}
    removed = tuple(name for name in old.kernels if name not in pairs.values() and name not in errors)
    added = tuple(name for name in new.kernels if name not in pairs and name not in errors)
    return Difference(old.label, new.label, tuple(kernels), removed, added, errors, model.name if model else "")


def _check_names(points: Sequence[Mapping[str, int]], versions: Sequence[Version]) -> None:
    known = {name for each in versions for name in each.counts.size_arguments}
    for name in points[0] if points else ():
        if name not in known:
            raise SizeError(f"no kernel has a size '{name}'", f"the sizes are {listed(sorted(known))}", name=name)


def _times(
    model: FittedModel, old: Version, new: Version, points: Sequence[Mapping[str, int]], equal: bool
) -> Iterator[TimeChange]:
    names = {*old.counts.size_arguments, *new.counts.size_arguments}
    every = ({name: size for name, size in point.items() if name in names} for point in points)
    given = [*{(*each.items(),): each for each in every}.values()] or new.points or old.points or ({},)
    predictions = [_predictions(model, old, "old", given), _predictions(model, new, "new", given)]
    for sizes, before, after in zip(given, *predictions, strict=True):
        yield time_change(model, sizes, before, after, equal)


def time_change(
    model: FittedModel, sizes: Mapping[str, int], old: Prediction, new: Prediction, equal: bool = False
) -> TimeChange:
    """Return a change of predictions, `equal` if all formulas are. Raise PredictionError if a time is not above 0."""
    if not (old.seconds > 0 and new.seconds > 0):
        raise PredictionError("a predicted time is not above zero", "use another family (--family)")
    scatter = scatter_of(model, [old, new]) or UNKNOWN
    scale = math.hypot(scatter.deviation, UNLIKE) * _growth(old, new, equal)
    return TimeChange(sizes, old, new, max(scale, NOISE), scatter.freedom, (_bound(model, old), _bound(model, new)))


def _predictions(
    model: FittedModel, version: Version, side: str, points: Sequence[Mapping[str, int]]
) -> list[Prediction]:
    if missing := [name for name in version.counts.parameters if name not in points[0]]:
        problem = f"the {side} version needs the size{'s' * (len(missing) > 1)} {listed(missing)}"
        raise SizeError(problem, f"give it: -p {missing[0]}=1024", name=missing[0])
    at = {name: sizes for name, sizes in together(points).items() if name in version.counts.size_arguments}
    every = [*model.predict(version.counts, at).at_each_size()]
    return every if len(every) == len(points) else every * len(points)


def _growth(old: Prediction, new: Prediction, equal: bool) -> float:
    own, reach = (0.0, EQUAL_REACH) if equal else (OWN_SHARE, REACH)
    return math.sqrt(own + (1 - own) * (1 - math.exp(-changed_share(old, new) / reach)))


def changed_share(old: Prediction, new: Prediction) -> float:
    """Return the share c of the predicted time that differs between two predictions [1], from 0 to 1."""
    names = {**old.terms, **new.terms}
    before, after = (np.array([abs(each.terms.get(name, 0.0)) for name in names]) for each in (old, new))
    most = np.maximum(before, after).sum()
    return float(np.abs(before - after).sum() / most) if most > 0 else 0.0


def _bound(model: FittedModel, prediction: Prediction) -> str:
    largest = max(prediction.terms, key=lambda name: abs(prediction.terms[name]), default="")
    return term_label(model.family, largest) if largest else ""
