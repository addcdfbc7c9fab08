"""What goes wrong while a kernel is counted."""

from __future__ import annotations

from dataclasses import field

from perfmodel.errors.base import PerfModelError


class NotCountableError(PerfModelError, ValueError):
    """Something in a kernel has no count."""

    what: str
    why: str
    remedy: str = ""

    def __str__(self) -> str:
        remedy = self.remedy or "rewrite it as assignments, or leave it out of the counted kernel"
        return f"cannot count {self.what}: {self.why}; {remedy}."


class StatisticsNeededError(NotCountableError):
    """A count depends on data, and ``statistics`` does not say what is typical."""

    why: str = field(init=False)
    remedy: str = field(init=False)
    key: str  # to give in ``statistics``
    meaning: str

    def __post_init__(self) -> None:
        remedy = f"pass statistics={{{self.key!r}: {self.meaning}}} to count()"
        vars(self).update(why="it depends on data", remedy=remedy)


class UnboundedLoopError(NotCountableError):
    """Loops of a kernel have no end, so that nothing in them can be counted."""

    what: str = field(init=False)
    why: str = field(init=False)
    remedy: str = field(init=False)
    inames: tuple[str, ...]  # loop variables without a lower bound, an upper bound, or both
    domain: str  # in isl's notation

    def __post_init__(self) -> None:
        first = self.inames[0]
        vars(self).update(
            what=f"the loop over {', '.join(self.inames)}",
            why=f"its domain {self.domain} has no bound",
            remedy=f"give {first} a lower and an upper bound, such as 0 <= {first} < n",
        )


class InfiniteCountError(NotCountableError):
    """A set that was to be counted has infinitely many points at some sizes."""

    what: str = field(init=False)
    why: str = field(init=False)
    remedy: str = field(init=False)
    found: str  # the set, or the function that counts it, in isl's notation

    def __post_init__(self) -> None:
        remedy = "give each of its dimensions a lower and an upper bound"
        vars(self).update(what=self.found, why="it has infinitely many points", remedy=remedy)


class StatisticsError(PerfModelError, ValueError):
    """A value in ``statistics`` is no mean trip count and no probability."""

    key: str
    value: object

    def __str__(self) -> str:
        return (
            f"statistics[{self.key!r}] is {self.value!r}; give a non-negative number: a loop's mean trip "
            "count, or a test's probability."
        )


class IncompleteKernelError(PerfModelError, ValueError):
    """Loopy cannot complete, check or schedule a kernel."""

    reason: str  # Loopy's message

    def __str__(self) -> str:
        return (
            f"Loopy cannot complete and schedule the kernel: {' '.join(self.reason.split())}; "
            "give every argument a type (loopy.add_dtypes) and make the kernel generate code first."
        )


class BudgetError(PerfModelError, ValueError):
    """The budget of a count is not a positive number."""

    found: object

    def __str__(self) -> str:
        return f"budget={self.found!r}; give a positive number: 1 is the default, 10 allows ten times the work."
