"""Model families: one small file each, with a module-level value ``FAMILY``.

Every file in this folder is found without a list of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType

from perfmodel.documents import require
from perfmodel.errors import UnknownFamilyError
from perfmodel.models.model import Family
from perfmodel.models.own import defined_family, is_definition

__all__ = ["Family", "families", "find_family", "named_family"]


@cache
def families() -> Mapping[str, Family]:
    """Return every model family by name, sorted.

    Examples
    --------
    >>> "stevens_kloeckner_2016" in families()
    True
    """
    found = {}
    for module in iter_modules(__path__):
        value = getattr(import_module(f"{__name__}.{module.name}"), "FAMILY", None)
        if isinstance(value, Family):
            found[value.name] = value
    return MappingProxyType(dict(sorted(found.items())))


def find_family(name: str | Family) -> Family:
    """Return the family of that name; a family itself is returned as it is.

    Parameters
    ----------
    name
        A family's name, or the definition of one: ``expr:`` and an expression over features and weights
        (:meth:`Family.from_expression`), or the path of a ``.py`` file with a ``FAMILY``,
        which is run.

    Raises
    ------
    UnknownFamilyError
        If there is none; the message lists those that exist.
    ExpressionError
        If the expression cannot be used.
    FamilyFileError
        If the file has no family that can be used.
    """
    if isinstance(name, Family):
        return name
    require(isinstance(name, str), "family", name, "a Family, or its name")
    if is_definition(name):
        return defined_family(name)
    return named_family(name)


def named_family(name: str) -> Family:
    """Return the family of that name among :func:`families`; nothing that the name may stand for is run.

    Raises
    ------
    UnknownFamilyError
        If there is none; the message lists those that exist.
    """
    if name not in families():
        raise UnknownFamilyError(name, tuple(families()))
    return families()[name]
