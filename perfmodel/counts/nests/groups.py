"""The statements of each nest, and what is made of their domains."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Sequence
from dataclasses import replace

import islpy as isl

from perfmodel.counts.flow.flow import Flow
from perfmodel.counts.nests.stretches import Surroundings, surroundings
from perfmodel.counts.program.places import statements_with_places
from perfmodel.counts.program.program import Domain, Statement

SET = isl.dim_type.set
Key = tuple[Surroundings, tuple[str, ...]]  #: what is around a nest, and the axes of its lanes


def statements_by_nest(flow: Flow) -> dict[Key, list[Statement]]:
    """Return the statements of each nest, in the order of the schedule.

    Raises
    ------
    PlacesUnknownError
        The kernel was stored before places were recorded.
    """
    program = flow.cardinalities.program
    places = surroundings(program.schedule, flow.dataflow.unrolled)
    found: dict[Key, list[Statement]] = defaultdict(list)
    for statement in statements_with_places(program):
        domain = statement.domain
        lanes = tuple(sorted(axis for axis in domain.axes if axis.startswith("l")))
        found[places[domain.launch, statement.place], lanes].append(statement)
    return dict(sorted(found.items(), key=lambda item: (item[0][0].launch, item[0][0].stretch)))


def rolled(domain: Domain, around: Surroundings) -> Domain:
    """Return a domain without the inames of loops that the generated code writes out inside of the innermost loop."""
    return without(domain, copied(domain, {*around.outer, *around.inner, *around.repeated}))


def copied(domain: Domain, loops: Container[str]) -> tuple[str, ...]:
    """Return the inames of loops that the generated code writes out."""
    inames = zip(domain.names, domain.axes, strict=True)
    return tuple(name for name, axis in inames if not axis and name not in loops)


def copies(domain: Domain, around: Surroundings) -> dict[str, int]:
    """Return the inames of loops that the generated code writes out, each with its number of values at most."""
    found = {}
    for name in copied(domain, {*around.outer, *around.inner}):
        place = domain.names.index(name)
        low, high = domain.points.dim_min_val(place), domain.points.dim_max_val(place)
        found[name] = high.to_python() - low.to_python() + 1 if low.is_int() and high.is_int() else 1
    return found


def without(domain: Domain, names: Container[str]) -> Domain:
    """Return the instances of a domain without some of its inames."""
    points = domain.points
    for k in reversed(range(len(domain.names))):
        if domain.names[k] in names:
            points = points.project_out(SET, k, 1)
    axes = tuple(axis for axis, name in zip(domain.axes, domain.names, strict=True) if name not in names)
    return replace(domain, points=points.coalesce(), axes=axes)


def union_of(domains: Sequence[Domain]) -> Domain:
    """Return the points in any of some domains of the same inames, or in the one of the most inames."""
    whole = max(domains, key=lambda domain: len(domain.names))
    for domain in domains:
        if domain.names == whole.names and domain is not whole and not domain.points.is_subset(whole.points):
            exact = domain.exact and whole.exact
            whole = replace(whole, points=whole.points.union(domain.points).coalesce(), exact=exact)
    return whole
