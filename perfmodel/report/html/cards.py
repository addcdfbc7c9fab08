"""A card for each kernel: what its time is made of, what bounds it, and what to try."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from perfmodel.analyses.words import term_advice, term_words
from perfmodel.display import percent, seconds_text
from perfmodel.fitting.uncertainty.cautions import FarOutside
from perfmodel.report.html.bounds_words import balance_words, benefit_lines, roof_words
from perfmodel.report.html.values import KernelCard, Key, TermBar

if TYPE_CHECKING:
    from perfmodel.analyses.report_values import KernelTerms, Share
    from perfmodel.analyses.roofline import KernelPoint
    from perfmodel.fitting.uncertainty.cautions import Caution
    from perfmodel.models import Family

SHOWN = 0.005
"""Least share of a term that has a bar [1]."""
MOST_CARDS = 60
"""Most kernels that have a card."""
MOST = 8
"""Most terms that have bars."""
REST = "rest"
SHADES = ("blue", "orange", "green", "sky", "vermilion", "yellow", "purple")


def term_keys(family: Family, kernels: Iterable[KernelTerms]) -> Mapping[str, Key]:
    """Return the colour and the words of each term that has a bar, by its name: the largest over all kernels first.

    There are fewer colours than some families have terms: the smaller ones share that of the rest.
    """
    totals: dict[str, float] = {}
    for one in kernels:
        for share in _shown(one):
            totals[share.term] = totals.get(share.term, 0.0) + abs(share.share)
    ordered = sorted(totals, key=lambda term: -totals[term])
    shades = [*SHADES, *[REST] * len(ordered)]
    return {term: Key(shade, term_words(family, term)) for term, shade in zip(ordered, shades, strict=False)}


def worst_kernels(kernels: Sequence[KernelTerms]) -> Sequence[KernelTerms]:
    """Return those of the kernels whose error is largest, in their order; at most :data:`MOST_CARDS`."""
    errors = [abs(one.seconds / one.measured - 1) if one.measured else 0.0 for one in kernels]
    kept = sorted(range(len(kernels)), key=lambda place: -errors[place])[:MOST_CARDS]
    return [kernels[place] for place in sorted(kept)]


def legend(keys: Mapping[str, Key]) -> tuple[Key, ...]:
    """Return what each colour stands for, once."""
    own = tuple(key for key in keys.values() if key.colour != REST)
    return (*own, Key(REST, "smaller terms")) if len(own) < len(keys) else own


def kernel_card(
    family: Family, one: KernelTerms, point: KernelPoint | None, keys: Mapping[str, Key]
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
