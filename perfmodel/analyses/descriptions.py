"""Weights, terms and facts in plain words for the report, with the labels of features. Families share these labels."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from perfmodel.display import bytes_text, percent, rate_text, seconds_text, values_text
from perfmodel.facts import KEYS, DeviceFacts, Fact
from perfmodel.features import HOST_LAUNCH
from perfmodel.fitting.design import rows_hash
from perfmodel.fitting.weights_file import MEANING, FitOptions, intervals
from perfmodel.models import Family
from perfmodel.predicting.model import FittedModel
from perfmodel.quantities import hints
from perfmodel.quantities.bottleneck import QUANTITIES
from perfmodel.store import Measurements

KINDS: Mapping[str, str] = {
    "add": "an addition", "mul": "a product", "div": "a division", "pow": "a power", "minmax": "a minimum or maximum",
    "shift": "a shift", "bitwise": "a bitwise operation", "compare": "a comparison",
    "select": "a select by a condition", "special": "a function (such as sqrt)",
}  # fmt: skip
PATTERNS: Mapping[str, str] = {
    "uniform": "of one cell by all lanes", "indirect": "at an address that comes from data",
    "stride1": "of neighbouring cells by neighbouring lanes",
}  # fmt: skip
PARTS: Mapping[str, str] = {"1of2": "half", "1of3": "a third", "2of3": "two thirds", "1of4": "a quarter",
                            "2of4": "half", "3of4": "three quarters"}  # fmt: skip
RATES: Mapping[str, str] = {"B/s": "B/s", "operation/s": "op/s", "Hz": "Hz"}  #: Units of rates behind a prefix
_ACCESS = re.compile(
    r"(?P<space>global|local)_(?P<direction>load|store|minloadstore)_(?P<bits>\d+)(_(?P<pattern>\w+))?"
)
_OPERATION = re.compile(r"op_(?P<dtype>[a-z]+\d*)_(?P<kind>\w+)")


def weight_text(name: str, value: float, unit: str, family: Family | None = None) -> str:
    """Return the meaning of a weight (a feature's or a family's own ``w_*``) as a sentence without its full stop.

    >>> weight_text("global_load_32_stride1", 3.2e-11, "s/access")
    'a 32-bit load of neighbouring cells by neighbouring lanes costs 32 ps: 125 GB/s'
    """
    weight = next((known for known in family.weights if known.name == name and known.label), None) if family else None
    if not unit.startswith("s"):
        called = weight.label if weight else _plain(name)
        return f"{called} is {rate_text(value, RATES[unit]) if unit in RATES else f'{value:.4g} {unit}'.rstrip()}"
    thing, amount, counted = (weight.label, 1.0, weight.counted) if weight else _thing(name, unit.partition("/")[2])
    if value == 0:
        return f"{thing} has no cost in these measurements"
    if value < 0:
        return f"{thing} saves {seconds_text(-value)}: it offsets costs that other weights include"
    rate = f": {rate_text(amount / value, f'{counted}/s')}" if counted else ""
    return f"{thing} costs {seconds_text(value)}{rate}"


def term_label(family: Family, term: str) -> str:
    """Return the meaning of a term of a family's times, or its name if the family has no label for it."""
    if term == HOST_LAUNCH:
        return "the launch, which the host's clock adds"
    return family.labels.get(term) or _thing(term, "")[0].rstrip(",")


def term_advice(family: Family, term: str) -> str:
    """Return advice for kernels in which this term is the largest, or an empty text."""
    if family.advice:
        return family.advice.get(term, "")
    advice = next((sentence for beginning, sentence in _BY_FEATURE if term.startswith(beginning)), "")
    return hints.FEWER_FUNCTIONS if advice and term.endswith("_special") else advice


_BY_FEATURE = (
    ("global_", hints.FEWER_BYTES), ("local_", hints.LESS_LOCAL_MEMORY), ("op_", hints.FEWER_INSTRUCTIONS),
    ("barrier", hints.LESS_OVERHEAD), ("work_groups", hints.LESS_OVERHEAD), ("launches", hints.LESS_OVERHEAD),
)  # fmt: skip


def _thing(name: str, per: str) -> tuple[str, float, str]:
    """Return what a weight is charged for, with the amount and unit of its rate ("" without a rate)."""
    if (access := _ACCESS.fullmatch(name)) is not None:
        return _access(**access.groupdict())
    if (operation := _OPERATION.fullmatch(name)) is not None:
        kind = KINDS.get(operation["kind"], f"an operation '{operation['kind']}'")
        return f"{kind} of {operation['dtype']}", 1.0, "op"
    plain = {"barrier_local": "a local barrier, for each work-item,", "work_groups": "a work-group",
             "launches": "a launch"}  # fmt: skip
    if name in plain:
        return plain[name], 1.0, ""
    if (known := QUANTITIES.get(name.removeprefix("w_"))) is not None:
        return known.label, 1.0, known.counted
    article = "an" if per[:1] in "aeiou" and per else "a"
    counted = {"operation": "op", "access": "access", "B": "B"}.get(per, "")
    unit = f", {article} {'byte' if per == 'B' else per}," if per else ""
    return f"{_plain(name)}{unit}", 1.0, counted


