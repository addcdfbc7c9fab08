"""What goes wrong while a kernel is counted."""

from __future__ import annotations

from dataclasses import field

from perfmodel.errors.base import PerfModelError, PerfModelWarning


class NotCountableError(PerfModelError, ValueError):
    """Something in a kernel has no count."""

    what: str
    why: str
    remedy: str = ""

    def __str__(self) -> str:
        remedy = self.remedy or "rewrite it as assignments, or leave it out of the counted kernel"
        return f"cannot count {self.what}: {self.why}; {remedy}."


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
        remedy = f"pass statistics={{{given}}} to count()"
        if self.tests:
            remedy += f"; add the probability of {', '.join(map(repr, self.tests))} for exact counts"
        vars(self).update(
            what=f"the trip count{'s' * several} of loop{'s' * several} {', '.join(map(repr, self.inames))}",
            why=f"{'they depend' if several else 'it depends'} on data", remedy=remedy,
        )


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


class ProbabilityError(StatisticsError):
    """A value in ``statistics`` for a test of the kernel is above 1."""

    message = "statistics[{key!r}] is {value!r}; give a test's probability, from 0 to 1."


class IncompleteKernelError(PerfModelError, ValueError):
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


class OutOfBoundsError(PerfModelError, IndexError):
    """An access lies outside of the memory that the generated code declares for its array."""

    access: str  # with one index: the cell counted from the first
    instruction: str
    cells: int  # those declared
    message = """'{access}' in instruction '{instruction}' lies outside of the array, for which the code declares
    {cells} cells; give the array a shape (or lp.TemporaryVariable's storage_shape) that holds its strides, or mend the
    index."""


class ArgumentTypesError(PerfModelError, ValueError):
    """Types were given for arguments in ``dtypes`` that cannot be used."""

    name: str
    problem: str
    allowed: tuple[str, ...]  # the arguments of the kernel
    message = """dtypes[{name!r}] {problem}; the kernel's arguments are: {allowed}. Give a NumPy type for each that has
    none yet, as in dtypes={{'a': numpy.float32}}."""


class PartError(PerfModelError, ValueError):
    """The part of a kernel that is to be counted does not exist."""

    option: str  # ``within`` or ``access_tags``
    given: object
    problem: str
    allowed: tuple[str, ...]
    kind: str = "instructions"  # what ``allowed`` lists

    def __str__(self) -> str:
        shown = ", ".join(self.allowed[:12]) + ", ..." * (len(self.allowed) > 12)
        return f"{self.option}={self.given!r} {self.problem}; choose among the kernel's {self.kind}: {shown or 'none'}."


class BudgetError(PerfModelError, ValueError):
    """The budget of a count is not a positive number."""

    found: object
    message = "budget={found!r}; give a positive number: 1 is the default, 10 allows ten times the work."


class SubgroupSizeError(PerfModelError, ValueError):
    """The size of a sub-group is none that a device has."""

    found: object
    message = "subgroup_size={found!r}; give an integer from 1 to 1024, such as 32."


class DeclarationError(PerfModelError, ValueError):
    """What is declared about a C instruction cannot be used."""

    instruction: str
    problem: str
    message = """what is declared of the C instruction '{instruction}' cannot be used: {problem}; give a whole number
    from zero up for each operation, as ('float32', 'mul'), and for each access, as 'a[i]' or 'a'."""


class LibraryVersionError(PerfModelError, RuntimeError):
    """Counting failed inside a library, and one is installed in a version that perfmodel does not work with."""

    failure: str  # what the library raised
    found: tuple[str, ...]  # names and versions
    wanted: tuple[str, ...]  # pip's requirements
    command: str  # that installs them

    message = "counting failed ({failure}) with {found}; perfmodel needs {wanted}: run {command}."


class AssumedAccessWarning(PerfModelWarning):
    """The accesses of a C instruction are not declared, and assumed."""


class UnknownStatisticWarning(PerfModelWarning):
    """A statistic names something that the kernel does not have, so that it is not used."""
