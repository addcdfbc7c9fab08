"""What bounds a kernel and what to try, in words: the balance of Kim et al. (2012), its benefits, and the roofs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from perfmodel.analyses.balance import COMPUTE_BOUND, MEMORY_BOUND, NO_WORK
from perfmodel.display import bytes_text, percent, rate_text, seconds_text
from perfmodel.report.html.scatter_figures import LOWEST

if TYPE_CHECKING:
    from perfmodel.analyses.balance import Balance
    from perfmodel.analyses.benefits import Benefits
    from perfmodel.analyses.roofline import KernelPoint

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
