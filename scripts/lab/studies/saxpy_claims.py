"""What Wang and Lou (2017) claim of saxpy next to what was measured, and what their formulas give for their card."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import median

from perfmodel.display import percent, seconds_text
from scripts.lab.studies.claim import Claim
from scripts.lab.studies.saxpy import CACHED, PLAIN, Point
from scripts.lab.studies.wang_lou import (
    FEW,
    ISSUES,
    LATENCIES,
    MOST,
    STRIDES,
    cache_effects,
    issue_where_computing_exceeds,
    readings_apart,
    saxpy_cycles,
    titan_x,
)  # fmt: skip

#: The paper's error with the cache [1]; so much, it says, is good.
GOOD = 0.08
#: Sub-groups for each compute unit up to which they are few here, and from which on they are many.
AT_MOST, AT_LEAST = 16, 64
#: Ratios of times are alike up to this factor [1].
ALIKE = 1.25


#: Why figures 4 to 8 cannot be shown on a CPU.
NO_WARPS = ". A CPU has no warps that hide each other's latency: a core runs one work-group at a time"


def on_a_cpu(claim: Claim) -> Claim:
    """Return a claim about active warps as a CPU shows it: with its numbers, and without a verdict."""
    return replace(claim, found=claim.found + NO_WARPS, agrees=None)


def coalesced_claim(points: Iterable[Point], families: Sequence[str]) -> Claim:
    """With a stride of 1 the model performs well."""
    own = [one for one in points if one.stride == 1]
    source, paper = "Section 4.1, figure 4", "the model performs quite well when memory is coalesced"
    known = _errors(own, families)
    if CACHED not in known:
        return Claim(source, paper, f"no launch with a stride of 1 was predicted by `{CACHED}`", None)
    return Claim(source, paper, f"{len(own)} launches; median error: {_words(known)}", known[CACHED] <= GOOD)


def few_claim(points: Iterable[Point], launch_s: float = 0.0) -> Claim:
    """With few warps both settings are good; `launch_s` is what the model with the cache charges for a launch [s]."""
    few = [one for one in points if one.warps <= AT_MOST and one.stride > 1]
    source, paper = "Section 4.2, uncoalesced", "with few active warps for each multiprocessor both settings are good"
    if not (known := _errors(few, (PLAIN, CACHED))):
        return Claim(source, paper, f"no launch of at most {AT_MOST} sub-groups for each unit was predicted", None)
    took = median(one.measured for one in few)
    found = (
        f"{len(few)} launches of at most {AT_MOST} sub-groups for each unit, {seconds_text(took)} each in the median "
        f"(of which the model takes {percent(launch_s / took)} for the launch itself); median error: {_words(known)}"
    )
    return Claim(source, paper, found, max(known.values()) <= GOOD)


def many_claim(points: Iterable[Point], families: Sequence[str]) -> Claim:
    """With many warps the error without the cache is considerable, and with it the prediction is still good."""
    many = [one for one in points if one.warps >= AT_LEAST and one.stride > 1]
    source = "Section 4.2, uncoalesced"
    paper = "with many warps the model is good with the L2 cache, considerably wrong without"
    known = _errors(many, families)
    if not {PLAIN, CACHED} <= known.keys():
        return Claim(source, paper, f"no launch of at least {AT_LEAST} sub-groups for each unit was predicted", None)
    found = f"{len(many)} launches of at least {AT_LEAST} sub-groups for each unit; median error: {_words(known)}"
    return Claim(source, paper, found, known[CACHED] <= GOOD < known[PLAIN])


def within_claim(points: Iterable[Point], families: Sequence[str]) -> Claim:
    """The error with the cache is within 8 %."""
    source, paper = "Abstract", "with the L2 cache the error is within 8 %, better than with global memory only"
    known = {name: [one.error(name) for one in points if name in one.predicted] for name in families}
    if not known.get(CACHED):
        return Claim(source, paper, f"no launch was predicted by `{CACHED}`", None)
    words = (
        f"`{name}` {sum(e <= GOOD for e in errors)} of {len(errors)}, the largest error {percent(max(errors))}"
        for name, errors in known.items()
        if errors
    )
    return Claim(source, paper, f"within {GOOD:.0%}: {'; '.join(words)}", max(known[CACHED]) <= GOOD)


def stride_claim(points: Sequence[Point], families: Sequence[str]) -> Claim:
    """Transactions grow with the stride: what that does to the time of the largest launch."""
    source, paper = "Section 3.2", "a warp's load at a stride of s takes s transactions, which the model counts"
    strides = sorted({one.stride for one in points})
    shared = [{one.groups for one in points if one.stride == s} for s in strides]
    common = set.intersection(*shared) if shared else set()
    if len(strides) < 2 or not common:
        found = "no two strides were measured at the same number of work-groups"
        return Claim(source, paper, found, None, measured=False)
    low, high = (
        next(one for one in points if (one.stride, one.groups) == (s, max(common))) for s in (strides[0], strides[-1])
    )
    measured = high.measured / low.measured
    predicted = {
        name: high.predicted[name] / low.predicted[name]
        for name in families
        if name in low.predicted and name in high.predicted
    }
    card = titan_x(LATENCIES[1], ISSUES[0])
    printed = saxpy_cycles(card, high.stride, MOST) / saxpy_cycles(card, low.stride, MOST)
    lines = (high.stride + 2) / (low.stride + 2)
    found = (
        f"with {max(common):g} work-groups a stride of {high.stride} takes {measured:.2g} times as long as one of "
        f"{low.stride}; predicted: {', '.join(f'`{name}` {ratio:.2g}' for name, ratio in predicted.items())}. With the "
        f"numbers of the paper's card the formulas give {printed:.2f} at {MOST} warps, although {lines:.2g} times the "
        "blocks are moved: Eq. 7 counts 128 bytes for a warp at every stride"
    )
    follows = printed >= lines / ALIKE
    return Claim(source, paper, found, follows, not follows, measured=False)


def card_claim() -> Claim:
    """The two settings on the paper's card: equal with few warps, different with many."""
    few, most = cache_effects(ISSUES[:1], FEW), cache_effects(ISSUES[:1], MOST)
    found = (
        f"by the formulas with the facts of the TITAN X, memory latencies of {LATENCIES[0]:g} to {LATENCIES[-1]:g} "
        f"cycles (the paper prints none) and 1 cycle to issue: without the cache saxpy takes {min(few):.2f} to "
        f"{max(few):.2f} times as long as with it at {FEW} warps, {min(most):.2f} to {max(most):.2f} at {MOST}, "
        "for all strides. What the card itself took is only in the figures"
    )
    paper = "on a TITAN X the two settings agree with few warps; with more, memory alone is considerably wrong"
    return Claim("Section 4.2, figures 4 to 8", paper, found, max(few) < 1 + GOOD < min(most), measured=False)


