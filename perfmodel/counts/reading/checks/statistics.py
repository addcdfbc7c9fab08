"""Whether statistics are about something that a kernel has."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import loopy as lp

_ARRAY = re.compile(r"([A-Za-z_]\w*)\s*\[")


def unknown_statistics(
    t_unit: lp.TranslationUnit, scheduled: Callable[[], lp.TranslationUnit], keys: Iterable[str]
) -> tuple[str, ...]:
    """Return the keys of statistics that name a loop, a variable or an array that the kernel does not have.

    ``scheduled`` is called only where the kernel itself does not have a name: scheduling makes loops of its own.
    """
    unknown = _without(t_unit, keys)
    return _without(scheduled(), unknown) if unknown else ()


def _without(t_unit: lp.TranslationUnit, keys: Iterable[str]) -> tuple[str, ...]:
    known: set[str] = set()
    for entry in t_unit.entrypoints:
        kernel = t_unit[entry]
        known |= {*kernel.all_inames(), *kernel.arg_dict, *kernel.temporary_variables, *kernel.substitutions}
    return tuple(key for key in keys if not ({key} if key.isidentifier() else set(_ARRAY.findall(key))) <= known)
