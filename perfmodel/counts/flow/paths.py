"""Dependence paths and their costs. On a path, each operation of a work-item waits for the operation before.

A path has one amount for each (operation, loop nest), not a list of operations: a loop of n iterations adds n times the
same. Costs are integers or fractions, so that equally long paths compare equal wherever they begin.

The walk (:mod:`perfmodel.counts.flow.walk`) executes a loop body once for many iterations. The paths in the body then
start with a :class:`Prefix`: the operations before the body, which differ between iterations. :class:`Choices` records
each decision that depends on a prefix. The result is valid for all iterations that would decide the same.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from perfmodel.counts.flow.trips import LoopNest
from perfmodel.counts.program.program import OpKind

Term = tuple[OpKind, LoopNest]  # an operation, executed once in each iteration of a loop nest
Cost = float  # an int or a Fraction


class UnknownPrefixError(Exception):
    """Paths with different prefixes cannot be subtracted."""


@dataclass(frozen=True)
class Choices:
    """The decisions of a walk that depend on prefixes. A prefix is given by its number, and -1 means no prefix."""

    #: by (prefix of the longer path, prefix of the other path, strict): how much more the first prefix must cost for
    #: the same decision; `strict` is True if an equal cost would change the decision
    margins: dict[tuple[int, int, bool], Cost] = field(default_factory=dict)
    #: by (prefix, operation, amount after the prefix): whether the whole path contains the operation
    kept: dict[tuple[int, Term, int], bool] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Prefix:
    """The operations of a path before a loop body. The walk decides with the operations of one iteration."""

    number: int
    terms: Mapping[Term, int]
    cost: Cost
    choices: Choices

    def contains(self, term: Term, more: int) -> bool:
        """Return whether a path has an operation. The path has the operation ``more`` times after the prefix."""
        kept = self.choices.kept[self.number, term, more] = self.terms.get(term, 0) + more != 0
        return kept


class Path(NamedTuple):  # a tuple, because a walk makes tens of thousands
    """A chain of operations, and the total cost of these operations at large sizes. The prefix counts too."""

    terms: Mapping[Term, int]
    cost: Cost = 0
    prefix: Prefix | None = None

    def plus(self, terms: Iterable[tuple[Term, int]], cost: Cost) -> "Path":
        longer = dict(self.terms)
        for term, amount in terms:
            longer[term] = longer.get(term, 0) + amount
            if not longer[term]:
                del longer[term]
        return Path(longer, self.cost + cost, self.prefix)

    def since(self, earlier: "Path") -> Mapping[Term, int]:
        """Return the operations that were added since an earlier state of the path."""
        if self.prefix is not earlier.prefix:
            raise UnknownPrefixError
        if self.terms is earlier.terms:
            return {}
        before, prefix = earlier.terms, self.prefix
        terms = self.terms if prefix is None else {**self.terms, **before}
        added = ((term, self.terms.get(term, 0) - before.get(term, 0)) for term in terms)
        return {
            term: amount for term, amount in added
            if amount > 0 and (prefix is None or prefix.contains(term, self.terms.get(term, 0)))
        }

    def amount(self, term: Term) -> int:
        """Return how often the path has an operation. The prefix counts too."""
        return self.terms.get(term, 0) + (0 if self.prefix is None else self.prefix.terms.get(term, 0))

    @property
    def all_terms(self) -> Mapping[Term, int]:
        """The operations of the path. The prefix counts too."""
        if self.prefix is None:
            return self.terms
        return {term: self.amount(term) for term in {**self.prefix.terms, **self.terms}}


NO_PREFIX = Prefix(-1, {}, 0, Choices())
START = Path({})


def costlier(path: Path, other: Path, added: Cost = 0, added_to_other: Cost = 0) -> bool:
    """Return whether a path costs more than another path. A cost is added to each of the two first."""
    difference = path.cost + added - other.cost - added_to_other
    if path.prefix is not other.prefix:
        first, second = path.prefix or NO_PREFIX, other.prefix or NO_PREFIX
        chosen, left = (first, second) if difference > 0 else (second, first)
        margins, key = (path.prefix or second).choices.margins, (chosen.number, left.number, difference > 0)
        margin = chosen.cost - left.cost - abs(difference)
        margins[key] = max(margin, margins.get(key, margin))
    return difference > 0


def longer(left: Path, right: Path) -> Path:
    """Return the costlier path. If both cost the same, return ``left``."""
    return right if costlier(right, left) else left
