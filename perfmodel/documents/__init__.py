"""Reading of documents that others may have written: JSON, YAML, and the values that they must give.

Every file that perfmodel reads as data comes through here. A document is read within :data:`LIMITS`, so that no
file makes a reader hang, and only if it has one meaning. :func:`value_of` then makes the value of a frozen dataclass
(or of a pydantic model) from it, each field checked strictly against its annotation. A problem is a
:class:`~perfmodel.errors.DocumentError`, to which the reader of a file adds the file and the line.
"""

from perfmodel.documents.json_reading import json_document
from perfmodel.documents.json_writing import json_text
from perfmodel.documents.limits import EXACT, LIMITS, MOST_LANES, Limits, is_number, require, shortened
from perfmodel.documents.schema import Schema
from perfmodel.documents.values import read_file, reading, value_of
from perfmodel.documents.yaml_reading import yaml_document

__all__ = [
    "EXACT",
    "LIMITS",
    "MOST_LANES",
    "Limits",
    "Schema",
    "is_number",
    "json_document",
    "json_text",
    "read_file",
    "reading",
    "require",
    "shortened",
    "value_of",
    "yaml_document",
]
