r"""The search of Kim et al. (2012), section 3.5.2: always the one change that gives the fastest code.

It begins with the baseline, the first value of each parameter. All configurations that change one parameter of it are
run. The fastest is the next code, and its change stays: of the parameters that remain, again each is changed alone. It
ends where none remains, and the best on the way is the result. The book: it "by no means guarantees" the optimum.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

Configuration = Mapping[str, Any]


def next_step(configurations: Sequence[Configuration], times: Mapping[int, float | None]) -> int | None:
    """Return the place of the configuration to run next; None where the search has ended.

    Parameters
    ----------
    configurations
        The values of the parameters of each; the first is the baseline.
    times
        The times of those that have run, by their places [s]; None of one that cannot run.

    Examples
    --------
    Of two changes the second is the better one, and then the first on top of it is run:

    >>> space = [{"a": 0, "b": 0}, {"a": 0, "b": 1}, {"a": 1, "b": 0}, {"a": 1, "b": 1}]
    >>> next_step(space, {0: 3.0}), next_step(space, {0: 3.0, 1: 2.0}), next_step(space, {0: 3.0, 1: 2.0, 2: 2.5})
    (1, 2, 3)
    >>> next_step(space, {0: 3.0, 1: 2.0, 2: 2.5, 3: 2.2}) is None
    True
    """
    here, left = 0, set(configurations[0])
    if here not in times:
        return here
    while True:
        steps = {place: changed for place, changed in _changes(configurations, here).items() if changed in left}
        waiting = next((place for place in steps if place not in times), None)
        if waiting is not None or not steps:
            return waiting
        here = min(steps, key=lambda place: math.inf if times[place] is None else times[place] or 0.0)
        if times[here] is None:
            return None
        left = left - {steps[here]}


def _changes(configurations: Sequence[Configuration], here: int) -> dict[int, str]:
    """Return the configurations that differ from one in a single parameter, with its name."""
    found = {}
    for place, one in enumerate(configurations):
        changed = [name for name, value in one.items() if value != configurations[here][name]]
        if len(changed) == 1:
            found[place] = changed[0]
    return found
