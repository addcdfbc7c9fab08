r"""Expects the times of variants that have not run, selects the next one to run, and decides when the fastest is known.

Variant :math:`i` is predicted to take :math:`p_i` and takes :math:`t_i`:

.. math:: \log t_i = \log p_0 + \beta \log (p_i / p_0) + c + \sigma\,(\sqrt{1 - \nu}\, f_i + \sqrt{\nu}\, e_i) ,

with :math:`p_0` the shortest prediction. The offset :math:`c`, common to all variants of the kernel, has a normal
prior. The slope :math:`\beta` is 1 if predictions hold, and 0 if they mean nothing. The :math:`e_i` are independent and
standard normal. The :math:`f_i` have the covariance :math:`\exp(-d_{ij}^2 / 2\ell^2)`. The distance :math:`d` is small
if the same terms have the same shares of both predictions, or if the parameters in the space differ little.

:math:`\sigma^2` has an inverse gamma prior. Errors therefore have Student's distribution. The scale and the :math:`n`
degrees of freedom are those that the fit found between variants of other kernels. After :math:`m` runs each :math:`\log
t_i` has Student's distribution with :math:`n + m` degrees of freedom, in closed form. A grid of :math:`\beta`,
:math:`\ell`, :math:`\nu` and kinds of distance is averaged, with each point weighted by its likelihood.

The variant predicted fastest runs first. Each next variant is the variant with the largest expected improvement. The
search ends if

.. math:: \prod_i P(t_i > (1 - w)\, t_{best}) \ge P^*

over all variants that have not run. The product treats the errors as independent, and is a lower bound of the true
probability (D. Slepian, Bell System Technical Journal 41 (1962)).

Sources: C. E. Rasmussen, C. K. I. Williams, *Gaussian Processes for Machine Learning* (2006), sections 2.7 and 5.4; A.
O'Hagan, *Curve Fitting and Optimal Design for Prediction*, J. Royal Statistical Society B 40 (1978); D. R. Jones, M.
Schonlau, W. J. Welch, *Efficient Global Optimization of Expensive Black-Box Functions*, J. Global Optimization 13
(1998).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import gammaln, stdtr

from perfmodel.fitting.selection import Scatter
from perfmodel.fitting.types import Floats
from perfmodel.predicting.prediction import Prediction

# The variance of the offset was 0.9 to 29.8 times the variance between variants on four devices (median 3.6). A much
# larger value would explain the first runs of similar variants by the offset, and other variants would not be tried.
OFFSET = 4.0  # variance of the kernel's offset, in units of the variance between variants
# On ten spaces with weights of the same device the regression of log t on log p had slopes of 0.5 to 1.2; on five of
# nine spaces with weights of another device, slopes below 0.1.
SLOPES = (0.0, 0.5, 1.0)  # values of beta
OWN_SHARES = (0.05, 0.2, 0.5)  # values of nu, besides 1
REACHES = (0.1, 0.3, 1.0)  # values of l
LEAST_DEVIATION = 0.02  # smallest scale of errors [1]: repeated times differ by this much
UNKNOWN_DEVIATION = 0.3  # scale of errors between variants if the weights do not give it [1]
NORMAL = 8  # degrees of freedom if errors are normal: the scale is not known exactly
ROUNDING = 1e-6  # smallest variance [1]
NEGLIGIBLE = 0.01  # points of the grid with a smaller likelihood, relative to the largest one, are left out [1]


@dataclass(frozen=True, eq=False)
class Posterior:
    """The times of all variants: a mixture of Student's distributions of the log time."""

    weights: Floats  # probability of each component, shape (n_components,)
    locations: Floats  # of each variant by each component [log s], shape (n_components, n_variants)
    scales: Floats  # likewise [1]
    freedom: int

    @property
    def seconds(self) -> Floats:
        """The expected time of each variant, the geometric mean [s]."""
        return np.asarray(np.exp(self.weights @ self.locations))

    def below(self, seconds: float) -> Floats:
        """Return for each variant the probability that it takes less time than `seconds`."""
        return np.asarray(self.weights @ stdtr(self.freedom, self._standardised(seconds)))

    def improvement(self, seconds: float) -> Floats:
        r"""Return each variant's expected improvement :math:`\max(\log s - \log t, 0)` on a time s (`seconds`)."""
        x, freedom = self._standardised(seconds), self.freedom
        at_zero = math.exp(gammaln((freedom + 1) / 2) - gammaln(freedom / 2)) / math.sqrt(math.pi * freedom)
        density = at_zero * (1 + x**2 / freedom) ** (-(freedom + 1) / 2)
        gain = x * stdtr(freedom, x) + (freedom + x**2) / (freedom - 1) * density
        return np.asarray(self.weights @ (self.scales * gain))

    def _standardised(self, seconds: float) -> Floats:
        return np.asarray((np.log(seconds) - self.locations) / self.scales)


