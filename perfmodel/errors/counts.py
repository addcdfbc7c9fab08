"""What goes wrong while counts are used: evaluated at sizes, combined, and traced access by access."""

from __future__ import annotations

from perfmodel.errors.base import PerfModelError


class ParameterError(PerfModelError, ValueError):
    """A size parameter is missing, unknown, negative or not an integer."""

    name: str
    found: str  # what is wrong, as "is -1, which is negative"
    allowed: tuple[str, ...]
    message = """size parameter '{name}' {found}; the kernel's parameters are: {allowed}. Give each a non-negative
    integer, as in {name}=1024."""


class SizeRangeError(ParameterError):
    """A size does not fit into the type of the kernel's argument."""

    dtype: str
    least: int
    largest: int
    message = """size parameter '{name}' {found}, and the kernel's argument is of type {dtype}, which holds numbers from
    {least} to {largest}; the kernel's parameters are: {allowed}. Give a smaller size, or let the argument have a wider
    type, such as int64."""


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
    message = """a count per {left} cannot be combined with a count per {right}: ask for both with the same granularity=
    first."""


class UnknownGranularityError(PerfModelError, ValueError):
    """A granularity was asked for that does not exist."""

    found: str
    allowed: tuple[str, ...]
    message = "no granularity '{found}'; choose one of {allowed}."


class UnknownArrayError(PerfModelError, KeyError):
    """A count was asked for an array that the kernel does not access in this way."""

    array: str
    allowed: tuple[str, ...]
    message = """the kernel has no accesses to an array '{array}' of the kind asked for; there are accesses to:
    {allowed}."""


class CountsFormatError(PerfModelError, ValueError):
    """A document is no stored counts, or holds something that they cannot."""

    problem: str
    message = """stored counts cannot be read: the document {problem}. Count the kernel again (measure it again where
    they are in a store), or give a document of KernelCounts.to_json()."""
class UnknownOrderError(PerfModelError, ValueError):
    """Traffic was asked for an order of the work-items that does not exist."""

    found: str
    allowed: tuple[str, ...]
    message = "no order '{found}' of the work-items; choose one of {allowed}."


class TrafficCacheError(PerfModelError, ValueError):
    """Traffic was asked for a cache that there cannot be."""

    capacity: object
    line_bytes: object
    sets: object
    message = """a cache of {capacity} B with lines of {line_bytes} B and {sets} sets is not possible: the capacity
    must be at least a line, and its lines a multiple of the sets; give sets=0 for a cache that has only one."""


class CountsSchemaError(PerfModelError, ValueError):
    """Stored counts have a schema that this version does not read."""

    found: object
    allowed: str
    message = """counts of schema {found!r}; this version reads {allowed!r}. Count the kernel again, or use the version
    that wrote them."""


class FlowUnknownError(PerfModelError, LookupError):
    """Counts hold no dataflow, because an earlier version stored them."""

    kernel: str
    message = """the counts of '{kernel}' were stored without the kernel's dataflow, so chains and their parallelism are
    not known; count the kernel again with perfmodel.count."""


class PlacesUnknownError(PerfModelError, LookupError):
    """Counts do not say where in the schedule things are executed, because an earlier version stored them."""

    kernel: str
    message = """the counts of '{kernel}' were stored without the places of its instructions, so its nests and the order
    of its accesses are not known; count the kernel again with perfmodel.count."""


class ActCostError(PerfModelError, ValueError):
    """The cost given for an operation or an access is negative or no number."""

    act: object
    found: object
    message = """the cost of {act!r} is {found!r}; give a finite number from 0 up, in any one unit, such as its latency
    in cycles."""


class UntraceableError(PerfModelError, ValueError):
    """The accesses of a kernel cannot be written out one by one."""

    what: str
    advice: str
    message = "the memory trace cannot be written out: {what}; {advice}."


class TraceTooLongError(PerfModelError, ValueError):
    """A work-group executes one access too often for it to be written out."""

    found: int
    most: int
    message = """one access is executed up to {found} times by a work-group, and {most} are traced at most; take smaller
    sizes that still fill the caches."""


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
    message = """{left} and {right} have no formulas within the budget, so == cannot tell whether they are equal at all
    sizes; compare their values at given sizes, or pass a larger budget= to count()."""
