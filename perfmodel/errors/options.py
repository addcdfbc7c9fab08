"""What goes wrong with the options of a command, and with the libraries that an option needs."""

from __future__ import annotations

from perfmodel.errors.base import PerfModelError


class OptionError(PerfModelError, ValueError):
    """An option of the command line is unknown in this place, or contradicts another."""

    problem: str
    advice: str

    def __str__(self) -> str:
        return f"{self.problem}; {self.advice}."


class SizeOptionError(PerfModelError, ValueError):
    """A size on the command line is not of the form NAME=INTEGER."""

    text: str

    def __str__(self) -> str:
        return f"'-p {self.text}' is no size; give NAME=INTEGER, as in -p n=1024."


class NothingAskedError(PerfModelError, ValueError):
    """A command was given none of the options of which it needs at least one."""

    allowed: tuple[str, ...]

    def __str__(self) -> str:
        return f"nothing was asked for; give at least one of: {', '.join(self.allowed)}."


class MissingExtraError(PerfModelError, ImportError):
    """A library that is needed only for this is not installed."""

    library: str
    extra: str  # of perfmodel, which installs the library

    def __str__(self) -> str:
        return (
            f"this needs {self.library}, which is not installed; install it with: "
            f"pip install 'perfmodel[{self.extra}]', or in a clone: pip install -e '.[{self.extra}]'."
        )
