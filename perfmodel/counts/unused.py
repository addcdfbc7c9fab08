"""Warnings about statistics that no kernel uses, with the keys that may have been meant."""

import re
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from typing import NamedTuple

from perfmodel.errors import UnknownStatisticWarning

_NAME = re.compile(r"[A-Za-z_]\w*")


class Report(NamedTuple):
    """The statistics of one kernel."""

    unused: tuple[str, ...]  # the given statistics that a kernel does not use
    keys: tuple[str, ...]  # the keys that it has


_REPORTS: ContextVar[list[Report] | None] = ContextVar("_REPORTS", default=None)


def spaceless(key: str) -> str:
    """Return the key of a statistic without spaces. Spaces do not matter when keys are compared."""
    return key.replace(" ", "")


def unused(statistics: Collection[str], keys: Collection[str]) -> tuple[str, ...]:
    used = set(map(spaceless, keys))
    return tuple(key for key in statistics if spaceless(key) not in used)


def report(*found: Report) -> None:
    """Warn of statistics that no kernel uses. A block of :func:`statistics_of_variants` warns at its end."""
    collected = _REPORTS.get()
    if collected is not None:
        collected.extend(found)
        return
    keys = tuple(dict.fromkeys(key for each in found for key in each.keys))
    for key in found[-1].unused if found else ():
        if all(key in each.unused for each in found):
            known = f"the keys are {', '.join(map(repr, keys))}" if keys else "nothing depends on data"
            text = f"statistics[{key!r}] is not used: {known}; {_advice(key, keys)}"
            warnings.warn(text, UnknownStatisticWarning, stacklevel=3)


def _advice(key: str, keys: Collection[str]) -> str:
    names = {*_NAME.findall(key)}
    near = [other for other in keys if names.intersection(_NAME.findall(other))]
    near += get_close_matches(key, keys)
    return f"did you mean {' or '.join(map(repr, dict.fromkeys(near)))}?" if near else "leave it out"


@contextmanager
def reports() -> Iterator[list[Report]]:
    """Collect the reports of all kernels in a block."""
    collected: list[Report] = []
    token = _REPORTS.set(collected)
    try:
        yield collected
    finally:
        _REPORTS.reset(token)


@contextmanager
def statistics_of_variants() -> Iterator[None]:
    """At the end of a block, warn of each statistic that no kernel of the block uses."""
    collected: list[Report] = []
    try:
        with reports() as collected:
            yield
    finally:
        report(*collected)
