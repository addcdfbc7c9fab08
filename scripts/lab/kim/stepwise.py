"""The search of Kim et al. (2012), section 3.5.2: always the one change that gives the fastest code.

The baseline has the first value of each parameter. All configurations that differ from it in one parameter run. The
fastest is the next baseline, and the parameter that it changed stays fixed. The search ends when no parameter is left;
the fastest variant on the way is the result. The book says that it "by no means guarantees" the optimum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Configuration = Mapping[str, Any]


def next_step(configurations: Sequence[Configuration], times: Mapping[int, float | None]) -> int | None:
    """Return the position of the configuration to run next; None when the search has ended.

    Parameters
    ----------
    configurations
        The values of the parameters of each; the first is the baseline.
    times
        The times of those that have run, by their positions [s]; None for one that cannot run.

    Examples
    --------
    The second of two changes is faster, so the first change is tried together with it:

    >>> space = [{"a": 0, "b": 0}, {"a": 0, "b": 1}, {"a": 1, "b": 0}, {"a": 1, "b": 1}]
    >>> next_step(space, {0: 3.0}), next_step(space, {0: 3.0, 1: 2.0}), next_step(space, {0: 3.0, 1: 2.0, 2: 2.5})
    (1, 2, 3)
    >>> next_step(space, {0: 3.0, 1: 2.0, 2: 2.5, 3: 2.2}) is None
    True
    """
    baseline, left = 0, set(configurations[0])
    if baseline not in times:
        return baseline
    while True:
        steps = {k: changed for k, changed in _changes(configurations, baseline).items() if changed in left}
        waiting = next((k for k in steps if k not in times), None)
        if waiting is not None or not steps:
            return waiting
        baseline = min(steps, key=lambda k: math.inf if times[k] is None else times[k] or 0.0)
        if times[baseline] is None:
            return None
        left = left - {steps[baseline]}


def search(
    configurations: Sequence[Configuration], names: Sequence[str], time: Callable[[str], float | None]
) -> dict[str, float | None]:
    """Time variants until the search ends; return their times by name, in the order in which they ran [s].

    Examples
    --------
    >>> times = {"a": 3.0, "b": 2.0, "c": 2.5, "d": 2.2}
    >>> space = [{"x": 0, "y": 0}, {"x": 0, "y": 1}, {"x": 1, "y": 0}, {"x": 1, "y": 1}]
    >>> search(space, list(times), times.get)
    {'a': 3.0, 'b': 2.0, 'c': 2.5, 'd': 2.2}
    """
    times: dict[int, float | None] = {}
    while (k := next_step(configurations, times)) is not None:
        times[k] = time(names[k])
    return {names[k]: seconds for k, seconds in times.items()}


def _changes(configurations: Sequence[Configuration], baseline: int) -> dict[int, str]:
    """Return the positions of the configurations that differ from one in a single parameter, with its name."""
    found = {}
    for k, configuration in enumerate(configurations):
        changed = [name for name, value in configuration.items() if value != configurations[baseline][name]]
        if len(changed) == 1:
            found[k] = changed[0]
    return found
