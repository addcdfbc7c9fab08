"""The file of fitted weights, ``perfmodel.weights/2``: its values, its reading, and checks against the family."""

import math
import os
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, Field

from perfmodel import errors
from perfmodel.documents import MOST_LANES, Schema, json_text, one_line, read_file, reading, require, value_of
from perfmodel.errors import WeightsError
from perfmodel.facts import DeviceFacts
from perfmodel.fitting.anchored import Anchored
from perfmodel.fitting.cautions import Measured
from perfmodel.fitting.conformal import LEAST_ERROR, Conformal
from perfmodel.fitting.selection import Scatter
from perfmodel.fitting.types import STRICT, Finite
from perfmodel.io import is_standard_output, write_whole
from perfmodel.models import named_family
from perfmodel.models.model import EXPRESSION, Family, Weight
from perfmodel.store.measurement import Clock

SCHEMA = "perfmodel.weights/2"
WEIGHTS = Schema(SCHEMA, "fit the measurements again (perfmodel fit --from FOLDER -o FILE)")


class FitOptions(BaseModel):
    """Options of a fit.

    - `nonnegative`: whether weights of a linear family must not be negative. An expression has its own bounds.
    - `fit_facts`: whether to fit a weight whose fact is unknown. Otherwise the family is refused.
    - `starts`, `seed`: number and seed of the starting points, for families with an expression.
    - `clock`: ``host`` fits the times by the host's clock. ``device`` fits the device's times, if all rows have them.
    """

    model_config = STRICT
    nonnegative: bool = False
    fit_facts: bool = True
    starts: int = 8
    seed: int = 0
    clock: Clock = "device"


Mark: TypeAlias = Literal["barely", "one row", "at bound", "merged", "undetermined", "given"]

# the meaning of each mark of a weight
MEANING: dict[Mark, str] = {
    "barely": "its standard error is larger than the weight",
    "one row": "one measurement determines more than 90 % of it",
    "at bound": "it is at its bound: zero, where weights must not be negative",
    "merged": "it has an equal part of the common cost of features that are always proportional",
    "given": "a fact of the device, not fitted",
    "undetermined": "the measurements do not determine it separately; it is the smallest that fits",
}


class FittedWeight(BaseModel):
    """The value of a weight on a device, its unit as in ``s/operation``, its standard error and marks."""

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


