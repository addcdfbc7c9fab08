r"""What a tuner believes of variants that it has not run, which it runs next, and when it knows the best.

The belief comes from the predictions of all variants, and from those that have run. Variant :math:`i` is predicted to
take :math:`p_i` and takes :math:`t_i`:

.. math:: \log t_i = \log p_0 + \beta \log (p_i / p_0) + c + \sigma\,(\sqrt{1 - \nu}\, f_i + \sqrt{\nu}\, e_i) ,

with :math:`p_0` the shortest prediction. The offset :math:`c` is common to all variants of the kernel: it is what the
model gets wrong about the kernel itself. The slope :math:`\beta` is how far the model is right about what sets its
variants apart: 1 where predictions hold, 1/2 where they exaggerate, 0 where they say nothing, and the search goes by
the runs alone. The :math:`e_i` are independent and standard normal. The :math:`f_i` have the covariance
:math:`\exp(-d_{ij}^2 / 2\ell^2)`: variants that are alike have like errors. Two variants are alike where the same terms
make up the same shares of their predictions, or where they differ little in the parameters of their space.

The scale :math:`\sigma^2` has an inverse gamma prior, so that errors have the Student's distribution that the fit found
between variants of other kernels, with :math:`n` degrees of freedom; a few kernels are much worse than most. The
offset has a normal prior. After :math:`m` runs the belief in each :math:`\log t_i` is Student's distribution with
:math:`n + m` degrees of freedom, in closed form. The slope, what is alike, how far likeness reaches (:math:`\ell`) and
how much of the error it explains (:math:`\nu`) are not chosen but averaged over a grid, each point weighted by the
probability that it gives to the runs. Before any run all points are equally probable.

The variant predicted fastest runs first, then each time the one with the largest expected improvement on the best so
far, by the belief that all runs so far give. Variants leave the race as it becomes improbable that they win: the search
ends once

.. math:: \prod_i P(t_i > (1 - w)\, t_{best}) \ge P^*

over all variants that have not run. With the probability :math:`P^*` none of them is faster than the best by more than
the share :math:`w`. The product takes their errors as independent. Where errors are alike, as they are between like
variants, the probability is larger than that (D. Slepian, Bell System Technical Journal 41 (1962)), so the search
rather runs one variant more.

Source: C. E. Rasmussen, C. K. I. Williams, *Gaussian Processes for Machine Learning* (2006), sections 2.7 (a mean
function with weights of its own) and 5.4 (averages over hyperparameters); A. O'Hagan, *Curve Fitting and Optimal Design
for Prediction*, J. Royal Statistical Society B 40 (1978), for the scale's prior. Expected improvement: D. R. Jones,
M. Schonlau, W. J. Welch, *Efficient Global Optimization of Expensive Black-Box Functions*, J. Global Optimization 13
(1998), here for Student's distribution.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import gammaln, stdtr

from perfmodel.fitting.local_scale import Floats
from perfmodel.fitting.selection import Scatter
from perfmodel.predicting.model import Prediction

OFFSET = 4.0
"""Variance of the kernel's offset, in units of the variance between variants.

Of measurement kernels, each predicted without its group, it is 3.1, 0.9, 29.8 and 4.1 on the four devices whose
weights are committed (medians of absolute offsets, for normal ones). If it were much larger, the first runs of like
variants would be put down to the whole kernel, and others would not be tried.
"""
SLOPES = (0.0, 0.5, 1.0)
r"""Values of :math:`\beta`.

