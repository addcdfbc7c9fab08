r"""What a tuner believes of variants that it has not run, from their predictions and from those that it has run.

Variant :math:`i` is predicted to take :math:`p_i` and takes :math:`t_i`, with

.. math:: \log t_i = \log p_i + c + \sigma\,(\sqrt{1 - \nu}\, f_i + \sqrt{\nu}\, e_i) .

The offset :math:`c` is common to all variants of the kernel: it is what the model gets wrong about the kernel itself.
The :math:`e_i` are independent and standard normal. The :math:`f_i` have the covariance
:math:`\exp(-d_{ij}^2 / 2\ell^2)`: variants that are alike have like errors. Two variants are alike where the same terms
make up the same shares of their predictions, or where they differ little in the parameters of their space.

The scale :math:`\sigma^2` has an inverse gamma prior, so that errors have the Student's distribution that the fit found
between variants of other kernels, with :math:`n` degrees of freedom; a few kernels are much worse than most. The
offset has a normal prior. After :math:`m` runs the belief in each :math:`\log t_i` is Student's distribution with
:math:`n + m` degrees of freedom, in closed form. What is alike, how far likeness reaches (:math:`\ell`) and how much
of the error it explains (:math:`\nu`) is not chosen but averaged over a grid, each point weighted by the probability
that it gives to the runs.

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

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import gammaln, stdtr

from perfmodel.fitting.conformal import Floats

OFFSET = 4.0
"""Variance of the kernel's offset, in units of the variance between variants.

Of measurement kernels, each predicted without its group, it is 3.1, 0.9, 29.8 and 4.1 on the four devices whose
weights are committed (medians of absolute offsets, for normal ones). If it were much larger, the first runs of like
variants would be put down to the whole kernel, and others would not be tried.
"""
LEAST_DEVIATION = 0.02
"""Least scale of errors: times repeat no better [1]."""
OWN_SHARES = (0.05, 0.2, 0.5)
r"""Values of :math:`\nu`, the share of the variance that a variant has for itself, beside 1."""
REACHES = (0.1, 0.3, 1.0)
r"""Values of :math:`\ell`."""
ROUNDING = 1e-6
"""Least variance that is told from zero [1]."""


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
        found: Floats = np.exp(self.weights @ self.places)
        return found

    def below(self, seconds: float) -> Floats:
        """Return for each variant the probability that it takes less than so many seconds."""
        found: Floats = self.weights @ stdtr(self.freedom, self._distance(seconds))
        return found

    def improvement(self, seconds: float) -> Floats:
        r"""Return the expected :math:`\max(\log s - \log t, 0)` of each variant, with s the `seconds`."""
        distance, freedom = self._distance(seconds), self.freedom
        at_zero = math.exp(gammaln((freedom + 1) / 2) - gammaln(freedom / 2)) / math.sqrt(math.pi * freedom)
        density = at_zero * (1 + distance**2 / freedom) ** (-(freedom + 1) / 2)
        gain = distance * stdtr(freedom, distance) + (freedom + distance**2) / (freedom - 1) * density
        found: Floats = self.weights @ (self.scales * gain)
        return found

    def _distance(self, seconds: float) -> Floats:
        found: Floats = (np.log(seconds) - self.places) / self.scales
        return found


@dataclass(frozen=True, eq=False)
class Belief:
    """What is believed of a kernel's variants before any of them has run.

    Parameters
    ----------
    predicted
        Predicted times [s], above zero, shape (n_variants,).
    likenesses
        Where variants stand, so that like ones are near each other: arrays of shape (n_variants, n_coordinates).
        Each is tried; none, and errors are independent.
    deviation, freedom
        Scale of the errors between variants of other kernels [1], and the degrees of freedom of their distribution.

    Examples
    --------
    A kernel whose two first variants take three times what was predicted; nearly so will the third, then:

    >>> belief = Belief(np.array([1.0, 1.1, 2.0]), (), 0.1)
    >>> belief.after([0, 1], [3.0, 3.3]).seconds.round(1).tolist()
    [2.7, 2.9, 5.3]
    """

    predicted: Floats
    likenesses: Sequence[Floats]
    deviation: float
    freedom: int = 2

    def after(self, ran: Sequence[int], seconds: Sequence[float]) -> Outlook:
        """Return the belief after some variants have run: their places in `predicted`, and their times [s].

        The belief in those that ran themselves is what a second run of them would take.
        """
        deviation, places = max(self.deviation, LEAST_DEVIATION), list(ran)
        logs = np.log(self.predicted)
        errors = np.log(np.asarray(seconds, dtype=np.float64)) - logs[places]
        prior = self.freedom / 2
        shape = prior + len(errors) / 2
        found = []
        for own, alike in self._grid(places):
            shared = (1 - own) * alike + OFFSET
            factor = cho_factor(shared[:, places] + own * np.eye(len(places)), lower=True) if places else None
            pull = cho_solve(factor, errors) if factor else errors
            scale = prior * deviation**2 + 0.5 * errors @ pull
            left = 1 + OFFSET - (np.einsum("ij,ij->j", shared, cho_solve(factor, shared)) if factor else 0.0)
            likelihood = -shape * math.log(scale) - (np.log(np.diag(factor[0])).sum() if factor else 0.0)
            spread = np.sqrt(scale / shape * np.maximum(left, ROUNDING) * np.ones(len(logs)))
            found.append((likelihood, logs + shared.T @ pull, spread))
        likelihoods, middles, scales = (np.array(one) for one in zip(*found, strict=True))
        weights = np.exp(likelihoods - likelihoods.max())
        return Outlook(weights / weights.sum(), middles, scales, self.freedom + len(errors))

    def _grid(self, ran: list[int]) -> Iterator[tuple[float, Floats]]:
        """Yield each value of the own share with the likeness of those that ran to all, shape (n_ran, n_variants)."""
        yield 1.0, np.zeros((len(ran), len(self.predicted)))
        for coordinates in self.likenesses:
            apart = ((coordinates[ran, None, :] - coordinates[None, :, :]) ** 2).sum(axis=2)
            for reach in REACHES:
                alike = np.exp(-apart / (2 * reach**2))
                yield from ((own, alike) for own in OWN_SHARES)
