"""What goes wrong with what a user gives: options, arguments, kernel files, and other tuners' results."""

from __future__ import annotations

from pathlib import Path

from perfmodel.errors.base import PerfModelWarning
from perfmodel.errors.described import DescribedError


class JobsError(DescribedError, ValueError):
    """The number of processes is none."""

    found: object
    message = "jobs={found!r}; give the number of processes, such as 2, or -1 for one on each core."


class ArrayMemoryError(DescribedError, ValueError):
    """An array argument for which perfmodel makes no memory."""

    kernel: str
    name: str
    found: str  # as "is an image"
    message = """the argument '{name}' of the kernel '{kernel}' {found}; make it a loopy.GlobalArg with a shape, since
    kernels run with buffers of known sizes."""


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


class ResultsFileError(DescribedError, ValueError):
    """A file of another tuner's results cannot be read."""

    path: str | Path
    problem: str
    message = """'{path}' {problem}; give a cache file of Kernel Tuner (its tune_kernel(cache=...) writes it), a file of
    T4 results of version 1, or a CSV table with the column min_ms."""
