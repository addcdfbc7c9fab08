"""Reading of documents that others may have written: JSON, YAML, and the values that they must give.

Every file that perfmodel reads as data comes through here. A document is read within :data:`LIMITS`, so that no
file makes a reader hang, and only if it has one meaning: no key twice, no number beyond doubles, no alias and no tag.
:func:`value_of` then makes the value of a frozen dataclass (or of a pydantic model) from it, each field checked
strictly against its annotation. A problem is a :class:`~perfmodel.errors.DocumentError`, to which the reader of a file
adds the file and the line.
"""

from __future__ import annotations

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

from perfmodel.errors import ArgumentError, DocumentError, NewerDocumentError, NotFiniteError, OutOfMemoryError

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = [
    "EXACT", "LIMITS", "MOST_LANES", "Limits", "Schema", "is_number", "json_document", "json_text", "one_line",
    "read_file", "reading", "require", "shortened", "value_of", "yaml_document",
]  # fmt: skip

Value = TypeVar("Value")
#: Up to here, every integer is a double; sizes are not larger.
EXACT = 2**53
#: No device has larger sub-groups.
MOST_LANES = 1024
#: Most characters of a value's ``repr``.
WIDTH = 119


@dataclass(frozen=True)
class Limits:
    """What a document may be at most.

    Parameters
    ----------
    bytes
        Size of a file of one document, and of a line of a store [B].
    yaml_bytes
        Size of a YAML document [B]; its reader is slow, and takes a second for this much.
    depth
        How many lists and mappings are inside of each other.
    digits
        Digits of an integer.
    """

    bytes: int = 64 * 2**20
    yaml_bytes: int = 64 * 2**10
    depth: int = 64
    digits: int = 100


LIMITS = Limits()


def require(holds: bool, argument: str, value: object, allowed: str) -> None:
    """Refuse an argument of a function of the interface.

    Raises
    ------
    ArgumentError
        If `holds` is false; it shows the value's type, and a short value.
    """
    if holds:
        return
    kind = type(value).__name__
    if value is None or isinstance(value, bool):
        shown = str(value)
    elif isinstance(value, (str, bytes, int, float)):
        shown = f"{shortened(value, 40)} ({kind})"
    else:
        shown = f"of the type {kind}"
    raise ArgumentError(argument, shown, allowed)


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


def one_line(text: str) -> str:
    r"""Return a text for ``repr``: in one line, and without its middle where it is longer than :data:`WIDTH`.

    Examples
    --------
    >>> one_line("<Count:\n n>")
    '<Count: n>'
    """
    return shortened(" ".join(text.split()), WIDTH, quoted=False)


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
        document = _DECODER.decode(text)
        if "\\ud" in text.lower():
            json.dumps(document, ensure_ascii=False).encode()
    except DocumentError:
        raise
    except UnicodeError as error:
        raise DocumentError("holds bytes or characters that are not UTF-8") from error
    except ValueError as error:
        raise DocumentError(f"is no JSON ({error})") from error
    except RecursionError:
        raise _too_deep() from None
    _check_depth(document)
    return document


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        repeated = Counter(name for name, _ in pairs)
        twice = next(name for name, count in repeated.items() if count > 1)
        raise DocumentError(f"has the key {shortened(twice)} twice")
    return members


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
        first = _not_finite(part, inner)
        if first[0]:
            return first
    return "", math.nan


def yaml_document(content: bytes) -> Any:
    """Return the document of a YAML text in UTF-8.

    Raises
    ------
    DocumentError
        If it is no YAML, has a key twice, an alias or a tag, or is beyond :data:`LIMITS`.
    """
    if len(content) > LIMITS.yaml_bytes:
        raise DocumentError(f"has more than {LIMITS.yaml_bytes} bytes, the most that is read")
    try:
        return yaml.load(content.decode(), _Loader)
    except UnicodeDecodeError as error:
        raise DocumentError("holds bytes that are not UTF-8") from error
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        if isinstance(error, DocumentError):
            raise
        raise DocumentError(f"is no YAML: {shortened(' '.join(str(error).split()), quoted=False)}") from error


