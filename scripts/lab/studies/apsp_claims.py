"""The claims of Ma, Chamberlain and Agrawal (2014) on all-pairs shortest paths, and what is found of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from perfmodel.compare import Comparison
from perfmodel.display import bytes_text, seconds_text
from scripts.lab.outliers import outliers_of
from scripts.lab.studies.apsp import (
    FLAT,
    LINEAR,
    Configuration,
    asked_for_more,
    automatic,
    bent_line,
    by_sub_block,
    by_threads,
    flat_from,
    straight_line,
)
from scripts.lab.studies.apsp_formula_claims import formula_claims
from scripts.lab.studies.claim import Claim

#: A measured and a predicted time that differ by more are far from each other [1].
FAR = 2.0

ON_CPU = "; a CPU's core runs its work-items one after the other: they hide no latency, and T and B_a mean nothing here"


def claims(
    found: Sequence[Configuration], cases: Iterable[Comparison], family: str, cpu: bool = False
) -> tuple[Claim, ...]:
    """Return all claims; `cases` are the predictions of the paper's `family` next to the measured times.

    Figures 2 to 5 and section V argue with work-items that hide latency, which work-items of a CPU do not.
    """
    measured: tuple[Claim, ...] = (
        line_claim(found), level_claim(found), sub_block_claim(found), groups_claim(found), memory_claim(found),
        outliers_claim(cases, family),
    )  # fmt: skip
    if cpu:
        measured = tuple(replace(one, found=one.found + ON_CPU, agrees=None) for one in measured)
    return *formula_claims(), *measured


def line_claim(found: Sequence[Configuration]) -> Claim:
    """Figure 2: the line of Eq. 15."""
    paper = "time is linear in sqrt(B_r)/T: 0.957 s sqrt(B_r)/T + 53.9 s with r squared 0.9916"
    own = automatic(found)
    x, times = [one.ratio for one in own], [one.seconds for one in own]
    if len(set(x)) < 3:
        return Claim("Fig. 2, Eq. 15", paper, _too_few(len(set(x)), "values of sqrt(B_r)/T", 3), None)
    line, bent = straight_line(x, times), bent_line(x, times)
    threads = sorted(one.threads for one in own)
    said = (
        f"{seconds_text(line.slope)} sqrt(B_r)/T + {seconds_text(line.intercept)} with r squared {line.r_squared:.4f} "
        f"over {len(x)} configurations of n={own[0].n}, T from {threads[0]:g} to {threads[-1]:g}; with a level below "
        f"a bend it is {bent.r_squared:.4f}"
    )
    agrees = any(one.slope > 0 and one.r_squared >= LINEAR for one in (line, bent))
    return Claim("Fig. 2, Eq. 15", paper, f"{said} ({LINEAR} counts as linear)", agrees)


def level_claim(found: Sequence[Configuration]) -> Claim:
    """Figures 2 and 3: the level where computing bounds the time."""
    paper = "where computing bounds it, time is flat: sub-blocks of 64, 32 and 16 come down to the same level"
    lowest = {size: min(one.seconds for one in curve) for size, curve in by_sub_block(found).items()}
    if len(lowest) < 2:
        return Claim("Figs. 2 and 3", paper, _too_few(len(lowest), "sub-block sizes", 2), None)
    large = {size: one for size, one in lowest.items() if size >= 16} or lowest
    spread = max(large.values()) / min(large.values())
    said = f"{', '.join(f'{size}: {seconds_text(one)}' for size, one in lowest.items())} at best, a factor of "
    said += f"{spread:.2f} over sub-blocks of {', '.join(map(str, large))} ({FLAT} counts as one level)"
    return Claim("Figs. 2 and 3", paper, said, spread <= FLAT if len(large) > 1 else None)


def sub_block_claim(found: Sequence[Configuration]) -> Claim:
    """Figure 3: larger sub-blocks flatten at a lower T."""
    paper = "larger sub-blocks flatten at a lower T: 64, 32 and 16 at T = 8, 16 and 32, each time at S_D T = 512"
    curves = {size: curve for size, curve in by_sub_block(found).items() if len(curve) > 1}
    fall = {size: curve[0].seconds / min(one.seconds for one in curve) for size, curve in curves.items()}
    if len(curves) < 2:
        return Claim("Fig. 3", paper, _too_few(len(curves), "sub-block sizes at several T", 2), None)
    flat = {size: flat_from(curve) for size, curve in curves.items()}
    words = (
        f"{size}: " + ("never" if flat[size] is None else f"from T = {flat[size]:g}") + f", fallen by {fall[size]:.2f}"
        for size in curves
    )
    said = f"flat (within {FLAT}) with sub-blocks of {'; '.join(words)}"
    if max(fall.values()) <= FLAT:
        return Claim("Fig. 3", paper, f"{said}: no curve falls, so more work-items hide nothing here", None)
    reached = [one for one in flat.values() if one is not None]
    falling = all(after <= before for before, after in pairwise(reached))
    agrees = len(reached) == len(flat) and falling and reached[-1] < reached[0]
    return Claim("Fig. 3", paper, said, agrees)


def groups_claim(found: Sequence[Configuration]) -> Claim:
    """Figure 4: time rises with the requested groups where T is small."""
    paper = "at one T, time rises with B_r; the curves of large T (16, 32) tend to the flat level"
    rises = {threads: curve[-1].seconds / curve[0].seconds for threads, curve in by_threads(found).items()}
    if len(rises) < 2:
        return Claim("Fig. 4", paper, _too_few(len(rises), "values of T at several B_r", 2), None)
    said = "from the fewest groups to the most, times rise by " + ", ".join(
        f"{rise:.2f} at T = {threads:g}" for threads, rise in rises.items()
    )
    low, high = rises[min(rises)], rises[max(rises)]
    said += f" (to agree: none falls by more than {FLAT}, the least T rises by more, and the largest by less than that)"
    return Claim("Fig. 4", paper, said, min(rises.values()) > 1 / FLAT and low > FLAT and high < low)


def memory_claim(found: Sequence[Configuration]) -> Claim:
    """Figure 5: asking for more local memory than is used."""
    paper = "asking for more local memory, so that B_a falls from 4 to 1, takes 108 s for 404 s (105 s are predicted)"
    every = asked_for_more(found)
    pairs = tuple(pair for pair in every if pair[0].active != pair[1].active) or every
    if not pairs:
        return Claim("Fig. 5", paper, _too_few(0, "pairs with and without extra local memory", 1), None)
    plain, more = pairs[0]
    said = (
        f"the greatest of {len(pairs)} changes is {seconds_text(plain.seconds)} to {seconds_text(more.seconds)}, a "
        f"factor of {plain.seconds / more.seconds:.2f}, with sub-blocks of {more.sub_block}, {more.items} work-items, "
        f"{bytes_text(more.local_bytes)} for {bytes_text(plain.local_bytes)}; B_a {plain.active:g} to {more.active:g}"
    )
    if all(one.active == other.active for one, other in pairs):
        said += ": local memory does not limit the groups in flight on this device, so it cannot act as in the paper"
        return Claim("Fig. 5", paper, said, None)
    return Claim("Fig. 5", paper, said, plain.seconds > FLAT * more.seconds)


def outliers_claim(cases: Iterable[Comparison], family: str) -> Claim:
    """Section V: a model finds configurations that run slower than they should."""
    paper = "the model finds a configuration that takes 3.8 times as long as predicted: 404 s for 105 s"
    known = [one for one in cases if one.predicted is not None and one.predicted > 0]
    if not known:
        return Claim("Section V", paper, f"{family} predicts none of the configurations", None)
    far = outliers_of(known, (-math.log(FAR), math.log(FAR)))
    slowest = max(known, key=lambda one: one.measured / (one.predicted or 1.0))
    slow = [one for one in far if one.predicted is not None and one.measured > one.predicted]
    said = (
        f"{family} mispredicts {len(far)} of {len(known)} cases by more than a factor of {FAR:g}, of which {len(slow)} "
        "are slower than predicted; the "
        f"slowest relative to its prediction is {slowest.form} {slowest.sizes}: {seconds_text(slowest.measured)} for "
        f"{seconds_text(slowest.predicted or 0.0)}"
    )
    if 2 * len(far) > len(known):
        said += "; with so many there is a group of outliers, not one"
    return Claim("Section V", paper, said, bool(slow) and 2 * len(far) <= len(known))


def _too_few(count: int, what: str, needed: int) -> str:
    return f"{count} {what} measured, at least {needed} are needed"
