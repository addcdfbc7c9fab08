"""Cards of kernels (terms, bounds, advice) and the numbers of the first tab."""

import math
from collections.abc import Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import NamedTuple

from perfmodel.analyses import balance, benefits
from perfmodel.analyses.descriptions import term_label
from perfmodel.analyses.report_data import KernelTerms, ReportData
from perfmodel.analyses.roofline import KernelPoint
from perfmodel.display import percent, rate_text, seconds_text
from perfmodel.models import Family
from perfmodel.predicting.prediction import Share
from perfmodel.report.bounds import bound_texts
from perfmodel.report.html.tables import worst
from perfmodel.report.pictures import ROOFS

SHOWN = 0.005  # least share of a term that has a bar
MOST_CARDS = 60
MOST = 8  # terms that have bars
REST = "rest"
SHADES = ("blue", "orange", "green", "sky", "vermilion", "yellow", "purple")


class LegendKey(NamedTuple):
    """The meaning of a colour."""

    colour: str
    label: str


def term_keys(family: Family, kernels: Iterable[KernelTerms]) -> Mapping[str, LegendKey]:
    """Return the colour and the label of each term with a bar, the largest first. Small terms may share a colour."""
    totals: dict[str, float] = {}
    for kernel in kernels:
        for share in _shown(kernel):
            totals[share.term] = totals.get(share.term, 0.0) + abs(share.share)
    ordered = sorted(totals, key=lambda term: -totals[term])
    shades = [*SHADES, *[REST] * len(ordered)]
    return {term: LegendKey(shade, term_label(family, term)) for term, shade in zip(ordered, shades, strict=False)}


def worst_kernels(kernels: Sequence[KernelTerms]) -> Sequence[KernelTerms]:
    """Return at most :data:`MOST_CARDS` kernels with the largest errors, in their order."""
    errors = [abs(kernel.seconds / kernel.measured - 1) if kernel.measured else 0.0 for kernel in kernels]
    return worst(kernels, errors, MOST_CARDS)


def legend(keys: Mapping[str, LegendKey]) -> tuple[LegendKey, ...]:
    """Return the meaning of each colour."""
    coloured = tuple(key for key in keys.values() if key.colour != REST)
    return (*coloured, LegendKey(REST, "smaller terms")) if len(coloured) < len(keys) else coloured


def kernel_card(
    family: Family, kernel: KernelTerms, point: KernelPoint | None, keys: Mapping[str, LegendKey]
) -> SimpleNamespace:
    """Return the texts on a kernel at one size, with the length of each term's bar in per cent."""
    shown = _shown(kernel)
    largest = max((abs(share.share) for share in shown), default=1.0)
    bars = tuple(
        SimpleNamespace(
            label=keys[share.term].label, share=percent(share.share), seconds=seconds_text(share.seconds),
            length=100 * abs(share.share) / max(largest, 1.0), colour=keys[share.term].colour,
            negative=share.seconds < 0,
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
    bounds, advice = bound_texts(family, kernel, point)
    return SimpleNamespace(
        title=kernel.kernel, detail=", ".join(filter(None, (kernel.form, kernel.sizes))), times=times, terms=bars,
        adds_up=kernel.adds_up, terms_note=f"{note} the predicted time.{more}", bounds=bounds, advice=advice,
        warnings=tuple(map(str, kernel.cautions)),
    )  # fmt: skip


def _shown(kernel: KernelTerms) -> list[Share]:
    return [share for share in kernel.terms if abs(share.share) >= SHOWN][:MOST]


_FACTS = {
    "compute_units": "compute units", "memory_bandwidth_bytes_per_s": "bandwidth of global memory",
    "peak_flops_float32": "float32 operations in a second", "peak_flops_float64": "float64 operations in a second",
    "launch_s": "time of an empty launch", "l2_bytes": "second-level cache",
}  # fmt: skip
"""Facts that the first tab shows, where they are known."""


def figure_stats(data: ReportData) -> list[tuple[str, str]]:
    """Return the figures of the model's errors and choices, with their meanings."""
    f = data.figures
    stats = [
        (percent(f.error), "typical error of a predicted time (geometric mean)"),
        (f"{f.cases - f.withheld} of {f.cases}", "cases with a prediction"),
    ]
    if math.isfinite(f.p90):
        stats.append((percent(f.p90), "nine of ten errors are below this"))
    if f.choices:
        stats.append((percent(f.regret - 1), f"longer than the best: the variant it chooses, in {f.choices} choices"))
    if math.isfinite(f.inside):
        stats.append((percent(f.inside), f"measured times inside of their {100 * data.level:g} % interval"))
        if math.isfinite(f.width) and f.width > 0:
            stats.append((f"{f.width:.2g} times", "a typical interval's upper bound over its lower one"))
    return stats


def fact_stats(data: ReportData) -> list[tuple[str, str]]:
    """Return the most important facts of the device, with their meanings."""
    known = {fact.key: fact.value for fact in data.facts}
    return [(known[key], meaning) for key, meaning in _FACTS.items() if key in known]


def times_text(data: ReportData) -> str:
    """Return the shortest and the longest measured time in words."""
    times = [row.measured for row in data.comparisons]
    return f"{seconds_text(min(times))} to {seconds_text(max(times))}" if times else ""


def advisers_text(data: ReportData) -> str:
    """Return the errors of the models that give advice. Without known errors the text is empty."""
    known = {line.name: line.figures.error for line in data.families if line.figures is not None}
    models = dict.fromkeys((data.family.name, balance.FAMILY, benefits.FAMILY))
    errors = [f"{name.replace('_', ' ')} {percent(known[name])}" for name in models if name in known]
    return f"Typical errors of these models on this device: {', '.join(errors)}." if errors else ""


def roofs_text(data: ReportData) -> str:
    """Return the roofs in words."""
    return ", ".join(f"{ROOFS[key][0]} {rate_text(value, ROOFS[key][2])}" for key, value in data.roofs.items())