@dataclass(frozen=True, eq=False)
class Prior:
    """The times of a kernel's variants before any of them has run.

    Variants with near coordinates have similar errors. Each array of coordinates gets a weight by its likelihood.
    Without coordinates, errors are independent. In the example the first two variants take three times their
    predictions. The third is then expected to take nearly three times its prediction too. If the second takes as long
    as the first, predictions count less:

    >>> prior = Prior(np.array([1.0, 2.0, 4.0]), (), 0.1)
    >>> prior.posterior([0, 1], [3.0, 6.0]).seconds.round(1).tolist()
    [2.9, 4.9, 8.2]
    >>> prior.posterior([0, 1], [3.0, 3.0]).seconds.round(1).tolist()
    [2.3, 3.1, 4.2]
    """

    predicted: Floats  # [s], above zero, shape (n_variants,)
    coordinates: Sequence[Floats]  # each of shape (n_variants, n_coordinates)
    deviation: float  # scale of the errors between variants of other kernels [1]
    freedom: int = 2  # degrees of freedom of these errors

    def posterior(self, ran: Sequence[int], seconds: Sequence[float]) -> Posterior:
        """Return the distribution of times after the variants at some positions took some times [s]."""
        rows, logs = list(ran), np.log(self.predicted)
        means = logs.min() + np.outer(SLOPES, logs - logs.min())
        errors = np.log(np.array(seconds, dtype=np.float64)) - means[:, rows]
        freedom = self.freedom + len(rows)
        components = []
        for coordinates, reach, own in self._grid:
            distances = cdist(coordinates[rows], coordinates, "sqeuclidean")
            covariance = OFFSET + (1 - own) * np.exp(-distances / (2 * reach**2))  # in units of the scale squared
            whitening = np.linalg.inv(np.linalg.cholesky(covariance[:, rows] + own * np.eye(len(rows))))
            white, across = errors @ whitening.T, whitening @ covariance
            squares = self.freedom * max(self.deviation, LEAST_DEVIATION) ** 2 + (white**2).sum(axis=1)
            likelihoods = np.log(np.diag(whitening)).sum() - freedom / 2 * np.log(squares)
            left = np.sqrt(np.maximum(1 + OFFSET - np.einsum("ij,ij->j", across, across), ROUNDING))
            components.append((likelihoods, means + white @ across, np.outer(np.sqrt(squares / freedom), left)))
        likelihoods, locations, scales = (np.concatenate(parts) for parts in zip(*components, strict=True))
        weights = np.exp(likelihoods - likelihoods.max())
        kept = weights > NEGLIGIBLE
        return Posterior(weights[kept] / weights[kept].sum(), locations[kept], scales[kept], freedom)

    @property
    def _grid(self) -> Iterator[tuple[Floats, float, float]]:
        yield np.zeros((len(self.predicted), 1)), 1.0, 1.0  # errors are independent
        yield from product(self.coordinates, REACHES, OWN_SHARES)


