"""Reading of documents that others may have written: JSON, YAML, and the values that they must give.

Every file that perfmodel reads as data comes through here. A document is read within :data:`LIMITS`, so that no
file makes a reader hang, and only if it has one meaning. :func:`value_of` then makes the value of a frozen dataclass
(or of a pydantic model) from it, each field checked strictly against its annotation. A problem is a
:class:`~perfmodel.errors.DocumentError`, to which the reader of a file adds the file and the line.
"""

from perfmodel.documents.texts import (
    EXACT,
    LIMITS,
    MOST_LANES,
    Limits,
    is_number,
    json_document,
    json_text,
    one_line,
    require,
    shortened,
    yaml_document,
)  # fmt: skip
from perfmodel.documents.values import Schema, read_file, reading, value_of

__all__ = [
    "EXACT", "LIMITS", "MOST_LANES", "Limits", "Schema", "is_number", "json_document", "json_text", "one_line",
    "read_file", "reading", "require", "shortened", "value_of", "yaml_document",
]  # fmt: skip
