"""The file of fitted weights, ``perfmodel.weights/2``: its values, its reading, and checks against the family."""

from __future__ import annotations

import math
import os
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field

from perfmodel import errors
from perfmodel.documents import MOST_LANES, Schema, json_text, one_line, read_file, reading, require, value_of
from perfmodel.errors import WeightsFileError
from perfmodel.facts import DeviceFacts
from perfmodel.fitting.anchored import Anchored
from perfmodel.fitting.cautions import Measured
from perfmodel.fitting.conformal import Conformal
from perfmodel.fitting.selection import Scatter
from perfmodel.io import is_standard_output, write_whole
from perfmodel.models import named_family
from perfmodel.models.model import EXPRESSION, Family, Weight
from perfmodel.store.measurement import Clock

SCHEMA = "perfmodel.weights/2"

Finite = Annotated[float, Field(allow_inf_nan=False)]
STRICT = ConfigDict(frozen=True, extra="forbid")


class FitOptions(BaseModel):
    """How a fit is made; see :class:`~perfmodel.fitting.RelativeLeastSquares`.

    Parameters
    ----------
    nonnegative
        Whether weights below zero are ruled out. In a family with an expression they always are, and its own weights
        keep their own bounds.
    ridge
        How strongly weights are drawn to zero (linear families).
    loss
        ``linear``, ``huber``, ``soft_l1`` or ``cauchy``.
    merge
        Whether features that the rows cannot tell apart share one cost, with a note, instead of being refused (linear
        families).
    weighting
        ``equal`` for every row whose visits agree (:func:`~perfmodel.fitting.design.agreement_weights`), or by
        measured ``noise`` (:func:`~perfmodel.fitting.noise_weights`).
    fit_facts
        Whether a weight is fitted where the device's facts do not give it; otherwise a family that needs such a fact
        is refused.
    starts, seed
        Number of starting points, and the seed they are drawn with (families with an expression).
    clock
        Times of which clock the weights are fitted to: the ``device``'s, where it told all of them, or the ``host``'s.
    """

    model_config = STRICT
    nonnegative: bool = False
    ridge: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    loss: str = "linear"
    merge: bool = True
    weighting: Literal["equal", "noise"] = "equal"
    fit_facts: bool = True
    starts: int = 8
    seed: int = 0
    clock: Clock = "device"


Mark: TypeAlias = Literal["barely", "one row", "at bound", "merged", "undetermined", "given"]

MEANING: dict[Mark, str] = {
    "barely": "its standard error is larger than itself",
    "one row": "more than 90 % of what is known of it comes from one measurement",
    "at bound": "it lies at its bound: zero, where weights below zero are ruled out",
    "merged": "it shares what features that always occur together cost",
    "given": "a fact of the device, not fitted",
    "undetermined": "the measurements do not tell it from others; of all that fit the least is taken",
}
"""What each mark says of a weight."""


class FittedWeight(BaseModel):
    """The value of a weight on a device, such as the cost of one unit of a feature.

    Parameters
    ----------
    value
        The value, in ``unit``.
    unit
        As in ``s/operation``.
    standard_error
        Of the value, in ``unit``; None where the measurements give none.
    marks
        Warnings about it (:data:`MEANING`).
    """

    model_config = STRICT
    value: Finite
    unit: str
    standard_error: Annotated[Finite, Field(ge=0)] | None = None
    marks: tuple[Mark, ...] = ()


def intervals(coefficients: Any, standard_errors: Any, freedom: float, level: float = 0.9) -> npt.NDArray[np.float64]:
    r"""Return :math:`w_i \pm t_\nu s_i` with Student's quantile at the level, shape (n, 2)."""
    if freedom < 0.5:
        return np.column_stack([np.full_like(coefficients, -np.inf), np.full_like(coefficients, np.inf)])
    from scipy.special import stdtrit

    half = stdtrit(freedom, (1 + level) / 2) * standard_errors
    return np.column_stack([coefficients - half, coefficients + half])


LEAST_ERROR = 1e-3
"""Relative errors below this count as this, so that one lucky hit does not make a mean."""


