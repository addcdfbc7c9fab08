"""Facts, weights and the making of weights, line by line in words, as a report shows them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from perfmodel.analyses.report_values import FactLine, WeightLine
from perfmodel.analyses.weights_in_words import weight_words
from perfmodel.display import in_words, percent
from perfmodel.facts.keys import KEYS
from perfmodel.fitting.linear.diagnosis import MEANING, intervals
from perfmodel.fitting.options import FitOptions
from perfmodel.fitting.weights import rows_hash

if TYPE_CHECKING:
    from perfmodel.facts import DeviceFacts, Fact
    from perfmodel.predict import FittedModel
    from perfmodel.store import Measurements


def fact_lines(facts: DeviceFacts | None) -> tuple[FactLine, ...]:
    """Return each fact with its unit, its meaning and its source."""
    return tuple(
        FactLine(key, _value_text(fact), KEYS[key].meaning if key in KEYS else "", fact.source)
        for key, fact in (facts.facts if facts else ())
    )


def weight_lines(model: FittedModel, level: float = 0.9) -> tuple[WeightLine, ...]:
    """Return each weight in words, with Student's interval at the level where it has a standard error."""
    lines = []
    for name, weight in sorted(model.fitted.weights.items()):
        interval = None
        if weight.standard_error:
            value, error = np.array([weight.value]), np.array([weight.standard_error])
            ((low, high),) = intervals(value, error, model.fitted.degrees_of_freedom, level).tolist()
            interval = (low, high) if math.isfinite(low) else None
        words = weight_words(name, weight.value, weight.unit)
        warnings = tuple(MEANING[mark] for mark in weight.marks)
        lines.append(WeightLine(name, weight.value, weight.unit, words, interval, warnings))
    return tuple(lines)


def how_made(model: FittedModel, measured: Measurements, folder: str | Path) -> tuple[tuple[str, str], ...]:
    """Return how weights were made, as pairs of a name and a text."""
    fitted, rows = model.fitted, tuple(measured)
    same = rows_hash(measured) == fitted.measurements
    dates = sorted(row.taken_at[:10] for row in rows if row.taken_at)
    usual = FitOptions()
    options = {name: value for name, value in fitted.options if value != getattr(usual, name)}
    found = [
        ("folder", str(folder)),
        ("measured", f"{len(rows)} configurations of {len({row.kernel for row in rows})} kernels"),
        ("taken", " to ".join(dict.fromkeys((dates[0], dates[-1]))) if dates else ""),
        ("fitted to", f"{fitted.rows} configurations, {'these' if same else 'other ones than these'}"),
        ("options of the fit", in_words(options) or "the usual ones"),
        ("error of the fit on its own rows", f"{percent(fitted.residuals.geometric_mean)} (geometric mean)"),
        ("condition", f"{fitted.condition:.3g}; rank {fitted.rank}, {len(fitted.weights)} weights"),
        ("libraries", in_words({name: version for row in rows for name, version in row.versions.items()})),
        *(("note", note) for note in (*fitted.notes, *measured.set_aside)),
    ]
    return tuple((name, text) for name, text in found if text)


def _value_text(fact: Fact) -> str:
    value = fact.value
    words = " x ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return f"{f'{value:.4g}' if isinstance(value, float) else words} {fact.unit}".rstrip()
