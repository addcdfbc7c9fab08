"""JSON within limits, and with one meaning: no key twice, no number that JSON does not know."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

from perfmodel.documents.limits import LIMITS, shortened
from perfmodel.errors import DocumentError


def json_document(content: bytes) -> Any:
    """Return the document of a JSON text in UTF-8.

    Raises
    ------
    DocumentError
        If it is no JSON, has a key twice, ``NaN``, a number beyond doubles, or is beyond :data:`LIMITS`.

    Examples
    --------
    >>> json_document(b'{"a": [1, 2.5]}')
    {'a': [1, 2.5]}
    """
    try:
        text = content.decode()
        found = _DECODER.decode(text)
        if "\\ud" in text.lower():
            json.dumps(found, ensure_ascii=False).encode()
    except DocumentError:
        raise
    except UnicodeError as error:
        raise DocumentError("holds bytes or characters that are not UTF-8") from error
    except ValueError as error:
        raise DocumentError(f"is no JSON ({error})") from error
    except RecursionError:
        raise _too_deep() from None
    _check_depth(found)
    return found


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise DocumentError(f"has the key {shortened(_first_twice(name for name, _ in pairs))} twice")
    return found


def _first_twice(names: Iterable[str]) -> str:
    seen: set[str] = set()
    return next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]


def _integer(text: str) -> int:
    if len(text) > LIMITS.digits:
        raise DocumentError(f"holds an integer of {len(text)} digits; {LIMITS.digits} are read at most")
    return int(text)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise DocumentError(f"holds {shortened(text, 40, quoted=False)}, which is beyond every double")
    return value


def _no_number(text: str) -> float:
    raise DocumentError(f"holds {text}, which is no number of JSON")


def _check_depth(document: Any) -> None:
    level, depth = [document], 0
    while level:
        if depth >= LIMITS.depth:
            raise _too_deep()
        depth += 1
        level = [
            child
            for node in level if isinstance(node, (dict, list))
            for child in (node.values() if isinstance(node, dict) else node) if isinstance(child, (dict, list))
        ]  # fmt: skip


def _too_deep() -> DocumentError:
    return DocumentError(f"nests lists and objects more than {LIMITS.depth} levels deep")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_int=_integer, parse_float=_finite, parse_constant=_no_number
)
