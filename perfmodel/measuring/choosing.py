"""A campaign that measures only some of its configurations, chosen by what was measured before."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from perfmodel.measuring.order import Configuration
from perfmodel.measuring.session import Session
from perfmodel.measuring.subject import FailedError

if TYPE_CHECKING:
    from perfmodel.counts import KernelCounts


@dataclass(frozen=True, eq=False)
class Planned:
    """A configuration, as the chooser sees it.

    Parameters
    ----------
    kernel : str
        Its class.
    variant, parameters : mapping
        What changes its code, and its sizes.
    counts : KernelCounts
        Its counts.
    seconds : float
        Time of one run when the sizes were chosen [s].
    """

    kernel: str
    variant: Mapping[str, Any]
    parameters: Mapping[str, int]
    counts: KernelCounts
    seconds: float


#: From times so far [s] (NaN: not measured, infinity: failed) to the positions of the next ones.
Next: TypeAlias = Callable[[npt.NDArray[np.float64]], Sequence[int]]
#: Takes all configurations once, and returns the function that chooses each next batch.
Chooser: TypeAlias = Callable[[Sequence[Planned]], Next]


def measure_chosen(session: Session, order: Sequence[Configuration], choose: Chooser) -> list[Configuration]:
    """Measure what is chosen; return those for which the budget does not suffice.

    Each batch is visited once, so that the next can be chosen; the further visits follow at the end.
    """
    known = [(c, counts) for c in order if (counts := _counts(session, c)) is not None]
    choose_next = choose([_planned(c, counts) for c, counts in known])
    while batch := choose_next(_times(session, [c for c, _ in known])):
        chosen = {known[i][0].key for i in batch}
        session.visit(order, [c for c in order if c.key in chosen])
        if left_out := [c for c in order if c.key in chosen - session.rows.keys()]:
            return left_out
    return session.measure(order, session.rows.keys())


def _planned(configuration: Configuration, counts: KernelCounts) -> Planned:
    subject = configuration.subject
    return Planned(
        subject.kernel.name, subject.variant, configuration.parameters, counts, configuration.seconds
    )


def _counts(session: Session, configuration: Configuration) -> KernelCounts | None:
    """Counts of a configuration; None if it cannot be counted, and then it is not chosen."""
    try:
        return session.timekeeper.count(configuration.subject)
    except FailedError:
        return None


def _times(session: Session, configurations: Sequence[Configuration]) -> npt.NDArray[np.float64]:
    times = np.full(len(configurations), np.nan)
    for place, configuration in enumerate(configurations):
        if row := session.rows.get(configuration.key):
            times[place] = row.seconds if row.status == "ok" else np.inf
    return times
