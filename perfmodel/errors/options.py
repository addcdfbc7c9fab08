"""What goes wrong with the options of a command, and with the libraries that an option needs."""

from __future__ import annotations

from perfmodel.errors.base import PerfModelError


class OptionError(PerfModelError, ValueError):
    """An option of the command line is unknown in this place, or contradicts another."""

    problem: str
    advice: str
    message = "{problem}; {advice}."


class SizeOptionError(PerfModelError, ValueError):
    """A size on the command line is not of the form NAME=INTEGER."""

    text: str
    message = "'-p {text}' is no size; give NAME=INTEGER, as in -p n=1024."


class NothingAskedError(PerfModelError, ValueError):
    """A command was given none of the options of which it needs at least one."""

    allowed: tuple[str, ...]
    message = "nothing was asked for; give at least one of: {allowed}."


class MissingExtraError(PerfModelError, ImportError):
    """A library that is needed only for this is not installed."""

    library: str
    extra: str  # of perfmodel, which installs the library
    message = """this needs {library}, which is not installed; install it with: pip install 'perfmodel[{extra}]', or in
    a clone: pip install -e '.[{extra}]'."""
