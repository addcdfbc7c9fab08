"""What goes wrong where another tuner asks for predictions, and where its results are imported."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from perfmodel.errors.base import PerfModelError


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


class HookError(PerfModelError, ValueError):
    """A hook into another tuner was given something that it cannot use."""

    problem: str
    advice: str
    message = "{problem}; {advice}."


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
