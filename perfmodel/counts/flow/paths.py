"""Paths: acts that wait for one another, which one costs more, and what that rests on where a begin is not known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from perfmodel.counts.flow.trips import LoopNest
from perfmodel.counts.program.program import Act

Term = tuple[Act, LoopNest]  # an act, executed in each run of a nest's body
Cost = float  # an int, or a Fraction: exact, so that paths that cost the same tie wherever they begin


class UnknownBeginError(Exception):
    """The acts of two paths of which only the ends are known cannot be compared."""


@dataclass(frozen=True)
class Choices:
    """What a walk from unknown begins chose, in dependence of what the begins are; these are given by their numbers.

    Attributes
    ----------
    margins : dict
        By the begin of the path that was chosen as the longer one, that of the other path, and whether it was longer or
        as long: by how much the first begin has to cost more, at least or more than that. A known begin is -1.
    kept : dict
        By a begin, an act, and how often a path has it more than its begin: whether the path has the act at all.
    """

    margins: dict[tuple[int, int, bool], Cost] = field(default_factory=dict)
    kept: dict[tuple[int, Term, int], bool] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Begin:
    """The unknown begin of paths, where a loop's body is walked for all of its iterations that do alike.

    The walk takes it to have the terms and the cost that it has in one iteration, and notes for which others it would
    choose the same.
    """

    number: int
    terms: Mapping[Term, int]
    cost: Cost
    choices: Choices

    def has(self, term: Term, more: int) -> bool:
        """Whether a path has an act that it has so much more often than its begin."""
        kept = self.terms.get(term, 0) + more != 0
        self.choices.kept[self.number, term, more] = kept
        return kept


class Path(NamedTuple):  # a walk makes tens of thousands, and of values
    """Acts that wait for one another, and their total cost at large sizes.

    Of a path with an unknown begin the terms are those after it.
    """

    terms: Mapping[Term, int]
    cost: Cost = 0
    begin: Begin | None = None

    def plus(self, terms: Iterable[tuple[Term, int]], cost: Cost) -> Path:
        """Return the path with more acts at its end."""
        longer = dict(self.terms)
        for term, amount in terms:
            longer[term] = longer.get(term, 0) + amount
            if not longer[term]:
                del longer[term]
        return Path(longer, self.cost + cost, self.begin)

    def since(self, earlier: Path) -> Mapping[Term, int]:
        """Return the acts that were added since an earlier state of the path."""
        if self.begin is not earlier.begin:
            raise UnknownBeginError
        if self.terms is earlier.terms:
            return {}
        before, begin = earlier.terms, self.begin
        if begin is None:
            return {
                term: amount - before.get(term, 0) for term, amount in self.terms.items()
                if amount > before.get(term, 0)
            }
        grown = {term: self.terms.get(term, 0) - before.get(term, 0) for term in {**self.terms, **before}}
        return {
            term: amount for term, amount in grown.items()
            if amount > 0 and begin.has(term, self.terms.get(term, 0))
        }

    def amount(self, term: Term) -> int:
        """Return how often the path has an act, with those that its begin is taken to have."""
        return self.terms.get(term, 0) + (0 if self.begin is None else self.begin.terms.get(term, 0))

    @property
    def all_terms(self) -> Mapping[Term, int]:
        """The acts of the path, with those that its begin is taken to have."""
        if self.begin is None:
            return self.terms
        return {term: self.amount(term) for term in {**self.begin.terms, **self.terms}}


NO_BEGIN = Begin(-1, {}, 0, Choices())
START = Path({})


def costlier(path: Path, other: Path, added: Cost = 0, added_to_other: Cost = 0) -> bool:
    """Whether a path costs more than another one, after something is added to both."""
    difference = path.cost + added - other.cost - added_to_other
    if path.begin is not other.begin:
        _note_margin(path.begin, other.begin, difference)
    return difference > 0


def _note_margin(begin: Begin | None, other: Begin | None, difference: Cost) -> None:
    """Note that of two paths with these begins the first one costs so much more."""
    margins = (begin or other or NO_BEGIN).choices.margins
    if difference <= 0:
        begin, other = other, begin
    chosen, left = begin or NO_BEGIN, other or NO_BEGIN
    key = (chosen.number, left.number, difference > 0)
    margin = chosen.cost - left.cost - abs(difference)
    margins[key] = max(margin, margins.get(key, margin))


def longer(left: Path, right: Path) -> Path:
    """Return the costlier path, the first of two that cost the same."""
    return right if costlier(right, left) else left
