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
    within : str
        Loopy's match expression for the instructions to count; all of them if empty.
    access_tags : tuple of str
        Only accesses with one of these tags are counted; all of them if empty.
    """

    include_index_arithmetic: bool = False
    group_multiply_add: bool = False
    within: str = ""
    access_tags: tuple[str, ...] = ()


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
    tags: frozenset[str] = frozenset()


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
    tags : frozenset of str
        The access tags of the variable itself, as ``left`` in ``a$left[i]``.
    """

    literal: Type[Any]
    conditions: tuple[Condition, ...] = ()
    in_test: bool = False
    in_index: bool = False
    tags: frozenset[str] = frozenset()

    def under(self, condition: Condition) -> Scope:
        """Return the scope of what is evaluated only where the condition holds."""
        return self._replace(conditions=(*self.conditions, condition))

    def at(self, accessed: Any) -> Scope:
        """Return the scope of an access to a variable, or to an element of it; the variable may bear tags."""
        variable = getattr(accessed, "aggregate", accessed)
        tags = getattr(variable, "tags", ())
        if not tags and not self.tags:
            return self
        return self._replace(tags=frozenset(str(getattr(tag, "value", type(tag).__name__)) for tag in tags))

    def of_index(self) -> Scope:
        """Return the scope of an array's index."""
        return self._replace(literal=INT, in_index=True)

    def of_test(self, literal: Type[Any] = INT) -> Scope:
        """Return the scope of a test, or of a part of it."""
        return self._replace(literal=literal, in_test=True)
