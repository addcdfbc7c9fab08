"""The schema of a document: its name and version, and what to do about another version."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from perfmodel.documents.limits import shortened
from perfmodel.errors import DocumentError, NewerDocumentError


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
