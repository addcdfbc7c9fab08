"""What goes wrong with the options of a command, and with the libraries that an option needs."""

from __future__ import annotations

from perfmodel.errors.base import PerfModelError, underlined


class OptionError(PerfModelError, ValueError):
    """An option of the command line is unknown in this place, or contradicts another."""

    problem: str
    advice: str
    message = "{problem}; {advice}."


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


class NothingAskedError(PerfModelError, ValueError):
    """A command was given none of the options of which it needs at least one."""

    allowed: tuple[str, ...]
    message = "nothing was asked for; give at least one of: {allowed}."


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
