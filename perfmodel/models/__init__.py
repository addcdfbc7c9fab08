"""Model families: one file for each model of the literature. Each ``FAMILY`` in this folder is found automatically."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import MappingProxyType
from typing import Any

from perfmodel import kernels
from perfmodel.documents import require
from perfmodel.errors import FamilyError, KernelFileError, PerfModelError, UnknownNameError, listed
from perfmodel.models.model import EXPRESSION, Family, bind

__all__ = ["Family", "families", "find_family", "named_family"]


@cache
def families() -> Mapping[str, Family]:
    """Return every model family by name, sorted."""
    modules = (import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__))
    values = (value for module in modules for value in vars(module).values() if isinstance(value, Family))
    return MappingProxyType(dict(sorted((family.name, family) for family in values)))


def find_family(name: str | Family) -> Family:
    """Return the family of that name. A family itself is returned unchanged.

    The name may be ``expr:`` and an expression (:meth:`Family.from_expression`). The name may also be the path of a
    ``.py`` file with a ``FAMILY``. The function runs this file. Raise an UnknownNameError if there is no such family.
    Raise a FamilyError if the expression or the file cannot be used.
    """
    if isinstance(name, Family):
        return name
    require(isinstance(name, str), "family", name, "a Family, or its name")
    return _defined_family(name) if name.startswith(EXPRESSION) or name.endswith(".py") else named_family(name)


def named_family(name: str) -> Family:
    """Return the family of that name among :func:`families`. Raise an UnknownNameError if there is none."""
    if name not in families():
        raise UnknownNameError(f"no model family is called {name!r}", f"choose one of: {listed(families())}")
    return families()[name]


def _defined_family(definition: str) -> Family:
    if definition.startswith(EXPRESSION):
        return Family.from_expression(definition.removeprefix(EXPRESSION).strip())
    path = Path(definition).absolute()
    if not path.is_file():
        raise _bad_file(definition, "does not exist")
    try:
        content, family = path.read_bytes(), kernels.files.execute(path).get("FAMILY")
    except (OSError, KernelFileError) as error:
        problem = error.problem if isinstance(error, KernelFileError) else error
        raise _bad_file(definition, f"cannot be run ({problem})") from error
    if not isinstance(family, Family):
        raise _bad_file(definition, "has no FAMILY")
    _check(definition, family)
    return replace(family, definition=str(path), sha256=hashlib.sha256(content).hexdigest())


def _bad_file(definition: str, problem: str) -> FamilyError:
    problem = f"the family file {definition} {problem}"
    return FamilyError(problem, "it needs a module-level FAMILY = Family(...), as docs/add-a-family.md shows")


def _check(definition: str, family: Family) -> None:
    """Check for mistakes that a fit would not report, for example a text in place of a tuple of texts."""
    try:
        given: dict[str, Any] = {"features": family.features, **family.sums}
        for name, patterns in given.items():
            if isinstance(patterns, str) or not all(isinstance(pattern, str) for pattern in patterns):
                raise _bad_file(definition, f"has {name}={patterns!r}, not a tuple of patterns like ('launches',)")
        texts = {**family.labels, **family.advice, **{weight.name: weight.label for weight in family.weights}}
        for name, label in texts.items():
            if not isinstance(label, str):
                raise _bad_file(definition, f"has {label!r} as the label of '{name}', not a text")
        for weight in family.weights:
            if not all(isinstance(number, int | float) for number in (weight.start or 0.0, weight.lower, weight.upper)):
                raise _bad_file(definition, f"has a weight '{weight.name}' whose start or bounds are not numbers")
        bind(family, ())
    except PerfModelError:
        raise
    except Exception as error:  # any field may have any type
        raised = kernels.files.execution_error(definition, error).raised
        raise _bad_file(definition, f"has a FAMILY that cannot be used ({raised})") from error