def relative_errors(predicted: npt.ArrayLike, measured: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return :math:`|p - t| / t` for predicted and measured times of one shape [s].

    Examples
    --------
    >>> relative_errors([1.5, 3.0], [1.0, 4.0]).tolist()
    [0.5, 0.25]
    """
    p, t = np.asarray(predicted, dtype=np.float64), np.asarray(measured, dtype=np.float64)
    return np.asarray(np.abs(p - t) / t)


def geometric_mean_error(errors: npt.ArrayLike) -> float:
    """Return the geometric mean of relative errors, each at least 0.1 %; NaN of none.

    Examples
    --------
    >>> round(geometric_mean_error([0.1, 0.4]), 12), round(geometric_mean_error([0.0, 0.1]), 12)
    (0.2, 0.01)
    """
    floored = np.maximum(np.asarray(errors, dtype=np.float64), LEAST_ERROR)
    return float(np.exp(np.mean(np.log(floored)))) if floored.size else float("nan")


class Residuals(BaseModel):
    """Relative errors of the fit on its own rows: geometric mean (floored), median, largest."""

    model_config = STRICT
    geometric_mean: Finite
    median: Finite
    largest: Finite


class FittedWeights(BaseModel):
    """The weights of a family on a device.

    Parameters
    ----------
    family, device
        Names of the family, and of the device that was measured.
    subgroup_size
        Work-items in a sub-group, for which the measured kernels were counted.
    options
        How the fit was made, with the seed of its starting points.
    rows, measurements
        Number of measurements that went into the fit, and their SHA-256 (:func:`perfmodel.fitting.design.rows_hash`).
    rank, condition, degrees_of_freedom, converged
        As of :class:`~perfmodel.fitting.RelativeLeastSquares`.
    residuals
        How well the fit reproduces its own rows.
    launch_s
        What the host's clock adds to the device's times that the weights are fitted to
        (:func:`perfmodel.fitting.design.launch_of`) [s]; None where they are fitted to the host's times, as in files
        from before it was kept.
    notes
        Warnings about the weights, one sentence each.
    features
        Names of all weights, so that a missing one is noticed.
    weights
        Each weight by its name.
    conformal
        Scores for the intervals of predictions.
    measured
        Range of the measured times and features.
    scatter
        Errors between variants of one kernel; None in files from before they were kept.
    anchored
        How far predictions are off that one run of the kernel scales; None likewise.
    definition, definition_sha256
        Source of the family, if it is a user's own (:attr:`perfmodel.models.Family.definition`), and the SHA-256 of its
        file, else empty. In a file, the path of a family's file is relative to the folder of the weights.
    facts
        Facts of the device as the fit knew them, for predictions, a document ``perfmodel.device/1``; None where the
        family is a plain sum.
    transferred_from
        Name of the device that the weights were fitted on, if they were transferred from there by facts
        (:func:`perfmodel.transferred`); else empty. All that is said of the fit is then said of that device.
    """

    model_config = STRICT
    schema_: Literal["perfmodel.weights/2"] = Field(
        default="perfmodel.weights/2", validation_alias="schema", serialization_alias="schema"
    )
    family: str
    device: str
    subgroup_size: int = Field(ge=1, le=MOST_LANES)
    options: FitOptions
    rows: int = Field(ge=0)
    measurements: str
    rank: int = Field(ge=0)
    condition: Finite
    degrees_of_freedom: Finite
    converged: bool
    residuals: Residuals
    launch_s: Annotated[Finite, Field(ge=0)] | None = None
    notes: tuple[str, ...]
    features: tuple[str, ...]
    weights: dict[str, FittedWeight]
    conformal: Conformal | None = None
    measured: Measured | None = None
    scatter: Scatter | None = None
    anchored: Anchored | None = None
    definition: str = ""
    definition_sha256: str = ""
    facts: dict[str, Any] | None = None
    transferred_from: str = ""

    def __repr__(self) -> str:
        return one_line(f"<FittedWeights {self.family} on {self.device}: {len(self.weights)} from {self.rows} rows>")

    @property
    def family_file(self) -> str:
        """The Python file of the family; empty where the family comes from none."""
        return "" if self.definition.startswith(EXPRESSION) else self.definition

    def save(self, path: str | Path) -> None:
        """Write the weights as JSON, whole or not at all; raise OutputError if that is not possible."""
        data = self.model_dump(mode="json", by_alias=True)
        if self.family_file and not is_standard_output(path):
            with suppress(ValueError):  # on another drive
                data["definition"] = os.path.relpath(self.family_file, folder_of(path))
        require(isinstance(path, (str, Path)), "save: path", path, "a path")
        write_whole(path, (json_text(data, indent=2) + "\n").encode())


def folder_of(path: str | Path) -> Path:
    """Return the folder of a weights file, from which the path of a family's file starts."""
    return Path(os.path.realpath(path)).parent


def family_of(fitted: FittedWeights, path: str | Path = "") -> Family:
    """Return the family that weights belong to; no file is run for it.

    Raise an UnknownFamilyError if there is none of that name, a FamilyUnaskedError if it is in a Python file, and an
    ExpressionError if it is an expression that cannot be used.
    """
    if fitted.family_file:
        raise errors.FamilyUnaskedError(path, fitted.family_file)
    if not fitted.definition:
        return named_family(fitted.family)
    units = (Weight(name, weight.unit) for name, weight in fitted.weights.items())
    return Family.from_expression(fitted.definition.removeprefix(EXPRESSION), fitted.family, weights=units)


WEIGHTS = Schema(SCHEMA, "fit the measurements again (perfmodel fit --from FOLDER -o FILE)")


def read_weights(path: str | Path, device: str | None = None, family: Family | None = None) -> FittedWeights:
    """Read a weights file and check it against its family.

    The family is needed if it cannot be found by its name, or is in a Python file: no file is run here.
    With `device`, the weights must belong to the device of that name.

    Raises
    ------
    WeightsFileError
        If it is missing, is no weights file of this schema, lacks a weight, or has one that does not belong to
        the family, has another unit, or is outside of its bounds.
    WeightsDeviceError
        If it belongs to another device.
    FamilyUnaskedError
        If its family is in a Python file, and no family is given.
    FamilyDiffersError
        If the family is not that of the fit: it has another name, or its file or expression has changed.
    UnknownFamilyError, ExpressionError
        If its family does not exist.
    """
    try:
        with reading(path):
            fitted = value_of(FittedWeights, read_file(path), WEIGHTS)
        if fitted.facts is not None:
            DeviceFacts.from_json(fitted.facts)
    except errors.DocumentError as error:
        raise WeightsFileError(str(path), error.problem) from error
    except errors.FactsError as error:
        raise WeightsFileError(str(path), f"has facts of a device that cannot be used: {error.problem}") from error
    _check_names(path, fitted)
    if fitted.family_file:
        file = os.path.normpath(folder_of(path) / fitted.family_file)
        fitted = fitted.model_copy(update={"definition": file})
    if family is None:
        family = family_of(fitted, path)
    else:
        _check_family(path, fitted, family)
    for name, weight in fitted.weights.items():
        _check_weight(path, family, name, weight)
    fitted = _with_new_weights(fitted, family)
    if device is not None and device != fitted.device:
        raise errors.WeightsDeviceError(str(path), fitted.device, device)
    return fitted


def _with_new_weights(fitted: FittedWeights, family: Family) -> FittedWeights:
    """Return weights, with undetermined ones for quantities that a family of resources got since the fit."""
    new = {
        weight.name: FittedWeight(value=0.0, unit=weight.unit, marks=("undetermined",))
        for weight in family.weights if weight.unit and family.resources and weight.name not in fitted.weights
    }  # fmt: skip
    weights = {**fitted.weights, **new}
    return fitted.model_copy(update={"weights": weights, "features": tuple(sorted(weights))}) if new else fitted


def _check_family(path: str | Path, fitted: FittedWeights, given: Family) -> None:
    """Check that a given family is that of the fit. A value without a source is the caller's own code."""
    if given.name != fitted.family:
        problem = f"was fitted with the family '{fitted.family}', not with '{given.name}'"
        raise errors.FamilyDiffersError(str(path), problem)
    then, now = fitted.definition_sha256 or fitted.definition, given.sha256 or given.definition
    if not then or not now or then == now:
        return
    problem = f"was fitted with another version of the family '{given.name}' ({then:.60}, now {now:.60})"
    if fitted.family_file and not fitted.definition_sha256:
        problem = "does not keep the SHA-256 of its family's file"
    raise errors.FamilyDiffersError(str(path), problem)


def _check_names(path: str | Path, fitted: FittedWeights) -> None:
    missing = sorted(set(fitted.features) - set(fitted.weights))
    extra = sorted(set(fitted.weights) - set(fitted.features))
    problems = [f"lacks {', '.join(missing)}"] if missing else []
    problems += [f"has {', '.join(extra)}, which its own list of features does not"] if extra else []
    if problems:
        raise WeightsFileError(str(path), " and ".join(problems))


def _check_weight(path: str | Path, family: Family, name: str, weight: FittedWeight) -> None:
    declared = next((known for known in family.weights if known.name == name), None)
    if declared is None and not family.takes(name):
        raise WeightsFileError(str(path), f"has '{name}', no weight of {family.name}")
    low, high = -math.inf if family.plain_sum else 0.0, math.inf
    if declared is not None:
        low, high = declared.lower, declared.upper
    if not low <= weight.value <= high:
        raise WeightsFileError(str(path), f"has '{name}' = {weight.value!r}, not from {low} to {high}")
    try:
        unit = family.weight_unit(name)
    except errors.UnknownNameError as error:
        raise WeightsFileError(str(path), f"has '{name}', which is no feature") from error
    if weight.unit != unit:
        raise WeightsFileError(str(path), f"has '{name}' in {weight.unit}, not {unit}")
