"""Weights fitted to measurements, as the value that a weights file keeps."""

from __future__ import annotations

import hashlib
import math
import warnings
from typing import TYPE_CHECKING

import numpy as np

from perfmodel.errors import MixedDriversWarning
from perfmodel.fitting.design import Design, build_design, label
from perfmodel.fitting.device_folder import with_chosen_facts
from perfmodel.fitting.fit_design import DesignFit, fit_to_design
from perfmodel.fitting.metrics import geometric_mean_error, relative_errors
from perfmodel.fitting.options import FitOptions
from perfmodel.fitting.weights_file import FittedWeight, FittedWeights, Residuals
from perfmodel.models import Family, find_family

if TYPE_CHECKING:
    from perfmodel.store import Measurements


def fit_weights(
    measurements: Measurements,
    family: str | Family,
    options: FitOptions | None = None,
    table: Design | None = None,
) -> FittedWeights:
    """Fit a family's weights to the measurements of one device by relative least squares.

    `table` is the design of these measurements, where it is built already.

    Raises
    ------
    UnknownFamilyError
        If there is no such family.
    BadTimesError, BadFeatureValuesError
        If the measurements cannot be fitted to.
    TooFewRowsError
        If there are fewer usable measurements than features they exercise.
    ConfoundedFeaturesError
        If the rows cannot tell features apart and the options forbid to merge them.
    MissingFactError
        If the family needs an unknown fact of the device, and the options do not say that it is fitted.

    Warns
    -----
    MixedDriversWarning
        The measurements are of several versions of the driver.
    """
    chosen, asked = find_family(family), options or FitOptions()
    if table is None:
        measurements = with_chosen_facts(measurements, chosen, asked)
        table = build_design(measurements, chosen, asked)
    if measurements.mixture:
        warnings.warn(measurements.mixture, MixedDriversWarning, stacklevel=2)
    found = fit_to_design(table, chosen, asked)
    errors = relative_errors(found.predict(table), table.times)
    facts = None if chosen.plain_sum else measurements.facts
    return FittedWeights(
        family=chosen.name,
        definition=chosen.definition,
        definition_sha256=chosen.sha256,
        facts=facts.to_json() if facts else None,
        device=measurements.device,
        subgroup_size=table.subgroup_size,
        options=asked,
        rows=len(table.times),
        measurements=rows_hash(measurements),
        rank=found.estimator.rank_,
        condition=found.estimator.condition_,
        degrees_of_freedom=found.estimator.degrees_of_freedom_,
        converged=found.estimator.converged_,
        residuals=Residuals(
            geometric_mean=geometric_mean_error(errors),
            median=float(np.median(errors)),
            largest=float(errors.max()),
        ),
        notes=(*measurements.notes, *_notes(found)),
        features=tuple(sorted(found.names)),
        weights=_weights(found, chosen),
    )


def rows_hash(measurements: Measurements) -> str:
    """Return the SHA-256 of the rows of measurements, whatever their order.

    Of each row it covers the kernel, the variant, the sizes, the hash of the counts and the time.
    """
    lines = (f"{label(row)} {row.counts_hash} {row.seconds!r}" for row in measurements)
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def _weights(found: DesignFit, family: Family) -> dict[str, FittedWeight]:
    return {
        name: FittedWeight(
            value=float(value),
            unit=family.weight_unit(name),
            standard_error=float(error) if math.isfinite(error) else None,
            marks=marks,
        )
        for name, value, error, marks in sorted(
            zip(found.names, found.coefficients, found.errors, found.marks, strict=True),
            key=lambda one: one[0],
        )
    }


def _notes(found: DesignFit) -> tuple[str, ...]:
    notes = [
        "not told apart by the measurements (only what they cost together is known): "
        + ", ".join(group)
        for group in found.confounded
    ]
    if not found.estimator.converged_:
        notes.append("the fit did not come to rest; its weights are the best that were met")
    return tuple(notes)
