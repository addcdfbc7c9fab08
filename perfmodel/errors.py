"""The exceptions and warnings of perfmodel. Each text is written where it is raised."""

from collections.abc import Iterable
from importlib import import_module
from itertools import accumulate
from typing import Any

LONGEST = 1000  # characters of a value that a text shows
LONGEST_LIST = 3000  # characters of a list of names that a text shows
LINE = 160  # characters of a line that a text shows


class PerfModelError(Exception):
    """Base of all that perfmodel raises on purpose. An error has a problem, advice, and details as attributes.

    >>> error = SizeError("n is -4", "give a number above 0", name="n")
    >>> print(error, error.name)
    n is -4; give a number above 0. n
    """

    def __init__(self, problem: str = "", advice: str = "", **details: Any) -> None:
        super().__init__(problem, advice)  # unpickling passes these arguments to the class
        self.problem, self.advice = problem, advice
        for name, value in details.items():
            setattr(self, name, value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PerfModelError) or type(self) is not type(other):
            return NotImplemented
        return (self.args, vars(self)) == (other.args, vars(other))

    def __hash__(self) -> int:
        return hash((type(self), self.args))

    def __str__(self) -> str:
        text = "; ".join(part.strip().rstrip(".;") for part in (self.problem, self.advice) if part)
        return f"{text}." if text else type(self).__name__


class PerfModelWarning(UserWarning):
    """Base of the warnings that perfmodel gives. The command line prints each as a note of one line."""


class UnknownStatisticWarning(PerfModelWarning):
    """A statistic has no effect: no test, loop or array of the kernel has its key."""


class SetAsideWarning(PerfModelWarning):
    """Damaged lines or impossible times of a store were left out. The rest of the store is used."""


class WorkerDiedWarning(PerfModelWarning):
    """A process was killed or crashed. Its unfinished work is done again."""


class CountError(PerfModelError, ValueError):
    """A kernel, or a part of it, has no count. `sizes` are the parameters on which the work-group's shape depends."""

    sizes: tuple[str, ...] = ()


class StatisticsNeededError(CountError):
    """Trip counts of `inames`, or probabilities of `tests`, depend on data and are not in ``statistics``."""

    inames: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()


class KernelError(PerfModelError, ValueError):
    """Loopy cannot build, schedule or run the kernel as it is."""


class SizeError(PerfModelError, ValueError):
    """A size of the kernel is missing, unknown, or not allowed by its assumptions."""


class AssumptionError(PerfModelError, ValueError):
    """A size breaks an assumption of the kernel. ``indices`` are positions in the broadcast array of sizes."""

    assumption: str
    values: dict[str, int]
    indices: tuple[int, ...]


class ArgumentError(PerfModelError, ValueError, TypeError):
    """A function or a kernel was given an argument that it does not accept, or was not given one that it needs."""


class UnknownNameError(PerfModelError, LookupError):
    """No array, variant, family, device or feature has this name, and no device this index."""


class VersionError(PerfModelError, RuntimeError):
    """The installed version of a library does not work with perfmodel."""


class MissingExtraError(PerfModelError, ImportError):
    """An optional library is not installed."""


class FactsError(PerfModelError, ValueError):
    """Facts of a device are missing, unknown, or cannot be true."""


class NoDeviceError(PerfModelError, RuntimeError):
    """No OpenCL device exists, or none works."""


class BrokenDeviceError(PerfModelError, RuntimeError):
    """A device does not build and run a small kernel."""

    cause: str  # its failure in words


class DeviceBusyError(PerfModelError, TimeoutError):
    """Another campaign uses the device, and did not end in time."""


class SchedulerError(PerfModelError, ConnectionError):
    """A Dask scheduler does not answer, or its workers died or are not suitable."""


class OptionError(PerfModelError, ValueError):
    """Options of a command, or settings, have values that are not allowed or do not go together."""


class KernelFileError(PerfModelError, ValueError):
    """A kernel file cannot be read or run, or defines no kernels. `raised` is its exception, at `location`."""

    location: str = ""
    raised: str = ""


class VariantError(PerfModelError, ValueError):
    """The variant ``name`` cannot be counted or predicted, or its processes died."""


class TuningError(PerfModelError, ValueError):
    """A space of variants is empty or not well defined, or a tuning cannot start or continue."""


