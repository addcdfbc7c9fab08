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

    why: str = field(init=False, default="it depends on data")
    remedy: str = field(init=False, default="pass statistics={{{key!r}: {meaning}}} to count()")
    key: str  # to give in ``statistics``
    meaning: str


class UnboundedLoopError(NotCountableError):
    """Loops of a kernel have no end, so that nothing in them can be counted."""

    what: str = field(init=False, default="the loop over {inames}")
    why: str = field(init=False, default="its domain {domain} has no bound")
    remedy: str = field(
        init=False, default="give {inames[0]} a lower and an upper bound, such as 0 <= {inames[0]} < n"
    )
    inames: tuple[str, ...]  # loop variables without a lower bound, an upper bound, or both
    domain: str  # in isl's notation


class InfiniteCountError(NotCountableError):
    """A set that was to be counted has infinitely many points at some sizes."""

    what: str = field(init=False, default="{found}")
    why: str = field(init=False, default="it has infinitely many points")
    remedy: str = field(init=False, default="give each of its dimensions a lower and an upper bound")
    found: str  # the set, or the function that counts it, in isl's notation


class StatisticsError(PerfModelError, ValueError):
    """A value in ``statistics`` is no mean trip count and no probability."""

    key: str
    value: object
    message = """statistics[{key!r}] is {value!r}; give a non-negative number: a loop's mean trip count, or a test's
    probability."""


class IncompleteKernelError(PerfModelError, ValueError):
    """Loopy cannot complete, check or schedule a kernel."""

    reason: str  # Loopy's message

    def __str__(self) -> str:
        return (
            f"Loopy cannot complete and schedule the kernel: {' '.join(self.reason.split())}; "
            "give every argument a type (loopy.add_dtypes) and make the kernel generate code first."
        )
