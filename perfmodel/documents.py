"""Strict reading of JSON and YAML documents of limited size, and checks of values.

A problem is a :class:`~perfmodel.errors.DocumentError`. The reader of a file adds the name of the file.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import yaml

from perfmodel.errors import ArgumentError, DocumentError, OutOfMemoryError

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = ["Schema", "json_document", "json_text", "read_file", "value_of", "yaml_document"]

Value = TypeVar("Value")
EXACT = 2**53  # doubles represent every integer up to this one; sizes must not be larger
MOST_LANES = 1024  # largest sub-group size of any device
WIDTH = 119  # longest ``repr`` of a value [characters]
MOST_BYTES = 64 * 2**20  # of a file with one document, and of a line of a store
MOST_YAML_BYTES = 64 * 2**10  # of a YAML document; its reader takes a second for this much
MOST_LEVELS = 64  # of nested lists and mappings
MOST_DIGITS = 100  # of an integer


def require(holds: bool, argument: str, value: object, allowed: str) -> None:
    """If `holds` is false, raise an ArgumentError with the argument, its value or type, and what is allowed."""
    if holds:
        return
    shown, kind = f"of the type {type(value).__name__}", type(value).__name__
    if value is None or isinstance(value, (str, bytes, int, float)):
        shown = shortened(value, 40) + ("" if value is None or isinstance(value, bool) else f" ({kind})")
    raise ArgumentError(f"{argument} is {shown}", f"give {allowed}")


def is_number(value: object) -> bool:
    """Whether a value is a real number. True and False are no numbers."""
    return isinstance(value, Real) and not isinstance(value, bool)


def shortened(value: object, most: int = 80, *, quoted: bool = True) -> str:
    """Return the ``repr`` of a value, or its text, without the middle if it is long."""
    try:
        text = repr(value) if quoted else str(value)
    except (ValueError, RecursionError):  # Python limits the digits of a printed integer
        text = f"{type(value).__name__} that is too long to show"
    head = (most - 3) // 2
    return text if len(text) <= most else f"{text[:head]}...{text[head + 3 - most :]}"


def one_line(text: str) -> str:
    """Return a text on one line for ``repr``, without the middle if it is longer than :data:`WIDTH`."""
    return shortened(" ".join(text.split()), WIDTH, quoted=False)


def json_document(content: bytes) -> Any:
    """Return the document of a JSON text, without repeated keys, with finite numbers, within the limits."""
    try:
        text = content.decode()
        document = _DECODER.decode(text)
        if "\\ud" in text.lower():
            json.dumps(document, ensure_ascii=False).encode()
    except DocumentError:
        raise
    except UnicodeError as error:
        raise DocumentError("is not in UTF-8") from error
    except ValueError as error:
        raise DocumentError(f"is not valid JSON ({error})") from error
    except RecursionError:
        raise _too_deep() from None
    _check_depth(document)
    return document


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        name, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise DocumentError(f"has the key {shortened(name)} twice")
    return members


def _integer(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise DocumentError(f"has an integer of {len(text)} digits; at most {MOST_DIGITS} are allowed")
    return int(text)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise DocumentError(f"has {shortened(text, 40, quoted=False)}, which is not a finite number")
    return value


def _check_depth(document: Any) -> None:
    level, depth = [document], 0
    while level := [node for node in level if isinstance(node, (dict, list))]:
        depth += 1
        if depth > MOST_LEVELS:
            raise _too_deep()
        level = [child for node in level for child in (node.values() if isinstance(node, dict) else node)]


def _too_deep() -> DocumentError:
    return DocumentError(f"nests lists and mappings more than {MOST_LEVELS} levels deep")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_int=_integer, parse_float=_finite, parse_constant=_finite)


def canonical(document: Any) -> str:
    """Return a document as JSON with sorted keys. Equal documents give equal text."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"))


def digest_of(document: Any) -> str:
    """Return the SHA-256 of :func:`canonical`."""
    return hashlib.sha256(canonical(document).encode()).hexdigest()


def json_text(document: Any, indent: int | None = None, separators: tuple[str, str] | None = None) -> str:
    """Return a document as JSON. A number that is not finite raises a DocumentError with its position."""
    try:
        return json.dumps(document, indent=indent, separators=separators, allow_nan=False)
    except ValueError:
        for position, number in _not_finite(document, ""):
            problem = f"would hold {number} as '{position or 'the document'}', and JSON has finite numbers only"
            advice = "give other weights, facts, sizes or times: the result is too large or too small for doubles"
            raise DocumentError(problem, advice) from None
        raise


