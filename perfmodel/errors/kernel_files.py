"""What goes wrong with a user's kernel file, with a folder of kernel classes, and with a kernel's arguments."""

from __future__ import annotations

import traceback
from dataclasses import InitVar, field
from pathlib import Path

from perfmodel.errors.base import AdviceError, PerfModelError, PerfModelWarning

#: Characters that an error shows of what a user's file raised.
_LONGEST = 500


class KernelFileMissingError(PerfModelError, FileNotFoundError):
    """There is no such kernel file or folder, or nothing in it."""

    path: str | Path
    wanted: str
    message = "no kernel file at '{path}'; give the path of {wanted}."


class KernelFileSyntaxError(PerfModelError, ValueError):
    """A kernel file is not valid Python."""

    path: str | Path
    line: int | None
    problem: str
    message = "'{path}' line {line}: not valid Python ({problem}); mend that line and run again."


class KernelFileExecutionError(PerfModelError, RuntimeError):
    """A kernel file, or its ``kernel()`` or ``variants()``, raised while it ran.

    What it raised is kept as text, since another process may not know its class.  The line is the last one that ran
    of the file, or of a file beside it.
    """

    path: str | Path
    cause: InitVar[BaseException]
    line: int | None = field(init=False)
    place: str = field(init=False)  # file and line
    code: str = field(init=False)  # the line's text
    raised: str = field(init=False)

    def __post_init__(self, cause: BaseException) -> None:
        super().__post_init__()
        folder, last = Path(self.path).absolute().parent, None
        for frame, line in traceback.walk_tb(cause.__traceback__):
            file = frame.f_code.co_filename
            if Path(file).absolute().parent == folder and not file.startswith("<"):  # code without a file
                last = traceback.FrameSummary(file, line, frame.f_code.co_name)
        place = f"'{last.filename}' line {last.lineno}" if last else f"'{self.path}'"
        raised = f"{type(cause).__name__} ({_said(cause)})"
        vars(self).update(line=last and last.lineno, place=place, code=(last and last.line) or "", raised=raised)

    def __str__(self) -> str:
        code = f" in '{self.code}'" if self.code else ""
        return f"{self.place}: raised {self.raised}{code}; the file must run by itself: try 'python {self.path}'."


def _said(cause: BaseException) -> str:
    """Return what an exception says, on one line and not without end."""
    try:
        text = " ".join(str(cause).split())
    except Exception:  # its __str__ is the user's own too
        text = ""
    return (text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ...") or "no message"


class KernelFileContentError(PerfModelError, AttributeError):
    """A kernel file defines none of the names looked for."""

    path: str | Path
    wanted: tuple[str, ...]
    message = """'{path}' defines neither of: {wanted}; define one (kernel() returns a loopy.TranslationUnit, variants()
    a dict of name to TranslationUnit, KERNEL is a perfmodel.kernels.KernelClass)."""


class KernelFileTypeError(PerfModelError, TypeError):
    """Something in a kernel file has the wrong type."""

    path: str | Path
    name: str
    found: str
    allowed: str
    message = "'{path}': {name} is or returns {found}; it must be {allowed}: change it to that."


class DuplicateKernelError(PerfModelError, ValueError):
    """Two kernel classes of one folder have the same name."""

    name: str
    folder: str | Path
    message = "two kernel classes in '{folder}' are named '{name}'; names must differ: rename one."


class UnknownVariantError(PerfModelError, LookupError):
    """A kernel file has no variant of that name."""

    name: str
    allowed: tuple[str, ...]
    message = "the kernel file has no variant '{name}'; choose one of: {allowed}."


class VariantError(PerfModelError, ValueError):
    """One of a kernel file's variants cannot be counted, or predicted."""

    name: str
    problem: str  # the text of its error
    message = "variant '{name}': {problem} Or leave this variant out of the file."


class SpaceError(AdviceError):
    """A space of transformations has no variants, or a part of it makes no sense."""


class TuningError(AdviceError):
    """A search for the fastest variant cannot begin."""


class KernelArgumentError(PerfModelError, ValueError):
    """Values were given for other scalar arguments than a kernel has."""

    kernel: str
    wanted: tuple[str, ...]
    given: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"kernel '{self.kernel}' has the scalar arguments ({', '.join(sorted(self.wanted))}), but values "
            f"were given for ({', '.join(sorted(self.given))}); name them all in sizes and scalars."
        )


class GivenArgumentError(PerfModelError, ValueError):
    """A user's function ``arguments()`` gives something else than an argument of the kernel."""

    kernel: str
    name: str
    found: str  # as "is of type list"
    allowed: str
    message = """arguments() gives '{name}' for the kernel '{kernel}', and it {found}; give {allowed}, or leave it out
    and it is made from the kernel's own types and shapes."""


class ReferenceOutputError(PerfModelError, ValueError):
    """A user's function ``reference()`` gives nothing that the outputs of variants can be compared with."""

    found: str  # as "returns list"
    allowed: str
    message = """reference() {found}; give {allowed}, or leave the function out and variants are compared with each
    other."""


class TrialError(PerfModelError, RuntimeError):
    """A variant cannot be built, counted or run."""

    variant: str
    status: str  # of a record: compile, runtime, ...
    problem: str
    message = "variant '{variant}' failed ({status}: {problem}); mend it, or leave it out."


class UnpicklableVariantError(PerfModelError, TypeError):
    """A variant cannot be sent to another process."""

    name: str
    problem: str
    message = """variant '{name}' cannot be sent to another process ({problem}); give a function that builds it from
    plain values and holds no lock, open file or device, or use jobs=1."""


class WorkerDiedError(PerfModelError, RuntimeError):
    """Two processes died while they worked on a variant."""

    name: str
    message = """variant '{name}': two processes that worked on it were killed or crashed; run it alone with jobs=1 to
    see why, make its code shorter if the memory is too small, or leave it out."""


class WorkerDiedWarning(PerfModelWarning):
    """A process was killed or crashed; what it had not finished is done again."""
