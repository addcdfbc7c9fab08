"""Parts of a document of counts, checked while they are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import islpy as isl

from perfmodel.documents import MOST_LANES, shortened
from perfmodel.errors import CountsFormatError

#: Types that a size may have; any other is taken as the widest.
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


@contextmanager
def reading_counts() -> Iterator[None]:
    """Raise what goes wrong in the document of a count as a :class:`~perfmodel.errors.CountsFormatError`."""
    try:
        yield
    except KeyError as error:
        raise CountsFormatError(f"lacks {shortened(error.args[0])}") from error
    except (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, RecursionError, isl.Error) as error:
        if isinstance(error, CountsFormatError):
            raise
        said = shortened(" ".join(str(error).split()), 200, quoted=False)
        raise CountsFormatError(f"holds a part that is no count ({said})") from error


def given(document: Mapping[str, Any], name: str, kind: type[Any], each: type[Any] = object) -> Any:
    """Return a part of a document, which must be of a type, and the items of a list too."""
    found = document[name]
    if not isinstance(found, kind) or (kind is list and not all(isinstance(one, each) for one in found)):
        raise CountsFormatError(f"has {name} = {shortened(found)}, which is of another type")
    return found


def size_types(found: Any) -> dict[str, str]:
    """Return the types of arguments by their names, if each is a type of integers."""
    if not isinstance(found, dict) or not all(isinstance(one, str) and one in INTEGERS for one in found.values()):
        raise CountsFormatError(f"has types = {shortened(found)}; they are {', '.join(INTEGERS)}, by argument")
    return found


def lanes(found: Any) -> int:
    """Return the size of sub-groups, if it can be one."""
    if type(found) is not int or not 1 <= found <= MOST_LANES:
        raise CountsFormatError(f"has subgroup_size = {shortened(found)}; it is an integer from 1 to {MOST_LANES}")
    return found
