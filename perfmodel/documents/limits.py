"""What a document may be at most, and how its pieces are shown in messages."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

from perfmodel.errors import ArgumentError

EXACT = 2**53
"""Up to here, every integer is a double; sizes are not larger."""

MOST_LANES = 1024
"""No device has larger sub-groups."""


@dataclass(frozen=True)
class Limits:
    """What a document may be at most."""

    bytes: int = 64 * 2**20  # of a file of one document, and of a line of a store
    yaml_bytes: int = 64 * 2**10  # its reader is slow: a second for this much
    depth: int = 64  # lists and mappings inside of each other
    digits: int = 100  # of an integer


LIMITS = Limits()


def require(holds: bool, argument: str, value: object, allowed: str) -> None:
    """Refuse an argument of a function of the interface.

    Raises
    ------
    ArgumentError
        If `holds` is false; it shows the value's type, and a short value.
    """
    if not holds:
        kind = type(value).__name__
        short = isinstance(value, (str, bytes, int, float)) and not isinstance(value, bool)
        raise ArgumentError(argument, str(value) if value is None or isinstance(value, bool) else
                            f"{shortened(value, 40)} ({kind})" if short else f"of the type {kind}", allowed)


def is_number(value: object) -> bool:
    """Return whether a value is a real number, and no truth value."""
    return isinstance(value, Real) and not isinstance(value, bool)


def shortened(value: object, most: int = 80, *, quoted: bool = True) -> str:
    """Return a value for a message: the middle of a long one is left out.

    Examples
    --------
    >>> shortened("a" * 50, 21), shortened(17)
    ("'aaaaaaaa...aaaaaaaa'", '17')
    """
    try:
        text = repr(value) if quoted else str(value)
    except (ValueError, RecursionError):  # an integer of too many digits for Python
        text = f"{type(value).__name__} that is too long to show"
    head = (most - 3) // 2
    return text if len(text) <= most else f"{text[:head]}...{text[head + 3 - most :]}"
