"""What one instruction executes: its operations and accesses, with the conditions under which they are reached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from perfmodel.counts.reading.values import INT, Type

Condition = tuple[Any, bool]  # an expression and the truth value it must have


@dataclass(frozen=True)
class Options:
    """What to count beside the default.

    Attributes
    ----------
    include_index_arithmetic : bool
        Whether integer arithmetic on inames and size parameters is counted.
    group_multiply_add : bool
        Whether a product that is added at once counts as one operation of kind ``madd``.
    """

    include_index_arithmetic: bool = False
    group_multiply_add: bool = False


@dataclass(frozen=True)
class OperationEvent:
    """An operation and the conditions under which it is reached."""

    dtype: str
    kind: str
    amount: int
    conditions: tuple[Condition, ...]
    per_lane: bool = True


@dataclass(frozen=True)
class AccessEvent:
    """An array access and the conditions under which it is reached."""

    array: str
    indices: tuple[Any, ...]
    direction: str
    conditions: tuple[Condition, ...]
    vector_axis: int | None = None
    member: tuple[str, ...] = ()  # of a structure or vector: ("s0",), or ("position", "x")


class Scope(NamedTuple):
    """Where in an instruction an expression stands.

    Attributes
    ----------
    literal : numpy.dtype
        The C type of literals.
    conditions : tuple of Condition
        What must hold so that the expression is evaluated.
    in_test : bool
        Whether it is part of a test, whose integer arithmetic is index arithmetic.
    in_index : bool
        Whether it is index arithmetic, which is counted on request only.
    """

    literal: Type[Any]
    conditions: tuple[Condition, ...] = ()
    in_test: bool = False
    in_index: bool = False

    def under(self, condition: Condition) -> Scope:
        """Return the scope of what is evaluated only where the condition holds."""
        return self._replace(conditions=(*self.conditions, condition))

    def of_index(self) -> Scope:
        """Return the scope of an array's index."""
        return self._replace(literal=INT, in_index=True)

    def of_test(self, literal: Type[Any] = INT) -> Scope:
        """Return the scope of a test, or of a part of it."""
        return self._replace(literal=literal, in_test=True)
