"""Facts, weights and the making of weights, line by line in words, as a report shows them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from perfmodel.analyses.report_values import FactLine, WeightLine
from perfmodel.analyses.words import RATES, weight_words
from perfmodel.display import bytes_text, in_words, percent, rate_text, seconds_text
from perfmodel.facts import KEYS
from perfmodel.fitting.fit_design import rows_hash
from perfmodel.fitting.weights_file import MEANING, FitOptions, intervals

if TYPE_CHECKING:
    from perfmodel.facts import DeviceFacts, Fact
    from perfmodel.predicting.model import FittedModel
    from perfmodel.store import Measurements


_LOAD = "time of a load that {} answers, if its address waits for another"
PLAIN: Mapping[str, str] = {
    **{f"l{level}_load_s": _LOAD.format(f"the {cache}-level cache") for level, cache in ((2, "second"), (3, "third"))},
    "memory_load_s": _LOAD.format("what lies behind the last cache"),
    "l1_told_ways": "ways of the first-level cache as the operating system tells them, to compare",
    "l2_told_ways": "ways of the second-level cache as the operating system tells them, to compare",
    "l3_told_ways": "ways of the third-level cache as the operating system tells them, to compare",
    "barrier_group_s": "cost of a barrier for its work-group as a whole, beside that of its work-items",
    "overlap_exponent": "overlap of computing and memory: 1 if their times add up, 16 if only the longer one counts",
    "oversubscription": "whether more work-items on a compute unit hide latency: 1 if they do, 0 if not",

    "cache_bytes": "cache of global memory, as OpenCL reports it",
    "clock_mhz": "highest clock of the compute units",
    "device_type": "kind of device",
    "global_memory_bytes": "global memory",
    "has_float64": "whether it computes in float64",
    "max_alloc_bytes": "largest single array",
    "max_work_item_sizes": "largest work-group along each axis",
    "opencl_version": "version of OpenCL",
    "profiling_resolution_ns": "resolution of the device's own clock",
}
"""What facts mean that no model uses, or whose meaning elsewhere names other keys."""


def fact_lines(facts: DeviceFacts | None) -> tuple[FactLine, ...]:
    """Return each fact with its unit, its meaning and its source."""
    return tuple(
        FactLine(key, _value_text(fact), PLAIN.get(key) or (KEYS[key].meaning if key in KEYS else ""), fact.source)
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
        words = weight_words(name, weight.value, weight.unit, model.family)
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
        ("fitted to", f"{'these' if same else 'other'} {fitted.rows} configurations"),
        ("options of the fit", in_words(options) or "the usual ones"),
        ("error of the fit on its own rows", f"{percent(fitted.residuals.geometric_mean)} (geometric mean)"),
        ("condition", f"{fitted.condition:.3g}; rank {fitted.rank}, {len(fitted.weights)} weights"),
        ("libraries", in_words({name: version for row in rows for name, version in row.versions.items()})),
        *(("note", note) for note in dict.fromkeys((*fitted.notes, *measured.notes, *measured.set_aside))),
    ]
    return tuple((name, text) for name, text in found if text)


def _value_text(fact: Fact) -> str:
    value = fact.value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float) and fact.unit in _SCALED:
        return _SCALED[fact.unit](float(value))
    words = " x ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return f"{f'{value:.4g}' if isinstance(value, float) else words} {fact.unit}".rstrip()


_SCALED: Mapping[str, Callable[[float], str]] = {
    "s": seconds_text,
    "ns": lambda value: seconds_text(value * 1e-9),
    "B": bytes_text,
    "MHz": lambda value: rate_text(value * 1e6, "Hz"),
    **{unit: partial(rate_text, unit=words) for unit, words in RATES.items()},
}