def prior_of(predictions: Sequence[Prediction], scatter: Scatter | None, space: Floats | None = None) -> Prior:
    """Return the prior of one kernel's variants, by their predictions at the same sizes.

    A predicted time that is not positive is replaced by the median. `scatter` is the error of the model between
    variants of other kernels, or None if the weights do not give it. `space` holds the coordinates of the variants in
    their space, shape (n_variants, n_coordinates).
    """
    seconds = np.array([prediction.seconds for prediction in predictions], dtype=np.float64)
    good = np.isfinite(seconds) & (seconds > 0)
    known = np.where(good, seconds, np.median(seconds[good]) if good.any() else 1.0)
    shares = _shares(predictions)
    coordinates = (shares,) if space is None else (shares, space, np.hstack([shares, space]))
    if scatter is None:
        return Prior(known, coordinates, UNKNOWN_DEVIATION)
    return Prior(known, coordinates, scatter.deviation, scatter.freedom or NORMAL)


def _shares(predictions: Sequence[Prediction]) -> Floats:
    """Return square roots of the shares of terms, shape (n_variants, n_terms). Their distance is Hellinger's."""
    names = sorted({name for prediction in predictions for name in prediction.terms})
    terms = np.array([[max(prediction.terms.get(name, 0.0), 0.0) for name in names] for prediction in predictions])
    return np.asarray(np.sqrt(terms / np.maximum(terms.sum(axis=1, keepdims=True), np.finfo(float).tiny)))


class Search:
    """Variants of one kernel, of which some have run.

    `within` is the share by which a variant has to be faster than another to matter [1].

    >>> search = Search(Prior(np.array([2.0, 1.0, 9.0]), (), 0.05))
    >>> search.following
    1
    >>> search.note(1, 1.5), search.best, search.settled > 0.9
    (None, 1, False)
    >>> search.note(0, 3.0), search.best, search.settled > 0.9
    (None, 1, True)
    """

    def __init__(self, prior: Prior, within: float = 0.02) -> None:
        self.prior, self.within = prior, within
        self.times: dict[int, float | None] = {}

    def note(self, variant: int, seconds: float | None) -> None:
        """Note the time [s] of the variant at a position. `seconds` is None if the variant cannot run."""
        self.times[variant] = seconds
        vars(self).pop("posterior", None)

    def forget(self, variant: int) -> None:
        """Remove the note on a variant, so that it may run."""
        self.times.pop(variant, None)
        vars(self).pop("posterior", None)

    @property
    def _known(self) -> dict[int, float]:
        return {variant: seconds for variant, seconds in self.times.items() if seconds is not None}

    @cached_property
    def posterior(self) -> Posterior:
        """The distribution of times after the runs so far."""
        return self.prior.posterior(tuple(self._known), tuple(self._known.values()))

    @property
    def best(self) -> int | None:
        """Position of the fastest variant that has run, or None if no run succeeded."""
        return min(self._known, key=self._known.__getitem__, default=None)

    @property
    def least(self) -> float | None:
        """The time of the fastest variant that has run [s]."""
        return None if self.best is None else self.times[self.best]

    @property
    def surprising(self) -> tuple[int, ...]:
        """Positions of variants slower than the best, although the other runs alone predict them to be faster."""
        least, known = self.least or 0.0, self._known
        others = {k: {i: s for i, s in known.items() if i != k} for k in known if known[k] > least}
        return tuple(
            k for k, rest in others.items()
            if self.prior.posterior(tuple(rest), tuple(rest.values())).seconds[k] < least
        )  # fmt: skip

    @property
    def waiting(self) -> Floats:
        """Positions of the variants that have not run."""
        return np.array([k for k in range(len(self.prior.predicted)) if k not in self.times], dtype=int)

    @property
    def following(self) -> int | None:
        """Position of the variant to run next, or None if all have run."""
        waiting = self.waiting
        if not len(waiting):
            return None
        if (best := self.least) is None:
            return int(waiting[np.argmin(self.posterior.seconds[waiting])])
        return int(waiting[np.argmax(self.posterior.improvement(best)[waiting])])

    @property
    def settled(self) -> float:
        """Probability that no remaining variant is faster than the best by more than the share `within`."""
        if (best := self.least) is None:
            return 0.0
        probabilities = self.posterior.below((1 - self.within) * best)[self.waiting]
        return float(np.exp(np.log1p(-probabilities).sum()))
