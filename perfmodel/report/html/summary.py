"""The figures of a model in words, for the first tab of the report."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from perfmodel.analyses import balance, benefits
from perfmodel.display import percent, rate_text, seconds_text
from perfmodel.report.html.values import Stat

if TYPE_CHECKING:
    from perfmodel.analyses.report_values import ReportData

_FACTS = {
    "compute_units": "compute units",
    "memory_bandwidth_bytes_per_s": "bandwidth of global memory",
    "peak_flops_float32": "float32 operations in a second",
    "peak_flops_float64": "float64 operations in a second",
    "launch_s": "time of an empty launch",
    "l2_bytes": "second-level cache",
}
"""Facts that the first tab shows, where they are known."""


def figure_stats(data: ReportData) -> tuple[Stat, ...]:
    """Return what the model's errors and choices come to."""
    f = data.figures
    found = [Stat(percent(f.error), "typical error of a predicted time (geometric mean)")]
    found.append(Stat(f"{f.cases - f.withheld} of {f.cases}", "cases with a prediction"))
    if math.isfinite(f.p90):
        found.append(Stat(percent(f.p90), "nine of ten errors are below this"))
    if f.choices:
        words = f"longer than the best: the variant it chooses, in {f.choices} choices"
        found.append(Stat(percent(f.regret - 1), words))
    if math.isfinite(f.inside):
        found.append(Stat(percent(f.inside), f"measured times inside of their {100 * data.level:g} % interval"))
        if math.isfinite(f.width) and f.width > 0:
            found.append(Stat(f"{f.width:.2g} times", "a typical interval's upper bound over its lower one"))
    return tuple(found)


def fact_stats(data: ReportData) -> tuple[Stat, ...]:
    """Return the facts of the device that matter most."""
    known = {fact.key: fact.value for fact in data.facts}
    return tuple(Stat(known[key], words) for key, words in _FACTS.items() if key in known)


def slower_words(count: int) -> str:
    """Return that so many slower variants have no card; empty for none.

    Examples
    --------
    >>> slower_words(3), slower_words(-1)
    ('The 3 slower variants stand in the table above.', '')
    """
    return f"The {count} slower variants stand in the table above." if count > 0 else ""


def times_words(data: ReportData) -> str:
    """Return between which times the measured cases lie."""
    times = [row.measured for row in data.comparisons]
    return f"{seconds_text(min(times))} to {seconds_text(max(times))}" if times else ""


def advisers_words(data: ReportData) -> str:
    """Return how good the models are from which advice follows; empty where nobody knows it."""
    known = {one.name: one.figures.error for one in data.families if one.figures is not None}
    models = dict.fromkeys((data.family.name, balance.FAMILY, benefits.FAMILY))
    told = [f"{name.replace('_', ' ')} {percent(known[name])}" for name in models if name in known]
    return f"Typical errors of these models on this device: {', '.join(told)}." if told else ""


def roofs_words(data: ReportData) -> str:
    """Return the roofs in words."""
    words = {
        "peak_flops_float32": ("float32", "op/s"), "peak_flops_float64": ("float64", "op/s"),
        "memory_bandwidth_bytes_per_s": ("global memory", "B/s"), "cache_bandwidth_bytes_per_s": ("cache", "B/s"),
        "local_bandwidth_bytes_per_s": ("local memory", "B/s"),
    }  # fmt: skip
    return ", ".join(
        f"{name} {rate_text(data.roofs[key], unit)}" for key, (name, unit) in words.items() if key in data.roofs
    )
