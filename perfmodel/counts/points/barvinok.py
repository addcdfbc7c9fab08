"""Whether the ``islpy`` at hand can count the points of a set (Barvinok's algorithm).

Two wheels install a module called ``islpy``: the plain one, and ``islpy-barvinok``, whose sets also
have ``card``. The one that was installed last replaces the other, and pip does not notice it.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib import metadata

import islpy as isl

from perfmodel.errors import PerfModelWarning

REQUIREMENT = "islpy-barvinok==2025.2.5.post1"
MENDING_COMMAND = f"{sys.executable} -m pip install --force-reinstall --no-deps {REQUIREMENT}"

OPERATIONS = 500_000
"""Operations of isl (it counts its allocations) that one set or sum may take: about a second."""


class BudgetSpentError(Exception):
    """A formula takes more work than the budget allows; callers count at given sizes then."""


@contextmanager
def limited(operations: int) -> Iterator[None]:
    """Let isl make at most so many operations, whatever time they take.

    Raises
    ------
    BudgetSpentError
        It needs more.
    islpy.Error
        Something else is wrong.
    """
    context = isl.DEFAULT_CONTEXT
    context.reset_operations()
    context.set_max_operations(operations)
    try:
        yield
        if _is_spent():  # an operation failed whose error isl did not pass on: a result may lack pieces
            raise BudgetSpentError
    except isl.Error:
        if _is_spent():
            raise BudgetSpentError from None
        raise
    finally:
        context.set_max_operations(0)
        context.reset_operations()


def _is_spent() -> bool:
    """Whether isl refuses every operation now: its message can be of a later error, such as one of syntax."""
    try:
        isl.Set("{ : }")
    except isl.Error:
        return True
    return False


class BarvinokMissingWarning(PerfModelWarning):
    """Some counts will be upper bounds, as islpy cannot count the points of a set."""


def has_barvinok() -> bool:
    r"""Tell whether ``islpy.Set.card`` exists and counts a triangle right.

    The number of points of :math:`\{(i, j) : 0 \le i < j < 10\}` is 45.
    """
    if not hasattr(isl.Set, "card"):
        return False
    try:
        points = isl.Set("{ [i, j] : 0 <= i < j < 10 }").card()
        return 45 == int(points.eval(isl.Point.zero(points.space.domain())).to_python())
    except Exception:  # an islpy of mixed halves fails in many ways
        return False


def is_overwritten() -> bool:
    """Tell whether a plain ``islpy`` was installed over ``islpy-barvinok``."""
    try:
        metadata.version("islpy-barvinok")
    except metadata.PackageNotFoundError:
        return False
    return not has_barvinok()


@lru_cache(maxsize=1)
def can_count() -> bool:
    """Tell the same as :func:`has_barvinok`, which is called once in a process."""
    return has_barvinok()


@lru_cache(maxsize=1)
def warn_once() -> None:
    """Warn, the first time in a process, that Barvinok is missing."""
    warnings.warn(
        "islpy cannot count the points of a set (Barvinok is not in it): counts are exact for "
        "boxes, triangles and simple nests, and elsewhere upper bounds with exact=False. "
        f"For exact counts: {MENDING_COMMAND}",
        BarvinokMissingWarning,
        stacklevel=2,
    )