class _Loader(yaml.SafeLoader):
    level = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Refuse what may make a document large or give it another type, before its content is read."""
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise DocumentError(f"uses an anchor or alias in line {line}; write the value out")
        if event.tag is not None:
            raise DocumentError(f"uses the tag {event.tag!r} in line {line}; leave it out")
        if self.level > LIMITS.depth:
            raise DocumentError(f"nests lists and mappings more than {LIMITS.depth} levels deep")
        self.level += 1
        node = super().compose_node(parent, index)
        self.level -= 1
        return node

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        """Refuse a key that is no word, or that is there already."""
        seen: set[str] = set()
        for key, _ in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode) or key.tag != "tag:yaml.org,2002:str":
                raise DocumentError(f"has a key that is no word in line {line}")
            if key.value in seen:
                raise DocumentError(f"has the key '{key.value:.40}' twice, again in line {line}")
            seen.add(key.value)
        return super().construct_mapping(node, deep)

    def construct_yaml_int(self, node: Any) -> Any:
        """Refuse a number of base 60, and one of too many digits."""
        if ":" in node.value:  # YAML 1.1 reads 1:30 as 90
            raise DocumentError(f"holds {node.value:.40} in line {node.start_mark.line + 1}, which is no number")
        if len(node.value) > LIMITS.digits:
            raise DocumentError(f"holds an integer of {len(node.value)} digits; {LIMITS.digits} are read at most")
        return super().construct_yaml_int(node)


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_yaml_int)


@dataclass(frozen=True)
class Schema:
    """The schema that documents must have, as ``perfmodel.weights/2``.

    Parameters
    ----------
    text
        Its name and version.
    renewal
        What makes a document of this version out of an older one, for messages.
    """

    text: str
    renewal: str

    def check(self, document: Any) -> None:
        """Raise an error unless a document is of this schema; one of a newer or an older version gets its own words."""
        schema = document.get("schema") if isinstance(document, dict) else None
        if schema == self.text:
            return
        name, _, version = self.text.partition("/")
        if not isinstance(schema, str):
            raise DocumentError(f"has no schema; '{self.text}' is expected")
        other = re.fullmatch(rf"{re.escape(name)}/(\d{{1,9}})", schema)
        if other is None:
            raise DocumentError(f"has schema {shortened(schema)}; '{self.text}' is expected")
        if int(other[1]) > int(version):
            raise NewerDocumentError(schema, self.text)
        raise DocumentError(f"has the older schema '{schema}', and this is '{self.text}': {self.renewal}")


@contextmanager
def reading(path: str | Path) -> Iterator[None]:
    """Name the file where memory ends while a block reads it: no record of it is taken for a damaged one.

    Raises
    ------
    OutOfMemoryError
        If it does.
    """
    try:
        yield
    except MemoryError as error:
        raise OutOfMemoryError(f"the reading of '{path}'") from error


def read_file(path: str | Path, most: int = LIMITS.bytes) -> bytes:
    """Return the bytes of a file.

    Raises
    ------
    DocumentError
        If it cannot be read, or has more than `most` bytes.
    OutOfMemoryError
        If memory ends.
    """
    try:
        with reading(path), Path(path).open("rb") as stream:
            content = stream.read(most + 1)
    except (OSError, ValueError) as error:  # a name with a zero byte is a ValueError
        raise DocumentError(f"cannot be read ({getattr(error, 'strerror', None) or error})") from error
    if len(content) > most:
        raise DocumentError(f"has more than {most} bytes, the most that is read")
    return content


def value_of(kind: type[Value], content: bytes, schema: Schema | None = None) -> Value:
    """Return the value of a frozen dataclass, or of a pydantic model, that a JSON text describes.

    Every field must be there unless it has a default, and be of its annotated type: text is no number.

    Raises
    ------
    DocumentError
        As :func:`json_document`; and if the document is not of the schema, or a field is not as annotated.
    """
    from pydantic import ValidationError

    document = json_document(content)
    if schema is not None:
        schema.check(document)
    try:
        value: Value = _adapter(kind).validate_json(content, strict=True)  # type: ignore[arg-type]  # a class is hashable
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = f"field '{'.'.join(map(str, first['loc']))}'" if first["loc"] else "the document"
        given = first.get("input")
        short = given is None or isinstance(given, str | int | float | bool)
        held = f" (found {shortened(given, 40)})" if short else ""
        said = first["msg"].removeprefix("Value error, ")
        raise DocumentError(f"is not valid: {where}: {said}{held}") from error
    return value


@lru_cache(maxsize=64)
def _adapter(kind: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)
