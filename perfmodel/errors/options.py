"""What goes wrong with what a command, a function or a hook into another tuner is given, and without a library."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from perfmodel.errors.base import AdviceError, PerfModelError, underlined


class OptionError(AdviceError):
    """An option of the command line is unknown in this place, or contradicts another."""


class SizeOptionError(PerfModelError, ValueError):
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


class JobsError(PerfModelError, ValueError):
    """The number of processes is none."""

    found: object
    message = "jobs={found!r}; give the number of processes, such as 2, or -1 for one on each core."


class ArgumentError(PerfModelError, TypeError):
    """A function of the interface was given a value of a type that it does not take."""

    argument: str  # as a call writes it
    found: str
    allowed: str
    message = "{argument} is {found}; give {allowed}."


class NoDocstringsError(PerfModelError, ImportError):
    """Python removes docstrings, which Loopy needs when it is imported."""

    message = """Python was started without docstrings (-OO, or PYTHONOPTIMIZE=2), and Loopy cannot be imported then;
    leave PYTHONOPTIMIZE unset, or set it to 1."""


class MissingExtraError(PerfModelError, ImportError):
    """A library that is needed only for this is not installed."""

    library: str
    extra: str  # of perfmodel, which installs the library
    message = """this needs {library}, which is not installed; install it with: pip install 'perfmodel[{extra}]', or in
    a clone: pip install -e '.[{extra}]'."""


class ConfigurationError(PerfModelError, ValueError):
    """A tuner's configuration cannot be made into a kernel, or cannot be launched by the tuner."""

    configuration: str
    problem: str
    advice: ClassVar[str] = "mend build(), or leave the configuration out by a restriction"
    message = "the configuration ({configuration}) {problem}; {advice}."


class EmptySpaceError(PerfModelError, ValueError):
    """A space has no configuration that is allowed."""

    points: int  # of the space, without restrictions
    allowed: int  # after the restrictions
    message = """the space has {points} configurations, the restrictions allow {allowed}, and of these none fits on the
    device; give more values, or change the restrictions."""


class HookError(AdviceError):
    """A hook into another tuner was given something that it cannot use."""


class ResultsFileError(PerfModelError, ValueError):
    """A file of another tuner's results cannot be read."""

    path: str | Path
    problem: str
    message = """'{path}' {problem}; give a cache file of Kernel Tuner (its tune_kernel(cache=...) writes it) or a file
    of T4 results of version 1."""


class UnmappedResultsError(PerfModelError, ValueError):
    """No result of another tuner can be brought together with a kernel."""

    path: str | Path
    count: int  # results in the file
    problem: str  # of the first
    message = """'{path}': none of its {count} results can be used, the first because {problem}; give the kernel file
    that was tuned, and its sizes."""


class ImportedDeviceError(PerfModelError, LookupError):
    """Results do not say of which device they are."""

    path: str | Path
    message = "'{path}' does not name the device of its results; give it (--device NAME)."
