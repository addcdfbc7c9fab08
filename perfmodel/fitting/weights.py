"""Weights found from measurements, and the value that a file keeps them in."""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING

import numpy as np

from perfmodel.fitting.design import design, label
from perfmodel.fitting.fit_design import DesignFit, FitOptions, fit_design
from perfmodel.fitting.metrics import geometric_mean_error, relative_errors
from perfmodel.fitting.uncertainty.noise import noise_weights
from perfmodel.fitting.weights_file import FittedWeights, Residuals, Weight
from perfmodel.models import Family, find_family

if TYPE_CHECKING:
    from perfmodel.store import Measurements


def fit_weights(
    measurements: Measurements,
    family: str | Family,
    nonnegative: bool = False,
    options: FitOptions | None = None,
) -> FittedWeights:
    """Fit a family's weights to measurements by relative least squares.

    Parameters
    ----------
    measurements
        Measured kernels of one device with their counts.
    family
        A family or its name.
    nonnegative
        Whether weights below zero are ruled out; `options` can say so too.
    options
        How else to fit.

    Raises
    ------
    UnknownFamilyError
        If there is no such family.
    BadTimesError, BadFeatureValuesError
        If the measurements cannot be fitted to.
    TooFewRowsError
        If there are fewer usable measurements than features they exercise.
    ConfoundedFeaturesError
        If features are not told apart and the options forbid to merge them.
    MissingFactError
        If the family needs a fact of the device that nobody gave.
    """
    chosen = find_family(family)
    asked = options or FitOptions()
    if nonnegative and not asked.nonnegative:
        asked = asked.model_copy(update={"nonnegative": True})
    table = design(measurements, chosen, asked.fit_facts)
    row_weights = noise_weights(measurements) if asked.weighting == "noise" else None
    found = fit_design(table, chosen, asked, row_weights)
    errors = relative_errors(found.predict(table), table.times)
    facts = getattr(measurements, "facts", None) if chosen.expression else None
    return FittedWeights(
        family=chosen.name,
        definition=chosen.definition,
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
        notes=_notes(found),
        features=tuple(sorted(found.names)),
        weights=_weights(found, chosen),
    )


def rows_hash(measurements: Measurements) -> str:
    """Return the SHA-256 of what a fit sees of measurements, whatever their order.

    That is, of each row that is fitted, its kernel, variant, sizes, the hash of its counts and its
    time.
    """
    lines = (f"{label(row)} {row.counts_hash} {row.seconds!r}" for row in measurements)
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def _weights(found: DesignFit, family: Family) -> dict[str, Weight]:
    return {
        name: Weight(
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