def reading_claim() -> Claim:
    """Which reading of where computation dominates the paper's own saxpy supports."""
    others = ISSUES[1:]
    printed, read = cache_effects(others, MOST), cache_effects(others, MOST, all_warps=True)
    found = (
        f"saxpy cannot decide this: Comp exceeds Mem only above {issue_where_computing_exceeds(LATENCIES[0]):g} cycles "
        f"for an instruction. With 1 cycle the times of the readings differ by a factor of at most "
        f"{readings_apart(ISSUES[:1]):.2f}, at strides of {_list(STRIDES)} and up to {MOST} warps. With "
        f"{' or '.join(f'{one:g}' for one in others)} cycles CWP is below MWP at many warps, and they differ by up to "
        f"{readings_apart(others):.1f}; there the cache saves a factor of {min(printed):.1f} to {max(printed):.1f} at "
        f"{MOST} warps by Eq. 22 as printed, and of at most {max(read):.2f} by section 2.2, "
        "which does not go with section 4.2"
    )
    paper = (
        "Eq. 21 holds where CWP >= MWP or Comp > Mem, and in Eq. 22 warps compute only before their first access; by "
        "section 2.2 all warps compute where CWP is below MWP"
    )
    return Claim("Eq. 21 and 22, section 2.2", paper, found, None, slip=True, measured=False)


def _errors(points: Sequence[Point], families: Iterable[str]) -> dict[str, float]:
    """Return the median error of each family that predicts some of the points."""
    found = {name: [one.error(name) for one in points if name in one.predicted] for name in families}
    return {name: median(errors) for name, errors in found.items() if errors}


def _words(errors: Mapping[str, float]) -> str:
    return ", ".join(f"`{name}` {percent(error)}" for name, error in errors.items())


def _list(values: Sequence[float]) -> str:
    return ", ".join(f"{one:g}" for one in values)
