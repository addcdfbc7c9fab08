"""A user's own families: an expression, or a file with a value ``FAMILY``."""

from __future__ import annotations

import runpy
from dataclasses import replace
from pathlib import Path

from perfmodel.errors import FamilyFileError
from perfmodel.models.model import EXPRESSION, Family


def defined_family(definition: str) -> Family:
    """Return the family that a definition stands for: ``expr:...``, or the path of a file.

    Raises
    ------
    ExpressionError
        If the expression cannot be used.
    FamilyFileError
        If the file cannot be run, or has no ``FAMILY``.
    """
    if definition.startswith(EXPRESSION):
        return Family.from_expression(definition.removeprefix(EXPRESSION).strip())
    path = Path(definition)
    if not path.is_file():
        raise FamilyFileError(definition, "does not exist")
    try:
        found = runpy.run_path(str(path), run_name=path.stem).get("FAMILY")
    except Exception as error:  # whatever a user's file raises
        raise FamilyFileError(definition, f"cannot be run ({type(error).__name__}: {error})") from error
    if not isinstance(found, Family):
        raise FamilyFileError(definition, "has no FAMILY")
    return replace(found, definition=definition)


def is_definition(text: str) -> bool:
    """Return whether a text defines a family, and is no name of one.

    Examples
    --------
    >>> is_definition("expr:w_a*launches"), is_definition("mine/toy.py"), is_definition("toy")
    (True, True, False)
    """
    return text.startswith(EXPRESSION) or text.endswith(".py")
