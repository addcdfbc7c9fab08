"""What goes wrong with what a user gives: options, arguments, kernel files, and other tuners' results."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from perfmodel.errors.base import PerfModelWarning, underlined
from perfmodel.errors.described import DescribedError


class SizeOptionError(DescribedError, ValueError):
    """A size on the command line cannot be used; the text underlines the characters at fault."""

    text: str  # of the option
    start: int = 0  # first character of `text` at fault
    end: int = 1
    problem: str = "no size"
    advice: str = "give NAME=SIZES, as n=1024"
    option: str = "-p"

    def __str__(self) -> str:
        text = self.text if len(self.text) <= 80 else f"{self.text[:39]}...{self.text[-38:]}"
        said = f"'{self.option} {text}' gives {self.problem}"
        return f"{said}\n{underlined(self.text, self.start, self.end)}\n{self.advice}."


class JobsError(DescribedError, ValueError):
    """The number of processes is none."""

    found: object
    message = "jobs={found!r}; give the number of processes, such as 2, or -1 for one on each core."


class KernelArgumentError(DescribedError, ValueError):
    """Values were given for other scalar arguments than a kernel has."""

    kernel: str
    wanted: tuple[str, ...]
    given: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"kernel '{self.kernel}' has the scalar arguments ({', '.join(sorted(self.wanted))}), but values "
            f"were given for ({', '.join(sorted(self.given))}); give each of them a value, as a size (-p) or a scalar."
        )


class ArrayMemoryError(DescribedError, ValueError):
    """An array argument for which perfmodel makes no memory."""

    kernel: str
    name: str
    found: str  # as "is an image"
    message = """the argument '{name}' of the kernel '{kernel}' {found}; make it a loopy.GlobalArg with a shape, since
    kernels run with buffers of known sizes."""


class GivenArgumentError(DescribedError, ValueError):
    """A user's function ``arguments()`` gives something else than an argument of the kernel."""

    kernel: str
    name: str
    found: str  # as "is of type list"
    allowed: str
    message = """arguments() gives '{name}' for the kernel '{kernel}', and it {found}; give {allowed}, or leave it out
    and it is made from the kernel's own types and shapes."""


class ReferenceOutputError(DescribedError, ValueError):
    """A user's function ``reference()`` gives nothing that the outputs of variants can be compared with."""

    found: str  # as "returns list"
    allowed: str
    message = """reference() {found}; give {allowed}, or leave the function out and variants are compared with each
    other."""


class TrialError(DescribedError, RuntimeError):
    """A variant cannot be built, counted or run."""

    variant: str
    status: str  # of a record: compile, runtime, ...
    problem: str
    message = "variant '{variant}' failed ({status}: {problem}); mend it, or leave it out."


class UnpicklableVariantError(DescribedError, TypeError):
    """A variant cannot be sent to another process."""

    name: str
    problem: str
    message = """variant '{name}' cannot be sent to another process ({problem}); give a function that builds it from
    plain values and holds no lock, open file or device, or use jobs=1."""


class WorkerDiedError(DescribedError, RuntimeError):
    """Two processes died while they worked on a variant."""

    name: str
    message = """variant '{name}': two processes that worked on it were killed or crashed; run it alone with jobs=1 to
    see why, make its code shorter if the memory is too small, or leave it out."""


class WorkerDiedWarning(PerfModelWarning):
    """A process was killed or crashed; what it had not finished is done again."""


class ConfigurationError(DescribedError, ValueError):
    """A tuner's configuration cannot be made into a kernel, or cannot be launched by the tuner."""

    configuration: str
    problem: str
    advice: ClassVar[str] = "mend build(), or leave the configuration out by a restriction"  # type: ignore[misc]
    message = "the configuration ({configuration}) {problem}; {advice}."


class EmptySpaceError(DescribedError, ValueError):
    """A space has no configuration that is allowed."""

    points: int  # of the space, without restrictions
    allowed: int  # after the restrictions
    message = """the space has {points} configurations, the restrictions allow {allowed}, and of these none fits on the
    device; give more values, or change the restrictions."""


class ResultsFileError(DescribedError, ValueError):
    """A file of another tuner's results cannot be read."""

    path: str | Path
    problem: str
    message = """'{path}' {problem}; give a cache file of Kernel Tuner (its tune_kernel(cache=...) writes it), a file of
    T4 results of version 1, or a CSV table with the column min_ms."""


class UnmappedResultsError(DescribedError, ValueError):
    """No result of another tuner can be brought together with a kernel."""

    path: str | Path
    count: int  # results in the file
    problem: str  # of the first
    message = """'{path}': none of its {count} results can be used, the first because {problem}; give the kernel file
    that was tuned, and its sizes."""


class ImportedDeviceError(DescribedError, LookupError):
    """Results do not say of which device they are."""

    path: str | Path
    message = "'{path}' does not name the device of its results; give it (--device NAME)."