class TrialError(PerfModelError, RuntimeError):
    """A variant cannot be built, counted or run (:func:`failed`)."""

    variant: str
    status: str  # of its record: compile, runtime, ...
    reason: str


class OutputError(PerfModelError, OSError):
    """A file or folder cannot be written."""


class OutOfMemoryError(PerfModelError, RuntimeError):
    """There is not enough memory."""


class DocumentError(PerfModelError, ValueError):
    """A document cannot be read or written. ``newer`` is true if a newer perfmodel wrote it."""

    newer = False


class StoreError(PerfModelError, ValueError):
    """A store of measurements or counts is missing, damaged, or of another device."""


class FamilyError(PerfModelError, ValueError):
    """A model's expression, weights or quantities are not well defined."""


class WeightsError(PerfModelError, ValueError):
    """Weights are missing, cannot be read, or belong to another device or family."""


class NoWeightsError(WeightsError):
    """There are no weights of the device in use."""


class FitError(PerfModelError, ValueError):
    """Weights cannot be fitted to these rows."""


class UnmeasuredFeatureError(PerfModelError, ValueError):
    """A prediction is withheld, because the kernel needs `features` that no measurement exercised."""

    features: tuple[str, ...]


class PredictionError(PerfModelError, ValueError):
    """A kernel's time cannot be predicted with these weights."""

    seconds: float  # a predicted time that is not positive


class SlowerError(PerfModelError, AssertionError):
    """A new version of a kernel is predicted to be slower than allowed. ``difference`` compares both versions."""

    difference: Any  # a perfmodel.versions.Difference


class AnchorError(PerfModelError, RuntimeError):
    """A kernel cannot be run once to anchor its predictions (:func:`not_anchored`)."""

    kernel: str  # its name


def failed(variant: str, status: str, reason: str) -> TrialError:
    """Return the error to raise if a variant cannot be built, counted or run."""
    problem = f"variant '{variant}' failed ({status}: {clipped(reason)})"
    return TrialError(problem, "correct it, or leave it out", variant=variant, status=status, reason=reason)


def not_anchored(kernel: str, reason: str) -> AnchorError:
    """Return the error to raise if a kernel cannot be run once to anchor its predictions."""
    advice = "give a kernel that runs on the device of the weights, or predict without an anchor (--anchor)"
    return AnchorError(f"'{kernel}' cannot be anchored: {clipped(reason)}", advice, kernel=kernel)


def optional(module: str, extra: str) -> Any:
    """Import a module of one of perfmodel's extras. If it is not installed, raise a MissingExtraError."""
    try:
        return import_module(module)
    except ImportError:
        problem = f"this needs {module.partition('.')[0]}, which is not installed"
        advice = f"run pip install 'perfmodel[{extra}]', or in a clone: pip install -e '.[{extra}]'"
        raise MissingExtraError(problem, advice) from None


def clipped(value: object, most: int = LONGEST) -> str:
    """Return the text of a value without the middle of a long one."""
    text = str(value)
    return text if len(text) <= most else f"{text[: most // 2]} ... {text[-(most // 2) :]}"


def listed(names: Iterable[object], separator: str = ", ", most: int = LONGEST_LIST) -> str:
    """Return names in one line, or "none" for no names. A long list is cut at the end."""
    parts = [clipped(name) for name in names]
    kept = max(sum(length <= most for length in accumulate(map(len, parts))), 1)
    more = f" and {len(parts) - kept} more" if kept < len(parts) else ""
    return separator.join(parts[:kept]) + more or "none"


def underlined(text: str, start: int, end: int, most: int = LINE) -> str:
    """Return the line of a text that holds the characters from `start` to `end`, and carets below these."""
    from rich.cells import cell_len  # keeps `import perfmodel` fast

    first = text.rfind("\n", 0, start) + 1
    line = "".join(char if char.isprintable() else " " for char in text[first:].split("\n", 1)[0])
    indent = start - first
    cut = max(0, indent - most // 2)
    line, indent = line[cut : cut + most], indent - cut
    width = max(1, min(end - start, len(line) - indent))
    return f"    {line}\n    {' ' * cell_len(line[:indent])}{'^' * max(1, cell_len(line[indent : indent + width]))}"
