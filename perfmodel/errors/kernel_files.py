"""What goes wrong with a user's kernel file, with a folder of kernel classes, and with a kernel's arguments."""

from __future__ import annotations

from dataclasses import InitVar, field
from pathlib import Path

from perfmodel.errors.base import PerfModelError


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

    What it raised is kept as text, since another process may not know its class.
    """

    path: str | Path
    cause: InitVar[BaseException]
    line: int | None = field(init=False)
    raised: str = field(init=False)

    def __post_init__(self, cause: BaseException) -> None:
        super().__post_init__()
        trace, line = cause.__traceback__, None
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == self.path:
                line = trace.tb_lineno
            trace = trace.tb_next
        said = " ".join(str(cause).split()) or "no message"
        vars(self).update(line=line, raised=f"{type(cause).__name__} ({said})")

    def __str__(self) -> str:
        place = f"'{self.path}' line {self.line}" if self.line else f"'{self.path}'"
        return f"{place}: raised {self.raised}; the file must run by itself: try 'python {self.path}'."


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