def _not_finite(node: Any, position: str) -> Iterator[tuple[str, float]]:
    """Yield the position of each number that is not finite, as ``points[0].seconds``, and the number."""
    if isinstance(node, float) and not math.isfinite(node):
        yield position, node
    parts = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list | tuple) else ()
    for key, part in parts:
        yield from _not_finite(part, f"{position}[{key}]" if isinstance(key, int) else f"{position}.{key}".lstrip("."))


def yaml_document(content: bytes) -> Any:
    """Return the document of a YAML text, without repeated keys, aliases and tags, within the limits."""
    if len(content) > MOST_YAML_BYTES:
        raise DocumentError(f"has more than {MOST_YAML_BYTES} bytes, the allowed size")
    try:
        return yaml.load(content.decode(), _Loader)
    except DocumentError:
        raise
    except UnicodeDecodeError as error:
        raise DocumentError("is not in UTF-8") from error
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise DocumentError(f"is not valid YAML: {shortened(' '.join(str(error).split()), quoted=False)}") from error


class _Loader(yaml.SafeLoader):
    level = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Refuse aliases (which can make a small text a huge document) and tags before the content is read."""
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise DocumentError(f"uses an anchor or alias in line {line}; write the value out")
        if event.tag is not None:
            raise DocumentError(f"uses the tag {event.tag!r} in line {line}; leave it out")
        if self.level > MOST_LEVELS:
            raise _too_deep()
        self.level += 1
        node = super().compose_node(parent, index)
        self.level -= 1
        return node

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        seen: set[str] = set()
        for key, _ in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode) or key.tag != "tag:yaml.org,2002:str":
                raise DocumentError(f"has a key in line {line} that is not a string")
            if key.value in seen:
                raise DocumentError(f"has the key '{key.value:.40}' twice, again in line {line}")
            seen.add(key.value)
        return super().construct_mapping(node, deep)


@dataclass(frozen=True)
class Schema:
    """The schema that a document must have."""

    text: str  # its name and version, as ``perfmodel.weights/2``
    renewal: str  # how to make a document of this version again, for messages

    def check(self, document: Any) -> None:
        """Raise a DocumentError if a document has another schema. ``newer`` is true if the version is newer."""
        schema = document.get("schema") if isinstance(document, dict) else None
        if schema == self.text:
            return
        name, _, version = self.text.partition("/")
        other = re.fullmatch(rf"{re.escape(name)}/(\d{{1,9}})", schema) if isinstance(schema, str) else None
        if other is None:
            found = f"schema {shortened(schema)}" if isinstance(schema, str) else "no schema"
            raise DocumentError(f"has {found}; '{self.text}' is expected")
        if int(other[1]) > int(version):
            problem = f"has schema '{schema}', newer than '{self.text}'; update perfmodel to read it"
            raise DocumentError(problem, newer=True)
        raise DocumentError(f"has the older schema '{schema}' instead of '{self.text}'; {self.renewal}")


@contextmanager
def reading(path: str | Path) -> Iterator[None]:
    """Raise an OutOfMemoryError that names the file if a block runs out of memory."""
    try:
        yield
    except MemoryError as error:
        problem = f"out of memory while reading '{path}'"
        raise OutOfMemoryError(problem, "free memory, or give a smaller file; written files are intact") from error


def read_file(path: str | Path, most: int = MOST_BYTES) -> bytes:
    """Return the bytes of a file. Raise a DocumentError if the file cannot be read or is too large."""
    try:
        with reading(path), Path(path).open("rb") as stream:
            content = stream.read(most + 1)
    except (OSError, ValueError) as error:  # a name with a zero byte is a ValueError
        raise DocumentError(f"cannot be read ({getattr(error, 'strerror', None) or error})") from error
    if len(content) > most:
        raise DocumentError(f"has more than {most} bytes, the allowed size")
    return content


def value_of(kind: type[Value], content: bytes, schema: Schema | None = None) -> Value:
    """Return the value that a JSON text describes, without conversion of types, or raise a DocumentError."""
    from pydantic import ValidationError

    document = json_document(content)
    if schema is not None:
        schema.check(document)
    try:
        value: Value = _adapter(kind).validate_json(content, strict=True)  # type: ignore[arg-type]  # a class is hashable
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = f"field '{'.'.join(map(str, first['loc']))}'" if first["loc"] else "the document"
        given = first.get("input")
        short = given is None or isinstance(given, str | int | float | bool)
        found = f" (found {shortened(given, 40)})" if short else ""
        raise DocumentError(f"is not valid: {field}: {first['msg'].removeprefix('Value error, ')}{found}") from error
    return value


@lru_cache(maxsize=64)
def _adapter(kind: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)
