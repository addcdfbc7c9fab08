"""What the report says of each kernel: a card with what its time is made of, what bounds it, and what to try.

Bounds are those of the balance of Kim et al. (2012), of its benefits and of the roofs. Below them are the words
of the first tab.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from perfmodel.analyses import balance, benefits
from perfmodel.analyses.balance import COMPUTE_BOUND, MEMORY_BOUND, NO_WORK
from perfmodel.analyses.words import term_advice, term_words
from perfmodel.display import bytes_text, percent, rate_text, seconds_text
from perfmodel.fitting.cautions import FarOutside
from perfmodel.report.html.figures import LOWEST
from perfmodel.report.html.values import KernelCard, LegendKey, Stat, TermBar

if TYPE_CHECKING:
    from perfmodel.analyses.balance import Balance
    from perfmodel.analyses.benefits import Benefits
    from perfmodel.analyses.report_values import KernelTerms, ReportData, Share
    from perfmodel.analyses.roofline import KernelPoint
    from perfmodel.fitting.cautions import Caution
    from perfmodel.models import Family

LEAST = 0.01
"""Least share of the time that a benefit is worth a line [1]."""
MEANS = {
    "itilp_s": "more independent instructions, or more sub-groups at once",
    "fp_s": "fewer instructions that are not floating-point arithmetic",
    "serial_s": "less serialised work: barriers, divergent branches, bank conflicts",
    "memlp_s": "more memory requests at once",
}


def balance_words(found: Balance) -> str:
    """Return what bounds a kernel by the work-depth model, as a sentence."""
    times = f"computing takes {seconds_text(found.compute_s)}, moving data {seconds_text(found.memory_s)}"
    if found.verdict == NO_WORK:
        return "By work and depth: it computes nothing and moves nothing that costs time."
    if found.verdict == COMPUTE_BOUND:
        return f"By work and depth: bound by computing ({times})."
    if found.verdict == MEMORY_BOUND:
        moved = bytes_text(found.transfers * found.transfer_bytes)
        return f"By work and depth: bound by memory bandwidth ({moved} must move; {times})."
    if found.holds:
        can, has = f"{found.parallelism:.3g} operations can run at once on average", f"{found.cores:.3g} lanes"
        return f"By work and depth: too little parallelism; {can}, and the device has {has} ({times})."
    can, would = f"{found.memory_parallelism:.3g} transfers can be under way at once", f"{found.hidden:.3g}"
    return f"By work and depth: too little parallelism; {can}, and {would} would hide the latency ({times})."


def roof_words(point: KernelPoint) -> str:
    """Return where a kernel stands below the roofs, as a sentence."""
    if not point.operations:
        rate = "It has no floating-point operations"
    else:
        rate = f"It reaches {rate_text(point.rate, 'op/s')}"
        if math.isfinite(point.intensity):
            rate += f" at {point.intensity:.3g} operations for each byte"
    if not math.isfinite(point.share):
        return f"Below the roofs: {_lower(rate)}; a roof that it needs is not known."
    lowest = f"the lowest roof is {LOWEST[point.bound][0]}"
    return f"Below the roofs: {_lower(rate)}; {lowest}, which it uses to {percent(point.share)}."


def benefit_lines(found: Benefits) -> tuple[str, ...]:
    """Return what could be saved at most, the most first; what is below :data:`LEAST` of the time is left out."""
    whole = found.seconds
    saved = sorted(((float(getattr(found, name)), means) for name, means in MEANS.items()), reverse=True)
    return tuple(
        f"{means[:1].upper()}{means[1:]}: saves at most {seconds_text(seconds)} of the {seconds_text(whole)} that the "
        "model gpuperf expects."
        for seconds, means in saved
        if whole > 0 and seconds >= LEAST * whole
    )


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


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

    There are fewer colours than some families have terms: the smaller ones share that of the rest.
    """
    totals: dict[str, float] = {}
    for one in kernels:
        for share in _shown(one):
            totals[share.term] = totals.get(share.term, 0.0) + abs(share.share)
    ordered = sorted(totals, key=lambda term: -totals[term])
    shades = [*SHADES, *[REST] * len(ordered)]
    return {term: LegendKey(shade, term_words(family, term)) for term, shade in zip(ordered, shades, strict=False)}


def worst_kernels(kernels: Sequence[KernelTerms]) -> Sequence[KernelTerms]:
    """Return those of the kernels whose error is largest, in their order; at most :data:`MOST_CARDS`."""
    errors = [abs(one.seconds / one.measured - 1) if one.measured else 0.0 for one in kernels]
    kept = sorted(range(len(kernels)), key=lambda place: -errors[place])[:MOST_CARDS]
    return [kernels[place] for place in sorted(kept)]


def legend(keys: Mapping[str, LegendKey]) -> tuple[LegendKey, ...]:
    """Return what each colour stands for, once."""
    own = tuple(key for key in keys.values() if key.colour != REST)
    return (*own, LegendKey(REST, "smaller terms")) if len(own) < len(keys) else own


def kernel_card(
    family: Family, one: KernelTerms, point: KernelPoint | None, keys: Mapping[str, LegendKey]
) -> KernelCard:
    """Return the card of a kernel; `point` is its place below the roofs, `keys` are of :func:`term_keys`."""
    shown = _shown(one)
    largest = max((abs(share.share) for share in shown), default=1.0)
    bars = tuple(
        TermBar(
            keys[share.term].words, percent(share.share), seconds_text(share.seconds),
            100 * abs(share.share) / max(largest, 1.0), keys[share.term].colour, share.seconds < 0,
        )
        for share in shown
    )  # fmt: skip
    bounds = [_largest(family, one)] if one.terms else []
    bounds += [roof_words(point)] if point is not None else []
    bounds += [balance_words(one.bounds.balance)] if one.bounds.balance is not None else []
    advice = [term_advice(family, one.bound_by)] if one.terms else []
    advice += benefit_lines(one.bounds.benefits) if one.bounds.benefits is not None else ()
    detail = ", ".join(filter(None, (one.form, one.sizes)))
    return KernelCard(
        one.kernel, detail, _times(one), bars, one.adds_up, _note(one, len(shown)), tuple(bounds),
        tuple(filter(None, advice)), tuple(caution_words(family, caution) for caution in one.cautions),
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


def _shown(one: KernelTerms) -> list[Share]:
    return [share for share in one.terms if abs(share.share) >= SHOWN][:MOST]


def _times(one: KernelTerms) -> str:
    if one.measured is None:
        return f"predicted {seconds_text(one.seconds)}"
    error = percent(abs(one.seconds - one.measured) / one.measured)
    return f"predicted {seconds_text(one.seconds)}, measured {seconds_text(one.measured)}, error {error}"


def _note(one: KernelTerms, shown: int) -> str:
    left = len(one.terms) - shown
    more = f" {left} smaller {'term is' if left == 1 else 'terms are'} left out." if left else ""
    if one.adds_up:
        return f"The terms add up to the predicted time.{more}"
    return f"The terms overlap: they do not add up to the predicted time.{more}"


def _largest(family: Family, one: KernelTerms) -> str:
    words, share = term_words(family, one.bound_by), one.terms[0].share
    return f"By this model: its largest term is {words}, {percent(share)} of the predicted time."


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
