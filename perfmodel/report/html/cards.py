"""Cards of kernels (terms, bounds, advice) and the numbers of the first tab."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from perfmodel.analyses import balance, benefits
from perfmodel.analyses.descriptions import term_words
from perfmodel.analyses.report_data import KernelTerms, ReportData, Share
from perfmodel.analyses.roofline import KernelPoint
from perfmodel.display import percent, rate_text, seconds_text
from perfmodel.fitting.cautions import Caution, FarOutside
from perfmodel.models import Family
from perfmodel.report.bounds import bound_words


@dataclass(frozen=True)
class Stat:
    """A highlighted number, with its meaning."""

    value: str
    meaning: str


@dataclass(frozen=True)
class TermBar:
    """A term of a time: its words, its share and its time as text, the length of its bar [%], and its colour."""

    words: str
    share: str
    seconds: str
    length: float
    colour: str
    negative: bool = False


@dataclass(frozen=True)
class LegendKey:
    """The meaning of a colour."""

    colour: str
    words: str


@dataclass(frozen=True)
class KernelCard:
    """The texts on one kernel at one size."""

    title: str
    detail: str  # variant and sizes
    times: str
    terms: tuple[TermBar, ...]
    adds_up: bool  # whether the terms are parts of a whole
    terms_note: str
    bounds: tuple[str, ...]
    advice: tuple[str, ...]
    warnings: tuple[str, ...]


SHOWN = 0.005
"""Least share of a term that has a bar [1]."""
MOST_CARDS = 60
"""Most kernels that have a card."""
MOST = 8
"""Most terms that have bars."""
REST = "rest"
SHADES = ("blue", "orange", "green", "sky", "vermilion", "yellow", "purple")


def term_keys(family: Family, kernels: Iterable[KernelTerms]) -> Mapping[str, LegendKey]:
    """Return the colour and the words of each term that has a bar, by its name: the largest over all kernels first.

    If there are more terms than colours, the smaller terms share a colour.
    """
    totals: dict[str, float] = {}
    for kernel in kernels:
        for share in _shown(kernel):
            totals[share.term] = totals.get(share.term, 0.0) + abs(share.share)
    ordered = sorted(totals, key=lambda term: -totals[term])
    shades = [*SHADES, *[REST] * len(ordered)]
    return {term: LegendKey(shade, term_words(family, term)) for term, shade in zip(ordered, shades, strict=False)}


def worst_kernels(kernels: Sequence[KernelTerms]) -> Sequence[KernelTerms]:
    """Return at most :data:`MOST_CARDS` kernels with the largest errors, in their order."""
    errors = [abs(kernel.seconds / kernel.measured - 1) if kernel.measured else 0.0 for kernel in kernels]
    kept = sorted(range(len(kernels)), key=lambda place: -errors[place])[:MOST_CARDS]
    return [kernels[place] for place in sorted(kept)]


def legend(keys: Mapping[str, LegendKey]) -> tuple[LegendKey, ...]:
    """Return the meaning of each colour."""
    coloured = tuple(key for key in keys.values() if key.colour != REST)
    return (*coloured, LegendKey(REST, "smaller terms")) if len(coloured) < len(keys) else coloured


def kernel_card(
    family: Family, kernel: KernelTerms, point: KernelPoint | None, keys: Mapping[str, LegendKey]
) -> KernelCard:
    """Return the card of a kernel; `point` is its roofline point, `keys` are of :func:`term_keys`."""
    shown = _shown(kernel)
    largest = max((abs(share.share) for share in shown), default=1.0)
    bars = tuple(
        TermBar(
            keys[share.term].words, percent(share.share), seconds_text(share.seconds),
            100 * abs(share.share) / max(largest, 1.0), keys[share.term].colour, share.seconds < 0,
        )
        for share in shown
    )  # fmt: skip
    times = f"predicted {seconds_text(kernel.seconds)}"
    if kernel.measured is not None:
        error = percent(abs(kernel.seconds - kernel.measured) / kernel.measured)
        times += f", measured {seconds_text(kernel.measured)}, error {error}"
    note = "The terms add up to" if kernel.adds_up else "The terms overlap: they do not add up to"
    left = len(kernel.terms) - len(shown)
    more = f" {left} smaller {'term is' if left == 1 else 'terms are'} left out." if left else ""
    bounds, advice = bound_words(family, kernel, point)
    return KernelCard(
        kernel.kernel, ", ".join(filter(None, (kernel.form, kernel.sizes))), times, bars, kernel.adds_up,
        f"{note} the predicted time.{more}", bounds, advice,
        tuple(caution_words(family, caution) for caution in kernel.cautions),
    )  # fmt: skip


def caution_words(family: Family, caution: Caution) -> str:
    """Return a caution about a prediction at one size in words.

    Examples
    --------
    >>> from perfmodel.models import families
    >>> caution_words(families()["bottleneck"], FarOutside("", (1.04, 1.04), (7.16e-6, 0.0186)))
    'The predicted time, 1.04 s, is far outside of the measured ones: 7.16 us to 18.6 ms.'
    >>> caution_words(families()["bottleneck"], FarOutside("power", (1e9, 1e9), (10, 1000)))
    'Far outside of the measurements: a power occurs 1e+09 times, measured were 10 to 1e+03.'
    """
    if not isinstance(caution, FarOutside) or caution.sizes or not math.isfinite(caution.values[0]):
        return str(caution)
    numbers = (caution.values[0], *caution.measured)
    if not caution.feature:
        at, low, high = map(seconds_text, numbers)
        return f"The predicted time, {at}, is far outside of the measured ones: {low} to {high}."
    at, low, high = (f"{number:.3g}" for number in numbers)
    what = term_words(family, caution.feature)
    return f"Far outside of the measurements: {what} occurs {at} times, measured were {low} to {high}."


def _shown(kernel: KernelTerms) -> list[Share]:
    return [share for share in kernel.terms if abs(share.share) >= SHOWN][:MOST]


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
    """Return the figures of the model's errors and choices."""
    f = data.figures
    stats = [
        Stat(percent(f.error), "typical error of a predicted time (geometric mean)"),
        Stat(f"{f.cases - f.withheld} of {f.cases}", "cases with a prediction"),
    ]
    if math.isfinite(f.p90):
        stats.append(Stat(percent(f.p90), "nine of ten errors are below this"))
    if f.choices:
        words = f"longer than the best: the variant it chooses, in {f.choices} choices"
        stats.append(Stat(percent(f.regret - 1), words))
    if math.isfinite(f.inside):
        stats.append(Stat(percent(f.inside), f"measured times inside of their {100 * data.level:g} % interval"))
        if math.isfinite(f.width) and f.width > 0:
            stats.append(Stat(f"{f.width:.2g} times", "a typical interval's upper bound over its lower one"))
    return tuple(stats)


def fact_stats(data: ReportData) -> tuple[Stat, ...]:
    """Return the most important facts of the device."""
    known = {fact.key: fact.value for fact in data.facts}
    return tuple(Stat(known[key], words) for key, words in _FACTS.items() if key in known)


def times_words(data: ReportData) -> str:
    """Return between which times the measured cases lie."""
    times = [row.measured for row in data.comparisons]
    return f"{seconds_text(min(times))} to {seconds_text(max(times))}" if times else ""


def advisers_words(data: ReportData) -> str:
    """Return the errors of the models that give advice; empty if they are not known."""
    known = {line.name: line.figures.error for line in data.families if line.figures is not None}
    models = dict.fromkeys((data.family.name, balance.FAMILY, benefits.FAMILY))
    errors = [f"{name.replace('_', ' ')} {percent(known[name])}" for name in models if name in known]
    return f"Typical errors of these models on this device: {', '.join(errors)}." if errors else ""


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
