"""Files of documents, the schema of a document, and the values that documents must give."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from perfmodel.documents.texts import LIMITS, json_document, shortened
from perfmodel.errors import DocumentError, NewerDocumentError, OutOfMemoryError

if TYPE_CHECKING:
    from pydantic import TypeAdapter

Value = TypeVar("Value")


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
        found = document.get("schema") if isinstance(document, dict) else None
        if found == self.text:
            return
        name, _, version = self.text.partition("/")
        if not isinstance(found, str):
            raise DocumentError(f"has no schema; '{self.text}' is expected")
        other = re.fullmatch(rf"{re.escape(name)}/(\d{{1,9}})", found)
        if other is None:
            raise DocumentError(f"has schema {shortened(found)}; '{self.text}' is expected")
        if int(other[1]) > int(version):
            raise NewerDocumentError(found, self.text)
        raise DocumentError(f"has the older schema '{found}', and this is '{self.text}': {self.renewal}")


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
        found: Value = _adapter(kind).validate_json(content, strict=True)  # type: ignore[arg-type]  # a class is hashable
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = f"field '{'.'.join(map(str, first['loc']))}'" if first["loc"] else "the document"
        said = first["msg"].removeprefix("Value error, ")
        raise DocumentError(f"is not valid: {where}: {said}{_found(first)}") from error
    return found


def _found(problem: Any) -> str:
    """Return what a field holds, where that is short."""
    given = problem.get("input")
    simple = given is None or isinstance(given, str | int | float | bool)
    return f" (found {shortened(given, 40)})" if simple else ""


@lru_cache(maxsize=64)
def _adapter(kind: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)
