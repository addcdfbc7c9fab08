"""Upper bounds for the arms of branches, if the probabilities of their tests are not known.

An *arm* is code under unknown tests, and an instance takes one arm of a branch. Let w_a be the number of operations of
one kind in arm a. Over all truth values t of the unknown tests, an instance executes between ``least`` and ``most``:

    most = max_t sum_a w_a [t takes arm a],    least = min_t sum_a w_a [t takes arm a]

A maximum of counts need not be a quasi-polynomial. So only arms with the same instances are compared. Each such arm
gets the share most / (sum_a w_a) of its executions. The bound is exact if least = most.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import repeat
from typing import Any, NamedTuple

import pymbolic.primitives as p

from perfmodel.counts.program.program import Domain
from perfmodel.counts.reading.values import Condition
from perfmodel.values import grouped

STEPS = 2000  # truth values to try; beyond this number all remaining arms count


class Arm(NamedTuple):
    """Code under unknown tests. Equal tests have equal values."""

    domain: Domain
    tests: tuple[Condition, ...]


def shares(weights: Mapping[Arm, Fraction]) -> dict[Arm, tuple[Fraction, bool]]:
    """Return the share of each arm's executions to count, and whether this share is exact."""
    found: dict[Arm, tuple[Fraction, bool]] = {}
    for arms in grouped(((arm.domain.launch, str(arm.domain.points)), arm) for arm in weights).values():
        for part in _connected(arms, {}):
            total = sum(weights[arm] for arm in part)
            least, most = _extremes(part, weights, {}, repeat(None, STEPS))
            found.update(dict.fromkeys(part, (most / total if total else Fraction(1), least == most)))
    return found


def with_share(domain: Domain, share: Fraction, exact: bool, doubts: Sequence[str]) -> Domain:
    """Return a domain with the share to count. If the share is exact, remove ``doubts`` from the reasons."""
    reasons = tuple(reason for reason in domain.reasons if not exact or reason not in doubts)
    return replace(domain, chance=domain.chance * share, exact=not reasons, reasons=reasons)


def _extremes(
    arms: Sequence[Arm], weights: Mapping[Arm, Fraction], known: Mapping[Any, bool], steps: Iterator[None]
) -> tuple[Fraction, Fraction]:
    """Return the least and the most executions of some arms together. The truth of some tests is known."""
    least = most = Fraction(0)
    undecided = []
    for arm in arms:
        holds = {_truth(test, known) if truth else _negated(_truth(test, known)) for test, truth in arm.tests}
        if holds <= {True}:
            least, most = least + weights[arm], most + weights[arm]
        elif False not in holds:
            undecided.append(arm)
    for part in _connected(undecided, known):
        if next(steps, False) is False:
            most += sum(weights[arm] for arm in part)
            continue
        test = next(_leaves(part[0], known))
        ends = [_extremes(part, weights, {**known, test: truth}, steps) for truth in (True, False)]
        least, most = least + min(low for low, _ in ends), most + max(high for _, high in ends)
    return least, most


def _connected(arms: Sequence[Arm], known: Mapping[Any, bool]) -> list[list[Arm]]:
    """Return arms in groups. Arms of different groups share no unknown test."""
    groups: list[tuple[set[Any], list[Arm]]] = []
    for arm in arms:
        tests, members = {*_leaves(arm, known)}, [arm]
        for group in [group for group in groups if group[0] & tests]:
            groups.remove(group)
            tests, members = tests | group[0], group[1] + members
        groups.append((tests, members))
    return [members for _, members in groups]


def _leaves(arm: Arm, known: Mapping[Any, bool]) -> Iterator[Any]:
    tests = [test for test, _ in arm.tests]
    while tests:
        test = tests.pop(0)
        if isinstance(test, (p.LogicalNot, p.LogicalAnd, p.LogicalOr)):
            tests[:0] = [test.child] if isinstance(test, p.LogicalNot) else test.children
        elif test not in known:
            yield test


def _truth(test: Any, known: Mapping[Any, bool]) -> bool | None:
    if isinstance(test, p.LogicalNot):
        return _negated(_truth(test.child, known))
    if isinstance(test, (p.LogicalAnd, p.LogicalOr)):
        values, decisive = {_truth(child, known) for child in test.children}, isinstance(test, p.LogicalOr)
        return decisive if decisive in values else None if None in values else not decisive
    return known.get(test)


def _negated(truth: bool | None) -> bool | None:
    return None if truth is None else not truth
