"""What goes wrong while counts are used: evaluated at sizes, combined, and traced access by access."""

from __future__ import annotations

from perfmodel.errors.base import PerfModelError


class ParameterError(PerfModelError, ValueError):
    """A size parameter is missing, unknown, negative or not an integer."""

    name: str
    found: str  # what is wrong, as "is -1, which is negative"
    allowed: tuple[str, ...]

    def __str__(self) -> str:
        listed = ", ".join(self.allowed) or "none"
        return (
            f"size parameter '{self.name}' {self.found}; the kernel's parameters are: {listed}. "
            f"Give each a non-negative integer, as in {self.name}=1024."
        )


class AssumptionError(PerfModelError, ValueError):
    """A size breaks an assumption of the kernel."""

    assumption: str  # in isl's notation
    values: dict[str, int]
    indices: tuple[int, ...] = ()  # positions in the flattened, broadcast array of sizes; empty for a scalar

    def __str__(self) -> str:
        sizes = ", ".join(f"{name}={value}" for name, value in self.values.items())
        where = f" (first of {len(self.indices)} such sizes, at index {self.indices[0]})" if self.indices else ""
        return (
            f"{sizes}{where} breaks the kernel's assumption {self.assumption}; "
            "choose a size that meets it, or build the kernel without it."
        )


class GranularityError(PerfModelError, TypeError):
    """Counts of different granularities were added or compared."""

    left: str
    right: str

    def __str__(self) -> str:
        return (
            f"a count per {self.left} cannot be combined with a count per {self.right}: "
            "ask for both with the same granularity= first."
        )


class UnknownGranularityError(PerfModelError, ValueError):
    """A granularity was asked for that does not exist."""

    found: str
    allowed: tuple[str, ...]

    def __str__(self) -> str:
        return f"no granularity '{self.found}'; choose one of {', '.join(self.allowed)}."


class UnknownArrayError(PerfModelError, KeyError):
    """A count was asked for an array that the kernel does not access in this way."""

    array: str
    allowed: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"the kernel has no accesses to an array '{self.array}' of the kind asked for; "
            f"there are accesses to: {', '.join(self.allowed) or 'none'}."
        )


class CountsSchemaError(PerfModelError, ValueError):
    """Stored counts have a schema that this version does not read."""

    found: object
    allowed: str

    def __str__(self) -> str:
        return (
            f"counts of schema {self.found!r}; this version reads {self.allowed!r}. "
            "Count the kernel again, or use the version that wrote them."
        )


class FlowUnknownError(PerfModelError, LookupError):
    """Counts hold no dataflow, because an earlier version stored them."""

    kernel: str

    def __str__(self) -> str:
        return (
            f"the counts of '{self.kernel}' were stored without the kernel's dataflow, so chains and their "
            "parallelism are not known; count the kernel again with perfmodel.count."
        )


class ActCostError(PerfModelError, ValueError):
    """The cost given for an operation or an access is negative or no number."""

    act: object
    found: object

    def __str__(self) -> str:
        return (
            f"the cost of {self.act!r} is {self.found!r}; give a finite number from 0 up, in any one unit, such as "
            "its latency in cycles."
        )


class UntraceableError(PerfModelError, ValueError):
    """The accesses of a kernel cannot be written out one by one."""

    what: str
    advice: str

    def __str__(self) -> str:
        return f"the memory trace cannot be written out: {self.what}; {self.advice}."


class TraceTooLongError(PerfModelError, ValueError):
    """A work-group executes one access too often for it to be written out."""

    found: int
    most: int

    def __str__(self) -> str:
        return (
            f"one access is executed up to {self.found} times by a work-group, and {self.most} are traced at most; "
            "take smaller sizes that still fill the caches."
        )


class CountTooHardError(PerfModelError, ValueError):
    """A count has no formula within the budget, and takes too much work at the given sizes too."""

    sizes: dict[str, int]

    def __str__(self) -> str:
        where = ", ".join(f"{name}={value}" for name, value in self.sizes.items()) or "constant sizes"
        return (
            f"the count takes more work than is allowed, even at {where}; pass a larger budget= to count(), "
            "such as budget=100 for a hundred times the work, or choose smaller sizes."
        )


class IncomparableCountsError(PerfModelError, TypeError):
    """Two counts without formulas cannot be compared as functions."""

    left: str
    right: str

    def __str__(self) -> str:
        return (
            f"{self.left} and {self.right} have no formulas within the budget, so == cannot tell whether they are "
            "equal at all sizes; compare their values at given sizes, or pass a larger budget= to count()."
        )