def _access(space: str, direction: str, bits: str, pattern: str | None) -> tuple[str, float, str]:
    sized = f"{'an' if bits == '8' else 'a'} {bits}-bit"
    if direction == "minloadstore":
        what, amount = f"a pair of {sized} load and store", int(bits) / 4
    else:
        what, amount = f"{sized} {direction}", int(bits) / 8
    if space == "local":
        return f"{what} of local memory", amount, "B"
    pattern = pattern or ""
    if pattern in PATTERNS:
        return f"{what} {PATTERNS[pattern]}", amount, "B"
    stride, _, used = pattern.removeprefix("stride").partition("_")
    where = "more than 4" if stride == "N" else stride
    part = f" ({PARTS[used]} of the cells between are used)" if used in PARTS else ""
    return f"{what} of cells at a distance of {where} by neighbouring lanes{part}", amount, "B"


def _plain(name: str) -> str:
    return name.removeprefix("w_").replace("_", " ")


@dataclass(frozen=True)
class FactLine:
    """A fact of the device: the key, the value with the unit, the meaning, and the source."""

    key: str
    value: str
    meaning: str
    source: str


@dataclass(frozen=True)
class WeightLine:
    """A weight in words, with warnings, and with its interval [unit of the weight] if the measurements give one."""

    name: str
    value: float
    unit: str
    text: str
    interval: tuple[float, float] | None
    warnings: tuple[str, ...]


UNUSED: Mapping[str, str] = {
    "cache_bytes": "cache of global memory, as OpenCL reports it", "clock_mhz": "highest clock of the compute units",
    "global_memory_bytes": "global memory", "has_float64": "whether it computes in float64",
    "max_alloc_bytes": "largest single array", "max_work_item_sizes": "largest work-group along each axis",
    "opencl_version": "version of OpenCL", "profiling_resolution_ns": "resolution of the device's own clock",
}  # fmt: skip
"""Meanings of facts that no model uses."""


def fact_lines(facts: DeviceFacts | None) -> tuple[FactLine, ...]:
    """Return each fact with its unit, its meaning and its source."""
    return tuple(
        FactLine(key, _value_text(fact), KEYS[key].meaning if key in KEYS else UNUSED.get(key, ""), fact.source)
        for key, fact in (facts.facts if facts else ())
    )


def weight_lines(model: FittedModel, level: float = 0.9) -> tuple[WeightLine, ...]:
    """Return each weight in words. A weight with a standard error has Student's interval at the level."""
    lines = []
    for name, weight in sorted(model.fitted.weights.items()):
        interval = None
        if weight.standard_error:
            value, error = np.array([weight.value]), np.array([weight.standard_error])
            ((low, high),) = intervals(value, error, model.fitted.degrees_of_freedom, level).tolist()
            low = max(low, 0.0) if weight.value >= 0 else low  # no cost is below zero
            interval = (low, high) if math.isfinite(high) else None
        text = weight_text(name, weight.value, weight.unit, model.family)
        warnings = tuple(MEANING[mark] for mark in weight.marks)
        lines.append(WeightLine(name, weight.value, weight.unit, text, interval, warnings))
    return tuple(lines)


def how_made(model: FittedModel, measured: Measurements, folder: str | Path) -> tuple[tuple[str, str], ...]:
    """Return a description of how weights were fitted, as pairs of a name and a text."""
    fitted, rows = model.fitted, tuple(measured)
    same = rows_hash(measured) == fitted.measurements
    dates = sorted(row.taken_at[:10] for row in rows if row.taken_at)
    usual = FitOptions()
    options = {name: value for name, value in fitted.options if value != getattr(usual, name)}
    lines = [
        ("data", str(folder)),
        ("measured kernels", f"{len(rows)} configurations of {len({row.kernel for row in rows})} kernels"),
        ("measured on", " to ".join(dict.fromkeys((dates[0], dates[-1]))) if dates else ""),
        ("weights fitted to", f"{'these' if same else 'other'} {fitted.rows} configurations"),
        ("predicts", model.clock_text),
        ("options of the fit", values_text(options) or "the usual ones"),
        ("error of the fit on its own rows", f"{percent(fitted.residuals.geometric_mean)} (geometric mean)"),
        ("condition number of the fit", f"{fitted.condition:.3g}; rank {fitted.rank}, {len(fitted.weights)} weights"),
        ("libraries of the measurements", values_text({k: v for row in rows for k, v in row.versions.items()})),
        *(("note", note) for note in dict.fromkeys((*fitted.notes, *measured.notes, *measured.set_aside))),
    ]
    return tuple((name, text) for name, text in lines if text)


def _value_text(fact: Fact) -> str:
    value = fact.value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float) and fact.unit in _SCALED:
        return _SCALED[fact.unit](float(value))
    words = " x ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return f"{f'{value:.4g}' if isinstance(value, float) else words} {fact.unit}".rstrip()


_SCALED: Mapping[str, Callable[[float], str]] = {
    "s": seconds_text, "ns": lambda value: seconds_text(value * 1e-9), "B": bytes_text,
    "MHz": lambda value: rate_text(value * 1e6, "Hz"),
    **{unit: partial(rate_text, unit=words) for unit, words in RATES.items()},
}  # fmt: skip