Of ten spaces that weights of the same device predicted, the regression of :math:`\log t` on :math:`\log p` has a slope
of 0.5 to 1.2; of nine that weights of another device predicted by facts, five have one below 0.1.
"""
LEAST_DEVIATION = 0.02
"""Least scale of errors: times repeat no better [1]."""
OWN_SHARES = (0.05, 0.2, 0.5)
r"""Values of :math:`\nu`, the share of the variance that a variant has for itself, beside 1."""
REACHES = (0.1, 0.3, 1.0)
r"""Values of :math:`\ell`."""
ROUNDING = 1e-6
"""Least variance that is told from zero [1]."""
NEGLIGIBLE = 0.01
"""Points of the grid that are less probable than this, beside the most probable one, are left out [1]."""


@dataclass(frozen=True, eq=False)
class Outlook:
    """The belief in the times of all variants: a mixture of Student's distributions of the log time.

    Parameters
    ----------
    weights
        Probability of each component, shape (n_components,).
    places, scales
        Location [log s] and scale [1] of each variant by each component, shape (n_components, n_variants).
    freedom
        Their degrees of freedom.
    """

    weights: Floats
    places: Floats
    scales: Floats
    freedom: int

    @property
    def seconds(self) -> Floats:
        """The time expected of each variant, the geometric mean [s]."""
        expected: Floats = np.exp(self.weights @ self.places)
        return expected

    def below(self, seconds: float) -> Floats:
        """Return for each variant the probability that it takes less than so many seconds."""
        chances: Floats = self.weights @ stdtr(self.freedom, self._distance(seconds))
        return chances

    def improvement(self, seconds: float) -> Floats:
        r"""Return the expected :math:`\max(\log s - \log t, 0)` of each variant, with s the `seconds`."""
        distance, freedom = self._distance(seconds), self.freedom
        at_zero = math.exp(gammaln((freedom + 1) / 2) - gammaln(freedom / 2)) / math.sqrt(math.pi * freedom)
        density = at_zero * (1 + distance**2 / freedom) ** (-(freedom + 1) / 2)
        gain = distance * stdtr(freedom, distance) + (freedom + distance**2) / (freedom - 1) * density
        expected: Floats = self.weights @ (self.scales * gain)
        return expected

    def _distance(self, seconds: float) -> Floats:
        distance: Floats = (np.log(seconds) - self.places) / self.scales
        return distance


@dataclass(frozen=True, eq=False)
class _Likeness:
    """How alike errors are: the own share, and how far likeness reaches between coordinates."""

    own: float
    coordinates: Floats
    reach: float

    def shared(self, some: Sequence[int], others: Sequence[int] | slice) -> Floats:
        """Return the covariance of what variants share, in units of the scale squared."""
        apart = cdist(self.coordinates[some], self.coordinates[others], "sqeuclidean")
        covariance: Floats = OFFSET + (1 - self.own) * np.exp(-apart / (2 * self.reach**2))
        return covariance


@dataclass(frozen=True, eq=False)
class _Fit:
    """What some runs say of a likeness with each slope: errors made independent, the scale, and the log likelihood."""

    likeness: _Likeness
    whitening: Floats
    white: Floats
    scales: Floats
    likelihoods: Floats

    def seen_from(self, ran: Sequence[int]) -> tuple[Floats, Floats]:
        """Return the errors expected of all variants with each slope, and what is left of the scale of each [1]."""
        across = self.whitening @ self.likeness.shared(ran, slice(None))
        left = 1 + OFFSET - np.einsum("ij,ij->j", across, across)
        return self.white @ across, np.sqrt(np.maximum(left, ROUNDING))


@dataclass(frozen=True, eq=False)
class Belief:
    """What is believed of a kernel's variants before any of them has run.

    Parameters
    ----------
    predicted
        Predicted times [s], above zero, shape (n_variants,).
    likenesses
        Where variants stand, so that like ones are near each other: arrays of shape (n_variants, n_coordinates).
        Each is tried. Without any, errors are independent.
    deviation, freedom
        Scale of the errors between variants of other kernels [1], and the degrees of freedom of their distribution.

    Examples
    --------
    The first two variants of a kernel take three times what was predicted. The third is then expected to take nearly
    three times its prediction, too:

    >>> belief = Belief(np.array([1.0, 2.0, 4.0]), (), 0.1)
    >>> belief.after([0, 1], [3.0, 6.0]).seconds.round(1).tolist()
    [2.9, 4.9, 8.2]

    Where the second takes no longer than the first, predictions seem to say nothing, and the third is expected to take
    little more:

    >>> belief.after([0, 1], [3.0, 3.0]).seconds.round(1).tolist()
    [2.3, 3.1, 4.2]
    """

    predicted: Floats
    likenesses: Sequence[Floats]
    deviation: float
    freedom: int = 2

    def after(self, ran: Sequence[int], seconds: Sequence[float]) -> Outlook:
        """Return the belief after some variants have run: their places in `predicted`, and their times [s].

        The belief in those that ran themselves is what a second run of them would take.
        """
        places, logs = list(ran), np.log(self.predicted)
        middles = logs.min() + np.outer(SLOPES, logs - logs.min())
        errors = np.log(np.array(seconds, dtype=np.float64)) - middles[:, places]
        fits = [self._fit(likeness, places, errors) for likeness in self._grid]
        likelihoods = np.array([fit.likelihoods for fit in fits])
        probable = np.exp(likelihoods - likelihoods.max())
        components = []
        for fit, weights in zip(fits, probable, strict=True):
            if (kept := weights > NEGLIGIBLE).any():
                moved, left = fit.seen_from(places)
                components.append((weights[kept], (middles + moved)[kept], np.outer(fit.scales[kept], left)))
        weights, middles, scales = (np.concatenate(parts) for parts in zip(*components, strict=True))
        return Outlook(weights / weights.sum(), middles, scales, self.freedom + len(places))

    @property
    def _grid(self) -> Iterator[_Likeness]:
        yield _Likeness(1.0, np.zeros((len(self.predicted), 1)), 1.0)  # errors are independent
        for coordinates, reach, own in product(self.likenesses, REACHES, OWN_SHARES):
            yield _Likeness(own, coordinates, reach)

    def _fit(self, likeness: _Likeness, ran: Sequence[int], errors: Floats) -> _Fit:
        """Return what the errors of those that ran, shape (n_slopes, n_ran), say of one point of the grid."""
        covariance = likeness.shared(ran, ran) + likeness.own * np.eye(len(ran))
        whitening = np.linalg.inv(np.linalg.cholesky(covariance))
        white = errors @ whitening.T
        freedom = self.freedom + len(ran)
        squares = self.freedom * max(self.deviation, LEAST_DEVIATION) ** 2 + (white**2).sum(axis=1)
        likelihoods = np.log(np.diag(whitening)).sum() - freedom / 2 * np.log(squares)
        return _Fit(likeness, whitening, white, np.sqrt(squares / freedom), likelihoods)


UNKNOWN_DEVIATION = 0.3
"""Scale of errors between variants where the weights do not tell it [1]."""
NORMAL = 8
"""Degrees of freedom where errors are normal: kernels scatter equally, but the scale is not known exactly."""


def belief_of(predictions: Sequence[Prediction], scatter: Scatter | None, coordinates: Floats | None = None) -> Belief:
    """Return the belief in variants of one kernel, by their predictions at the same sizes.

    A time that is not above zero says nothing: it counts as the median. `scatter` is how the model errs between
    variants of other kernels, None where its weights do not tell; `coordinates` are where the variants stand in their
    space, shape (n_variants, n_coordinates).
    """
    seconds = np.array([prediction.seconds for prediction in predictions], dtype=np.float64)
    good = np.isfinite(seconds) & (seconds > 0)
    known = np.where(good, seconds, np.median(seconds[good]) if good.any() else 1.0)
    shares = _shares(predictions)
    likenesses = (shares,) if coordinates is None else (shares, coordinates, np.hstack([shares, coordinates]))
    if scatter is None:
        return Belief(known, likenesses, UNKNOWN_DEVIATION)
    return Belief(known, likenesses, scatter.deviation, scatter.freedom or NORMAL)


def _shares(predictions: Sequence[Prediction]) -> Floats:
    """Return the square roots of the terms' shares, shape (n_variants, n_terms).

    Their distance is Hellinger's, in which one large term does not hide the others.
    """
    names = sorted({name for prediction in predictions for name in prediction.terms})
    terms = np.array([[max(prediction.terms.get(name, 0.0), 0.0) for name in names] for prediction in predictions])
    roots: Floats = np.sqrt(terms / np.maximum(terms.sum(axis=1, keepdims=True), np.finfo(float).tiny))
    return roots


class Race:
    """Variants of one kernel, of which some have run.

    `belief` is what is believed of them before any run, and `within` the share by which a variant has to be faster than
    another to matter [1].

    Examples
    --------
    >>> race = Race(Belief(np.array([2.0, 1.0, 9.0]), (), 0.05))
    >>> race.following
    1
    >>> race.note(1, 1.5), race.best, race.settled > 0.9
    (None, 1, False)
    >>> race.note(0, 3.0), race.best, race.settled > 0.9
    (None, 1, True)
    """

    def __init__(self, belief: Belief, within: float = 0.02) -> None:
        self.belief, self.within = belief, within
        self.times: dict[int, float | None] = {}

    def note(self, place: int, seconds: float | None) -> None:
        """Keep the time of the variant at a place [s]; None where it cannot run."""
        self.times[place] = seconds
        self.__dict__.pop("outlook", None)

    def forget(self, place: int) -> None:
        """Take back what was noted of the variant at a place, so that it may run."""
        self.times.pop(place, None)
        self.__dict__.pop("outlook", None)

    @property
    def _known(self) -> dict[int, float]:
        """The times of those that have run well, by their places."""
        return {place: seconds for place, seconds in self.times.items() if seconds is not None}

    @cached_property
    def outlook(self) -> Outlook:
        """What is believed now."""
        return self.belief.after(tuple(self._known), tuple(self._known.values()))

    @property
    def best(self) -> int | None:
        """Place of the fastest that has run; None where none has run well."""
        return min(self._known, key=self._known.__getitem__, default=None)

    @property
    def surprising(self) -> tuple[int, ...]:
        """Places of those slower than the best, of which the other runs alone let expect that they are faster."""
        least, known = self.least or 0.0, self._known
        others = {place: {k: s for k, s in known.items() if k != place} for place in known if known[place] > least}
        return tuple(
            place for place, rest in others.items()
            if self.belief.after(tuple(rest), tuple(rest.values())).seconds[place] < least
        )  # fmt: skip

    @property
    def waiting(self) -> Floats:
        """Places of the variants that have not run."""
        return np.array([place for place in range(len(self.belief.predicted)) if place not in self.times], dtype=int)

    @property
    def following(self) -> int | None:
        """Place of the variant to run next; None where all have run."""
        waiting = self.waiting
        if not len(waiting):
            return None
        if (best := self.least) is None:
            return int(waiting[np.argmin(self.outlook.seconds[waiting])])
        return int(waiting[np.argmax(self.outlook.improvement(best)[waiting])])

    @property
    def settled(self) -> float:
        """Probability that no variant that has not run is faster than the best by more than the share that matters."""
        if (best := self.least) is None:
            return 0.0
        chances = self.outlook.below((1 - self.within) * best)[self.waiting]
        return float(np.exp(np.log1p(-chances).sum()))

    @property
    def least(self) -> float | None:
        """The time of the fastest that has run [s]; None likewise."""
        return None if self.best is None else self.times[self.best]
