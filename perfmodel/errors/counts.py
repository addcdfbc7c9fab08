"""What goes wrong while a kernel is counted, and while its counts are evaluated, combined and traced."""

from __future__ import annotations

from dataclasses import dataclass, field

from perfmodel.errors.base import PerfModelWarning
from perfmodel.errors.described import DescribedError


class NotCountableError(DescribedError, ValueError):
    """Something in a kernel has no count."""

    what: str
    why: str
    remedy: str = "rewrite it as assignments, or leave it out of the counted kernel"
    message = "cannot count {what}: {why}; {remedy}."


class StatisticsNeededError(NotCountableError):
    """Trip counts depend on data, and ``statistics`` does not say what is typical."""

    what: str = field(init=False)  # the three speak of one loop, or of several
    why: str = field(init=False)
    remedy: str = field(init=False)
    inames: tuple[str, ...]  # the loops whose mean trip counts are missing
    tests: tuple[str, ...] = ()  # the tests whose probabilities are not known; without them there is a bound

    def __post_init__(self) -> None:
        super().__post_init__()
        several = len(self.inames) > 1
        given = ", ".join(f"{name!r}: <its mean trip count>" for name in self.inames)
        options = " ".join(f"--statistics {name}=<number>" for name in self.inames)
        remedy = f"give {options}, in Python statistics={{{given}}}"
        if self.tests:
            remedy += f"; add the probability of {', '.join(map(repr, self.tests))} for exact counts"
        vars(self).update(
            what=f"the trip count{'s' * several} of loop{'s' * several} {', '.join(map(repr, self.inames))}",
            why=f"{'they depend' if several else 'it depends'} on data",
            remedy=remedy,
        )


class UnboundedLoopError(NotCountableError):
    """Loops of a kernel have no end, so that nothing in them can be counted."""

    what: str = field(init=False, default="the loop over {inames}")
    why: str = field(init=False, default="its domain {domain} has no bound")
    remedy: str = field(init=False, default="give {inames[0]} a lower and an upper bound, such as 0 <= {inames[0]} < n")
    inames: tuple[str, ...]  # loop variables without a lower bound, an upper bound, or both
    domain: str  # in isl's notation


class StatisticsError(DescribedError, ValueError):
    """A value in ``statistics`` is no mean trip count and no probability."""

    key: str
    value: object
    message = """statistics[{key!r}] is {value!r}; give a non-negative number: a loop's mean trip count, or a test's
    probability."""


class ProbabilityError(StatisticsError):
    """A value in ``statistics`` for a test of the kernel is above 1."""

    message = "statistics[{key!r}] is {value!r}; give a test's probability, from 0 to 1."


class SpanError(StatisticsError):
    """A span in ``statistics`` is below 1."""

    message = """statistics[{key!r}] is {value!r}; give a number from 1 up to the indices of the array: among how many
    neighbouring ones those of a work-item lie, such as the bandwidth of a matrix."""


@dataclass(frozen=True)
class UnknownSpan:
    """A caution: data index arrays, nothing says how local the indices are, and the time depends on it by a factor.

    Examples
    --------
    >>> print(UnknownSpan(("x",), 4.26))  # doctest: +ELLIPSIS
    data index x, and a factor of 4.3 lies between indices next to each other and any; the prediction is the ...
    """

    arrays: tuple[str, ...]
    factor: float

    def __str__(self) -> str:
        spans = ", ".join(f"'{array}:span': 1000" for array in self.arrays)
        return (
            f"data index {', '.join(self.arrays)}, and a factor of {self.factor:.1f} lies between indices next to each "
            "other and any; the prediction is the geometric mean; say among how many neighbouring indices those of a "
            f"work-item lie, as statistics {{{spans}}}"
        )


@dataclass(frozen=True)
class StatisticOutside:
    """A caution: a statistic is larger than it can be at these sizes.

    Examples
    --------
    >>> print(StatisticOutside("x:span", 5000.0, 1024.0))
    statistics['x:span'] is 5000, and at these sizes it is at most 1024: give a smaller number, or larger sizes
    """

    key: str
    value: float
    most: float

    def __str__(self) -> str:
        return (
            f"statistics[{self.key!r}] is {self.value:g}, and at these sizes it is at most {self.most:g}: give a "
            "smaller number, or larger sizes"
        )


class IncompleteKernelError(DescribedError, ValueError):
    """Loopy cannot complete, check, schedule or write the code of a kernel."""

    reason: str  # Loopy's message
    advice: str = ""

    def __str__(self) -> str:
        advice = self.advice or "change the kernel until loopy.generate_code_v2 accepts it"
        reason = " ".join(self.reason.split()).rstrip(".;")
        return f"Loopy cannot build the kernel: {reason}; {advice}."


class UntypedArgumentsError(IncompleteKernelError):
    """Arguments of a kernel have no type yet."""

    reason: str = field(init=False, default="no type is known for {names}")
    advice: str = field(init=False)
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        given = ", ".join(f"{name!r}: numpy.float32" for name in self.names[:3]) + ", ..." * (len(self.names) > 3)
        vars(self)["advice"] = f"give each its type, as in count(..., dtypes={{{given}}}) or with loopy.add_dtypes"


class OutOfBoundsError(DescribedError, IndexError):
    """An access lies outside of the memory that the generated code declares for its array."""

    access: str  # with one index: the cell counted from the first
    instruction: str
    cells: int  # those declared
    message = """'{access}' in instruction '{instruction}' lies outside of the array, for which the code declares
    {cells} cells; give the array a shape (or lp.TemporaryVariable's storage_shape) that holds its strides, or mend the
    index."""


class ArgumentTypesError(DescribedError, ValueError):
    """Types were given for arguments in ``dtypes`` that cannot be used."""

    name: str
    problem: str
    allowed: tuple[str, ...]  # the arguments of the kernel
    message = """dtypes[{name!r}] {problem}; the kernel's arguments are: {allowed}. Give a NumPy type for each that has
    none yet, as in dtypes={{'a': numpy.float32}}."""


class PartError(DescribedError, ValueError):
    """The part of a kernel that is to be counted does not exist."""

    option: str  # ``within`` or ``access_tags``
    given: object
    problem: str
    allowed: tuple[str, ...]
    kind: str = "instructions"  # what ``allowed`` lists

    def __str__(self) -> str:
        shown = ", ".join(self.allowed[:12]) + ", ..." * (len(self.allowed) > 12)
        return f"{self.option}={self.given!r} {self.problem}; choose among the kernel's {self.kind}: {shown or 'none'}."


class BudgetError(DescribedError, ValueError):
    """The budget of a count is not a positive number."""

    found: object
    message = "budget={found!r}; give a positive number: 1 is the default, 10 allows ten times the work."


class SubgroupSizeError(DescribedError, ValueError):
    """The size of a sub-group is none that a device has."""

    found: object
    message = "subgroup_size={found!r}; give an integer from 1 to 1024, such as 32."


class DeclarationError(DescribedError, ValueError):
    """What is declared about a C instruction cannot be used."""

    instruction: str
    problem: str
    message = """what is declared of the C instruction '{instruction}' cannot be used: {problem}; give a whole number
    from zero up for each operation, as ('float32', 'mul'), and for each access, as 'a[i]' or 'a'."""


class AssumedAccessWarning(PerfModelWarning):
    """The accesses of a C instruction are not declared, and assumed."""


class AtomicUpdateWarning(PerfModelWarning):
    """A kernel updates arrays atomically, which is counted as plain loads and stores."""


class UnknownStatisticWarning(PerfModelWarning):
    """A statistic is not used: no test, loop or array of the kernel has its key."""




