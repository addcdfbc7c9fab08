"""A user's own families: an expression, or a file with a value ``FAMILY``."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from perfmodel.errors import FamilyFileError, PerfModelError
from perfmodel.models.binding import bind
from perfmodel.models.model import EXPRESSION, Family
from perfmodel.threads import guest_streams


def defined_family(definition: str) -> Family:
    """Return the family that a definition stands for: ``expr:...``, or the path of a file, which is run.

    Raises
    ------
    ExpressionError
        If the expression, or that of the file's family, cannot be used.
    FamilyFileError
        If the file cannot be run, or has no ``FAMILY`` that can be used.
    """
    if definition.startswith(EXPRESSION):
        return Family.from_expression(definition.removeprefix(EXPRESSION).strip())
    path = Path(definition).absolute()
    if not path.is_file():
        raise FamilyFileError(definition, "does not exist")
    try:
        content = path.read_bytes()
        found = _names(path, content).get("FAMILY")
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever a user's file raises, SystemExit too
        raise FamilyFileError(definition, f"cannot be run ({type(error).__name__}: {error})") from error
    if not isinstance(found, Family):
        raise FamilyFileError(definition, "has no FAMILY")
    _check(definition, found)
    return replace(found, definition=str(path), sha256=hashlib.sha256(content).hexdigest())


def _names(path: Path, content: bytes) -> dict[str, Any]:
    """Run the content of a file as a module, and return the names that it defines; its prints are no results."""
    module = ModuleType(f"{path.stem}_{hashlib.sha256(content).hexdigest()[:16]}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses in the file look themselves up there
    try:
        with guest_streams():
            exec(compile(content, str(path), "exec"), vars(module))
    except BaseException:
        del sys.modules[module.__name__]
        raise
    return vars(module)


def _check(definition: str, family: Family) -> None:
    """Check what a typing error leaves unnoticed until a fit has no feature: a text in place of a tuple of texts."""
    try:
        given: dict[str, Any] = {"features": family.features, **family.sums}
        for name, patterns in given.items():
            if isinstance(patterns, str) or not all(isinstance(one, str) for one in patterns):
                raise FamilyFileError(definition, f"has {name}={patterns!r}, no tuple of patterns like ('launches',)")
        said = {**family.words, **family.advice, **{weight.name: weight.words for weight in family.weights}}
        for name, words in said.items():
            if not isinstance(words, str):
                raise FamilyFileError(definition, f"has {words!r} as the words of '{name}', no text")
        for weight in family.weights:
            if not all(isinstance(one, int | float) for one in (weight.start or 0.0, weight.lower, weight.upper)):
                raise FamilyFileError(definition, f"has a weight '{weight.name}' whose start or bounds are no numbers")
        bind(family, ())
    except PerfModelError:
        raise
    except Exception as error:  # any field may be of any type
        raise FamilyFileError(definition, f"has a FAMILY of no use ({type(error).__name__}: {error})") from error


def is_definition(text: str) -> bool:
    """Return whether a text defines a family, and is no name of one.

    Examples
    --------
    >>> is_definition("expr:w_a*launches"), is_definition("mine/toy.py"), is_definition("toy")
    (True, True, False)
    """
    return text.startswith(EXPRESSION) or text.endswith(".py")
