"""What bounds a kernel, in words (:mod:`perfmodel.analyses.balance`)."""

from __future__ import annotations

from perfmodel.analyses.balance import COMPUTE_BOUND, MEMORY_BOUND, NO_WORK, Balance
from perfmodel.report.tables import seconds_text


def balance_text(found: Balance) -> str:
    """Return what bounds a computation, with its numbers, as a sentence."""
    if found.verdict == NO_WORK:
        return f"{NO_WORK}: it computes nothing and moves nothing that costs time."
    sign = ">=" if found.holds else "<"
    limits = (
        f"{found.intensity:.3g} operations and loads a byte, where this device balances at {found.machine:.3g} "
        f"(Eq. 2.5) and with latency and depth T_comp = {seconds_text(found.compute_s)} {sign} "
        f"T_mem = {seconds_text(found.memory_s)} (Eq. 2.4 {'holds' if found.holds else 'fails'})"
    )
    return f"{found.verdict}: {_reason(found)}; {limits}."


def _reason(found: Balance) -> str:
    if found.verdict == COMPUTE_BOUND:
        return (
            f"{found.work:.3g} operations and loads on {found.cores:.3g} lanes take {seconds_text(found.work_s)}, "
            f"and W/D = {found.parallelism:.3g} of them can be performed at once"
        )
    if found.verdict == MEMORY_BOUND:
        moved = found.transfers * found.transfer_bytes
        return (
            f"{moved:.3g} B at {found.bandwidth:.3g} B/s take {seconds_text(found.transfer_s)}, "
            f"and Q/D = {found.memory_parallelism:.3g} transfers can be under way at once"
        )
    if found.holds:
        return (
            f"a chain of {found.depth:.3g} operations and loads takes {seconds_text(found.depth_s)}; only "
            f"W/D = {found.parallelism:.3g} can be performed at once, on {found.cores:.3g} lanes"
        )
    return (
        f"waiting for {found.depth:.3g} operations and loads one after the other takes "
        f"{seconds_text(found.latency_s)}; only Q/D = {found.memory_parallelism:.3g} transfers can be under way at "
        f"once, {found.hidden:.3g} would hide the latency"
    )
