"""The value that a model family is: which features it takes and how they become seconds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from perfmodel.features import matches, unit


@dataclass(frozen=True)
class Family:
    r"""A model of run time whose weights are to be fitted.

    The run time is the linear form

    .. math:: T = \sum_i w_i f_i

    over the features :math:`f_i` that the family takes, with a weight :math:`w_i` named after its
    feature, in seconds per unit of it.

    Parameters
    ----------
    name
        Identifier, the name of the family's file.
    citation
        Paper and section that define it.
    features
        Patterns (as for file names) of the features that it takes. All others are no part of the
        model.
    additive
        Whether a prediction is the sum of its terms.
    """

    name: str
    citation: str
    features: tuple[str, ...]
    additive: bool = True

    def takes(self, feature: str) -> bool:
        """Return whether the family charges for a feature.

        Examples
        --------
        >>> family = Family("toy", "nowhere", ("op_float*_add", "launches"))
        >>> family.takes("op_float64_add"), family.takes("op_int32_add")
        (True, False)
        """
        return matches(self.features, feature)

    def select(self, features: Iterable[str]) -> tuple[str, ...]:
        """Return those of the features that the family charges for, sorted."""
        return tuple(sorted(name for name in set(features) if self.takes(name)))

    def weight_unit(self, weight: str) -> str:
        """Return the unit of a weight.

        Examples
        --------
        >>> Family("toy", "nowhere", ("launches",)).weight_unit("launches")
        's/launch'
        """
        return f"s/{unit(weight)}"

    def terms(self, weights: Mapping[str, float], values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the seconds that each feature contributes.

        Parameters
        ----------
        weights
            Seconds per unit, by feature.
        values
            Feature values (numbers, or arrays of one shape), by feature.

        Returns
        -------
        dict
            Seconds by feature, for the features that have both a weight and a value.
        """
        return {
            name: weights[name] * value for name, value in values.items() if name in weights
        }
