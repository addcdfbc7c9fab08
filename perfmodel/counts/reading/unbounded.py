"""Loops without an end, which are refused before anything is counted."""

from __future__ import annotations

from collections.abc import Iterable

import islpy as isl

from perfmodel.errors import UnboundedLoopError

SET = isl.dim_type.set


def refuse_unbounded(domains: Iterable[isl.BasicSet]) -> None:
    """Raise unless every loop domain has finitely many points for each value of its parameters.

    Parameters
    ----------
    domains : iterable of islpy.BasicSet
        As a Loopy kernel has them: loops around a domain's own are parameters of it.

    Raises
    ------
    UnboundedLoopError
        A loop variable can become as large, or as negative, as one likes.

    Examples
    --------
    >>> refuse_unbounded([isl.BasicSet("[n] -> { [i, j] : 0 <= i and i + j <= n and j >= 0 }")])
    >>> refuse_unbounded([isl.BasicSet("[n] -> { [i, j] : 0 <= i < n and j <= i }")])
    Traceback (most recent call last):
        ...
    perfmodel.errors.UnboundedLoopError: cannot count the loop over j: its domain \
[n] -> { [i, j] : 0 <= i < n and j <= i } has no bound; \
give j a lower and an upper bound, such as 0 <= j < n.
    """
    for domain in domains:
        if not domain.is_bounded():
            names = domain.get_var_names(SET)
            raise UnboundedLoopError(
                tuple(name for k, name in enumerate(names) if not _is_bounded(domain, k)),
                str(domain),
            )


def _is_bounded(domain: isl.BasicSet, position: int) -> bool:
    behind = domain.dim(SET) - position - 1
    line = domain.project_out(SET, position + 1, behind).project_out(SET, 0, position)
    return bool(line.is_bounded())
