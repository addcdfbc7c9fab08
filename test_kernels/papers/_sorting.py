"""Text of Loopy kernels that sort: merge path, and compare-exchange networks, as in Karsin (2018), chapter 7.

Instructions run in textual order (``seq_dependencies``), and loops are inames of the kernel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import loopy as lp
import numpy as np

SEARCH = """
    {m} = {d} - {rights}
    {m} = {m} if {m} > 0 else 0
    {m}_most = {d} if {d} < {lefts} else {lefts}
    for {step}
        {m}_middle = ({m} + {m}_most) // 2
        {m}_after = {m}_middle + 1
        {m}_more = {left} <= {right} and {m}_middle < {m}_most
        {m}_most = {m}_most if {m}_more else {m}_middle
        {m} = {m}_after if {m}_more else {m}
    end
"""
"""Finds how many of the first ``d`` elements of a merge come from the left run; the runs have ``lefts`` and ``rights``.

It halves the range from ``m`` to ``m_most`` that holds the number; a range of a single number stays. ``left`` and
``right`` are the elements that it compares.
"""

MERGE = """
    i = m
    j = {lefts} + {d} - m
    left_key = {at_i}
    right_key = {at_j}
    for e
        left = 1 if j >= {end} or (i < {lefts} and left_key <= right_key) else 0
        {result} = left_key if left > 0 else right_key
        i = i + left
        j = j + 1 - left
        key = {at_next}
        left_key = key if left > 0 else left_key
        right_key = right_key if left > 0 else key
    end
"""
"""Merges from place ``d`` on; ``m`` of the elements before it are from the left run, and ``end`` ends the right run.

After it stores an element it reads the next element of the same run.
"""

INTEGERS = ("d", "m", "m_most", "m_middle", "m_after", "i", "j", "left")
KEYS = ("left_key", "right_key", "key")
MERGING: Mapping[str, Any] = {
    **dict.fromkeys(INTEGERS, np.int32), "m_more": np.int8, **dict.fromkeys(KEYS, np.float32),
}  # fmt: skip
"""Variables of SEARCH and MERGE, with their types; ``m_more`` is a truth value."""

EXCHANGE = """
    low = {array}[{first}]
    high = {array}[{second}]
    {array}[{first}] = fmin(low, high)
    {array}[{second}] = fmax(low, high)
"""
"""Puts the smaller of two elements first."""
EXCHANGED: Mapping[str, Any] = dict.fromkeys(("low", "high"), np.float32)
"""Variables of EXCHANGE, with their types."""


def sorting_kernel(
    name: str, domains: str | Sequence[str], text: str, arguments: Sequence[Any], variables: Mapping[str, Any],
    arrays: Sequence[Any], assumptions: str, silenced: Sequence[str] = (),
) -> lp.TranslationUnit:
    """Make a kernel of these texts, with instructions in textual order, types of variables, and temporary arrays."""
    return lp.make_kernel(
        domains, text,
        [*arguments, *(lp.TemporaryVariable(key, dtype, shape=()) for key, dtype in variables.items()), *arrays],
        assumptions=assumptions, name=name, seq_dependencies=True, lang_version=(2018, 2),
        silenced_warnings=[*silenced, "v1_scheduler_fallback"],
    )  # fmt: skip


def rows_in_order(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    """The output of a kernel that sorts or merges the rows of ``a``."""
    return {"out": np.sort(arguments["a"], axis=1)}


def odd_even(array: str, phase: str, pair: str) -> str:
    """Return an odd-even network: its phases exchange neighbours, by turns from the first or second element on."""
    first = f"2*{pair} + {phase} % 2"
    return f"for {phase}, {pair}\n{EXCHANGE.format(array=array, first=first, second=f'{first} + 1')}end\n"


def bitonic_sort(array: str, stage: str, step: str, pair: str) -> str:
    """Return Batcher's bitonic network, all of whose comparators put the smaller element first.

    In each stage runs of 2^stage elements become runs of twice as many: the first step compares a run with its
    neighbour's mirror image, and step s elements at distance 2^(stage - s). The kernel's domain has
    ``0 <= step <= stage``, and n/2 pairs of n elements.
    """
    return f"""
    for {stage}, {step}
        apart = {stage} - {step}
        apart = 1 << apart
        for {pair}
            first = 2*apart*({pair} // apart) + {pair} % apart
            second = first + (2*apart - 1 - 2*({pair} % apart) if {step} == 0 else apart)
            {EXCHANGE.format(array=array, first="first", second="second")}
        end
    end
    """


def bitonic_merge(array: str, lane: str, width: int) -> str:
    """Return the network that merges two runs of `width` elements in one array, a pair for each of `width` lanes.

    The runs are adjacent, the second one in reverse. Distances are constants, so that the cells of each step are known.
    """
    steps, distance = [], width
    while distance:
        first = f"{2 * distance}*({lane} // {distance}) + {lane} % {distance}" if distance < width else lane
        steps.append(EXCHANGE.format(array=array, first=first, second=f"{first} + {distance}"))
        distance //= 2
    return "".join(steps)
