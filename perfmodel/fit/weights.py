"""Weights found from measurements, and the file that keeps them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from perfmodel.errors import TooFewRowsError, UnknownFeatureError, WeightsFileError
from perfmodel.families import Family, find_family
from perfmodel.fit.design import Design, design
from perfmodel.fit.estimators import RelativeLeastSquares
from perfmodel.fit.metrics import geometric_mean_error, relative_errors
from perfmodel.fit.output import write_whole

if TYPE_CHECKING:
    from perfmodel.store import Measurements

Finite = Annotated[float, Field(allow_inf_nan=False)]
STRICT = ConfigDict(frozen=True, extra="forbid")


class Weight(BaseModel):
    """What one unit of a feature costs.

    Parameters
    ----------
    value
        The cost, in ``unit``.
    unit
        As in ``s/operation``.
    """

    model_config = STRICT
    value: Finite
    unit: str


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
    family
        Name of the family.
    device
        Name of the device that was measured.
    weights
        For each measured feature its weight.
    subgroup_size
        Work-items in a sub-group, for which the measured kernels were counted.
    nonnegative
        Whether weights below zero were ruled out.
    rows
        Measurements that went into the fit.
    rank, condition
        Of the scaled matrix (see :class:`~perfmodel.fit.RelativeLeastSquares`).
    residuals
        How well the fit reproduces its own rows.
    notes
        What a user of the weights should know, one sentence each.
    """

    model_config = STRICT
    schema_: Literal["perfmodel.weights/1"] = Field(
        default="perfmodel.weights/1", validation_alias="schema", serialization_alias="schema"
    )
    family: str
    device: str
    subgroup_size: int
    nonnegative: bool
    rows: int
    rank: int
    condition: Finite
    residuals: Residuals
    notes: tuple[str, ...]
    weights: dict[str, Weight]

    def save(self, path: str | Path) -> None:
        """Write the weights as JSON, whole or not at all.

        Raises
        ------
        OutputError
            If the file cannot be written.
        """
        data = self.model_dump(mode="json", by_alias=True)
        write_whole(path, (json.dumps(data, indent=2) + "\n").encode())


def fit_weights(
    measurements: Measurements, family: str | Family, nonnegative: bool = False
) -> FittedWeights:
    """Fit a family's weights to measurements by relative least squares.

    Raises
    ------
    UnknownFamilyError
        If there is no such family.
    BadTimesError, BadFeatureValuesError
        If the measurements cannot be fitted to.
    TooFewRowsError
        If there are fewer usable measurements than features they exercise.
    """
    chosen = find_family(family)
    table = design(measurements, chosen)
    if not 0 < len(table.names) <= len(table.times):
        raise TooFewRowsError(len(table.times), table.names)
    estimator = RelativeLeastSquares(nonnegative=nonnegative).fit(table.matrix, table.times)
    errors = relative_errors(estimator.predict(table.matrix), table.times)
    return FittedWeights(
        family=chosen.name,
        device=measurements.device,
        subgroup_size=table.subgroup_size,
        nonnegative=nonnegative,
        rows=len(table.times),
        rank=estimator.rank_,
        condition=estimator.condition_,
        residuals=Residuals(
            geometric_mean=geometric_mean_error(errors),
            median=float(np.median(errors)),
            largest=float(errors.max()),
        ),
        notes=_notes(table, estimator),
        weights={
            name: Weight(value=float(value), unit=chosen.weight_unit(name))
            for name, value in zip(table.names, estimator.coef_, strict=True)
        },
    )


def read_weights(path: str | Path) -> FittedWeights:
    """Read a weights file and check it against its family.

    Raises
    ------
    WeightsFileError
        If it is missing, is no weights file of this schema, or has a weight that is not one of
        the family's or in another unit.
    UnknownFamilyError
        If its family does not exist.
    """
    try:
        found = FittedWeights.model_validate_json(Path(path).read_bytes())
    except OSError as error:
        raise WeightsFileError(str(path), f"cannot be read ({error.strerror})") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the document"
        raise WeightsFileError(str(path), f"is not valid at {where}: {first['msg']}") from error
    chosen = find_family(found.family)
    for name, weight in found.weights.items():
        if not chosen.takes(name):
            raise WeightsFileError(str(path), f"has '{name}', no weight of {chosen.name}")
        try:
            unit = chosen.weight_unit(name)
        except UnknownFeatureError as error:
            raise WeightsFileError(str(path), f"has '{name}', which is no feature") from error
        if weight.unit != unit:
            raise WeightsFileError(str(path), f"has '{name}' in {weight.unit}, not {unit}")
    return found


def _listed(names: tuple[str, ...], columns: tuple[int, ...]) -> str:
    return ", ".join(names[column] for column in columns)


def _notes(table: Design, estimator: RelativeLeastSquares) -> tuple[str, ...]:
    return tuple(
        f"not told apart by the measurements (only what they cost together is known): "
        f"{_listed(table.names, group)}"
        for group in estimator.confounded_
    )
