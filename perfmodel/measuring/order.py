"""The order of measurements: shuffled, and with a budget one of each class in turn."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from perfmodel.kernels import KernelClass, Parameters
from perfmodel.measuring.campaign import Campaign
from perfmodel.measuring.subject import Subject
from perfmodel.store import Key, canonical

T = TypeVar("T")

#: Variants that are measured at the same sizes; mostly only one.
Team: TypeAlias = tuple[Subject, ...]

#: Time that a visit takes beside its runs, on a common machine [s]; the first of a variant takes longer.
SETUP_S = 0.02


@dataclass(frozen=True)
class Configuration:
    """A variant at parameters.

    Parameters
    ----------
    subject : Subject
        The variant.
    parameters : mapping
        Its sizes.
    seconds : float
        Time of one run when the sizes were chosen [s].
    key : tuple of str
        Key of its record.
    """

    subject: Subject
    parameters: Parameters
    seconds: float
    key: Key

    def expected_s(self, campaign: Campaign) -> float:
        """Time that one visit to it may take [s]."""
        return SETUP_S + campaign.visit_s(self.seconds)

    @property
    def name(self) -> tuple[str, str, str]:
        """Class, variant and sizes as text, to sort by."""
        return self.subject.kernel.name, canonical(self.subject.variant), canonical(self.parameters)


def in_turn(items: Iterable[T], owner: Callable[[T], Hashable]) -> list[T]:
    """Give the first item of each owner, then each one's second, and so on.

    Examples
    --------
    >>> in_turn(["a1", "a2", "a3", "b1", "c1", "c2"], owner=lambda item: item[0])
    ['a1', 'b1', 'c1', 'a2', 'c2', 'a3']
    """
    seen: Counter[Hashable] = Counter()
    placed: list[tuple[int, T]] = []
    for item in items:
        placed.append((seen[owner(item)], item))
        seen[owner(item)] += 1
    return [item for _, item in sorted(placed, key=lambda pair: pair[0])]


def teams(kernels: Iterable[KernelClass], campaign: Campaign, max_work_group_size: int) -> list[Team]:
    """Variants that need sizes, each class in turn; the variants of a ranked class form one team."""
    found: list[Team] = []
    for kernel in kernels:
        subjects = [Subject(kernel, v) for v in campaign.variants_of(kernel, max_work_group_size)]
        found.extend([tuple(subjects)] if kernel.ranked else [(subject,) for subject in subjects])
    return in_turn(found, lambda team: team[0].kernel.name)


def ordered(configurations: Iterable[Configuration], campaign: Campaign) -> list[Configuration]:
    """Shuffle by the campaign's seed, so that drift does not look like a feature.

    With a budget the classes take turns, and within each class its variants: if the budget
    ends early, every class has been measured in part.
    """
    found = sorted(configurations, key=lambda configuration: configuration.name)
    random.Random(campaign.seed).shuffle(found)
    if campaign.budget_s is None:
        return found
    by_variant = in_turn(found, lambda c: c.name[:2])
    return in_turn(by_variant, lambda c: c.name[0])
