"""Sentences on a kernel's bounds: by work and depth, by benefits, and by roofs."""

import math

from perfmodel.analyses.balance import COMPUTE_BOUND, MEMORY_BOUND, NO_WORK, TOO_LITTLE_PARALLELISM, Balance
from perfmodel.analyses.benefits import Benefits
from perfmodel.analyses.descriptions import term_advice, term_label
from perfmodel.analyses.report_data import KernelTerms
from perfmodel.analyses.roofline import ABOVE, KernelPoint
from perfmodel.display import bytes_text, percent, rate_text, seconds_text
from perfmodel.models import Family
from perfmodel.quantities.hints import OF_COMPUTING, OF_MEMORY, OF_WAITING
from perfmodel.report.pictures import LOWEST

SUPPORTS = {COMPUTE_BOUND: OF_COMPUTING, MEMORY_BOUND: OF_MEMORY, TOO_LITTLE_PARALLELISM: OF_WAITING}
"""For each verdict of work and depth, the advice of a model that agrees with it."""
LEAST = 0.01  # smallest share of the time of a benefit that is shown
MEANS = {
    "itilp_s": "more independent instructions, or more sub-groups at once",
    "fp_s": "fewer instructions that are not floating-point arithmetic",
    "serial_s": "less serialised work (barriers, divergent branches, bank conflicts)",
    "memlp_s": "more memory requests at once",
}


def balance_text(balance: Balance) -> str:
    """Return what bounds a kernel by the work-depth model, as a sentence."""
    times = f"computing takes {seconds_text(balance.compute_s)}, moving data {seconds_text(balance.memory_s)}"
    if balance.verdict == NO_WORK:
        return "By work and depth: it computes nothing and moves nothing that costs time."
    if balance.verdict == COMPUTE_BOUND:
        return f"By work and depth: bound by computing ({times})."
    if balance.verdict == MEMORY_BOUND:
        moved = bytes_text(balance.transfers * balance.transfer_bytes)
        return f"By work and depth: bound by memory bandwidth ({moved} must move; {times})."
    if balance.holds:
        can, has = f"{balance.parallelism:.3g} operations can run at once on average", f"{balance.cores:.3g} lanes"
        return f"By work and depth: too little parallelism; {can}, and the device has {has} ({times})."
    can, would = f"{balance.memory_parallelism:.3g} transfers can be under way at once", f"{balance.hidden:.3g}"
    return f"By work and depth: too little parallelism; {can}, and {would} would hide the latency ({times})."


def rates_text(point: KernelPoint) -> str:
    """Return the rates that a kernel reaches in its time, and the share of the lowest roof.

    >>> rates_text(KernelPoint("axpy", "", "", 2e9, 12e9, 0.2, 0.125, "memory"))
    '10 GFLOP/s, 60 GB/s: 62.5 % of what the device allows, by its memory bandwidth'
    """
    rates = [rate_text(point.rate, "FLOP/s")] * bool(point.operations) + [rate_text(point.bytes_rate, "B/s")]
    if not math.isfinite(point.share):
        return f"{', '.join(rates)}; a roof that it needs is not known"
    if not point.bound_s:
        return ", ".join(rates)
    roof = f"{percent(point.share)} of what the device allows, by its {LOWEST[point.bound]}"
    return f"{', '.join(rates)}: {roof}{f' ({ABOVE})' if point.share > 1 else ''}"


def benefit_lines(benefits: Benefits) -> tuple[str, ...]:
    """Return upper bounds of the time that could be saved, as shares of this model's time, the largest first."""
    whole = benefits.seconds
    saved = sorted(((float(getattr(benefits, name)), means) for name, means in MEANS.items()), reverse=True)
    return tuple(
        f"{means[:1].upper()}{means[1:]}: saves at most {percent(seconds / whole)} of the time, by the model gpuperf."
        for seconds, means in saved
        if whole > 0 and seconds >= LEAST * whole
    )


def bound_texts(
    family: Family, kernel: KernelTerms, point: KernelPoint | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what bounds a kernel, and what to try. A work-depth verdict that contradicts the model is left out."""
    bounds, advice, balance = [], [], kernel.bounds.balance
    if kernel.terms:
        label, share = term_label(family, kernel.bound_by), percent(kernel.terms[0].share)
        bounds.append(f"By this model: its largest term is {label}, {share} of the predicted time.")
        advice.append(term_advice(family, kernel.bound_by))
    bounds += [f"Below the roofs: {rates_text(point)}."] if point is not None else []
    if balance is not None and (not any(advice) or advice[0] in SUPPORTS.get(balance.verdict, advice)):
        bounds.append(balance_text(balance))
    advice += benefit_lines(kernel.bounds.benefits) if kernel.bounds.benefits is not None else ()
    return tuple(bounds), tuple(filter(None, advice))


def benefits_text(benefits: Benefits) -> str:
    """Return what could be saved at most, as a sentence."""
    saved = "; ".join(f"{seconds_text(max(getattr(benefits, name), 0.0))} by {means}" for name, means in MEANS.items())
    hidden = f" ITILP_max is {benefits.most_itilp:.3g}: no latency must be hidden, so the first has no meaning."
    text = f"of {seconds_text(benefits.seconds)}, at most these times could be saved: {saved}."
    return text + hidden * (benefits.most_itilp <= 1)
