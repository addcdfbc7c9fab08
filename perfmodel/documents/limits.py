"""What a document may be at most, and how its pieces are shown in messages."""

from __future__ import annotations

from dataclasses import dataclass

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