def relative_errors(predicted: npt.ArrayLike, measured: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return :math:`|p - t| / t` for predicted and measured times of one shape [s]."""
    p, t = np.asarray(predicted, dtype=np.float64), np.asarray(measured, dtype=np.float64)
    return np.asarray(np.abs(p - t) / t)


def geometric_mean_error(errors: npt.ArrayLike) -> float:
    """Return the geometric mean of relative errors, each at least 0.1 %, or NaN without errors."""
    floored = np.maximum(np.asarray(errors, dtype=np.float64), LEAST_ERROR)
    return float(np.exp(np.mean(np.log(floored)))) if floored.size else float("nan")


class Residuals(BaseModel):
    """Relative errors of the fit on its own rows: geometric mean (each at least 0.1 %), median, and largest."""

    model_config = STRICT
    geometric_mean: Finite
    median: Finite
    largest: Finite


class FittedWeights(BaseModel):
    """The weights of a family on a device: the content of a weights file.

    `rows` is the number of fitted rows, and `measurements` is their SHA-256. `launch_s` is the difference between the
    clocks of host and device [s], or None if weights are fitted to the host's times. `features` has the names of all
    weights, so that a missing weight is detected. A user's own family has a `definition`
    (:attr:`perfmodel.models.Family.definition`) and the SHA-256 of its file. If the definition is a path, this path is
    relative to the folder of the weights file. `facts` are the device's facts that the fit used, a document
    ``perfmodel.device/1``. If facts transferred the weights (:func:`perfmodel.transferred`), `transferred_from` is the
    device of the original fit. Data about the fit then belong to that device.
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
        """The Python file of the family. The name is empty for a family without a file."""
        return "" if self.definition.startswith(EXPRESSION) else self.definition

    def save(self, path: str | Path) -> None:
        """Write the weights as JSON, atomically. Raise an OutputError if that fails."""
        data = self.model_dump(mode="json", by_alias=True)
        if self.family_file and not is_standard_output(path):
            with suppress(ValueError):  # on another drive
                data["definition"] = os.path.relpath(self.family_file, folder_of(path))
        require(isinstance(path, (str, Path)), "save: path", path, "a path")
        write_whole(path, (json_text(data, indent=2) + "\n").encode())


def folder_of(path: str | Path) -> Path:
    """Return the folder of a weights file, to which the path of a family's file is relative."""
    return Path(os.path.realpath(path)).parent


def family_of(fitted: FittedWeights, path: str | Path = "") -> Family:
    """Return the family of weights. Raise a WeightsError for a family in a Python file. The file is not run."""
    if fitted.family_file:
        raise WeightsError(
            f"weights file '{path}' belongs to a family in the Python file '{fitted.family_file}', which runs only if "
            "you ask for it",
            f"read it, and give --family '{fitted.family_file}' (pm.load(path, family='{fitted.family_file}'))",
        )
    if not fitted.definition:
        return named_family(fitted.family)
    units = (Weight(name, weight.unit) for name, weight in fitted.weights.items())
    return Family.from_expression(fitted.definition.removeprefix(EXPRESSION), fitted.family, weights=units)


def read_weights(path: str | Path, family: Family | None = None) -> FittedWeights:
    """Read a weights file and check it against its family.

    Give `family` if the family cannot be found by its name, or is in a Python file. Raise a WeightsError if the file is
    not a weights file, or has another schema, family or version.
    """
    fitted = _read(path)
    if problem := _bad_names(fitted):
        raise _bad_file(path, problem)
    if fitted.family_file:
        fitted = fitted.model_copy(update={"definition": os.path.normpath(folder_of(path) / fitted.family_file)})
    if family is None:
        family = family_of(fitted, path)
    elif problem := _other_family(fitted, family):
        raise WeightsError(f"weights file '{path}' {problem}", "give the family of that fit, or fit again")
    for name, weight in fitted.weights.items():
        if problem := _bad_weight(family, name, weight):
            raise _bad_file(path, f"has '{name}' {problem}")
    return fitted


def _read(path: str | Path) -> FittedWeights:
    try:
        with reading(path):
            fitted = value_of(FittedWeights, read_file(path), WEIGHTS)
        if fitted.facts is not None:
            DeviceFacts.from_json(fitted.facts)
    except errors.DocumentError as error:
        raise _bad_file(path, error.problem) from error
    except errors.FactsError as error:
        raise _bad_file(path, f"has facts of a device that cannot be used: {error.problem}") from error
    return fitted


def _bad_file(path: str | Path, problem: str) -> WeightsError:
    advice = "give a file that 'perfmodel fit' wrote, or name a device that has weights with --device"
    return WeightsError(f"weights file '{path}' {problem}", advice, path=str(path))


def _bad_names(fitted: FittedWeights) -> str:
    missing = sorted(set(fitted.features) - set(fitted.weights))
    extra = sorted(set(fitted.weights) - set(fitted.features))
    problems = [f"lacks {', '.join(missing)}"] if missing else []
    problems += [f"has {', '.join(extra)}, which is not in its own list of features"] if extra else []
    return " and ".join(problems)


def _other_family(fitted: FittedWeights, given: Family) -> str:
    if given.name != fitted.family:
        return f"was fitted with the family '{fitted.family}', not with '{given.name}'"
    then, now = fitted.definition_sha256 or fitted.definition, given.sha256 or given.definition
    if not then or not now or then == now:
        return ""
    if fitted.family_file and not fitted.definition_sha256:
        return "does not hold the SHA-256 of its family's file"
    return f"was fitted with another version of the family '{given.name}' ({then:.60}, now {now:.60})"


def _bad_weight(family: Family, name: str, weight: FittedWeight) -> str:
    declared = next((known for known in family.weights if known.name == name), None)
    if declared is None and not family.takes(name):
        return f"which is not a weight of {family.name}"
    low, high = -math.inf if family.plain_sum else 0.0, math.inf
    if declared is not None:
        low, high = declared.lower, declared.upper
    if not low <= weight.value <= high:
        return f"= {weight.value!r}, not from {low} to {high}"
    try:
        unit = family.weight_unit(name)
    except errors.UnknownNameError:
        return "which is not a feature"
    return "" if weight.unit == unit else f"in {weight.unit}, not {unit}"
