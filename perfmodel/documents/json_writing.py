"""JSON as perfmodel writes it: every number is finite, because JSON knows no NaN and no infinity."""

from __future__ import annotations

import json
import math
from typing import Any

from perfmodel.errors import NotFiniteError


def json_text(document: Any, indent: int | None = None, separators: tuple[str, str] | None = None) -> str:
    """Return a document as JSON.

    Raises
    ------
    NotFiniteError
        If it holds a number that is NaN or infinite; the message says where.

    Examples
    --------
    >>> json_text({"a": [1, 2.5]})
    '{"a": [1, 2.5]}'
    """
    try:
        return json.dumps(document, indent=indent, separators=separators, allow_nan=False)
    except ValueError:
        place, number = _not_finite(document, "")
        if not place:
            raise
        raise NotFiniteError(place, str(number)) from None


def _not_finite(node: Any, place: str) -> tuple[str, float]:
    """Return where the first number is that is not finite, and the number; no place where there is none."""
    if isinstance(node, float):
        return ("" if math.isfinite(node) else place or "the document"), node
    parts = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list | tuple) else ()
    for key, part in parts:
        inner = f"{place}[{key}]" if isinstance(key, int) else f"{place}.{key}".lstrip(".")
        found = _not_finite(part, inner)
        if found[0]:
            return found
    return "", math.nan
