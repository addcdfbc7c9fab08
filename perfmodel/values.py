"""Frozen values that can be copied and pickled."""

from __future__ import annotations

import copyreg
from functools import cached_property
from types import MappingProxyType
from typing import Any


class FrozenValue:
    """Base of frozen dataclasses with cached properties: copies and pickles hold the fields only.

    A cached property may hold generated functions, which cannot be pickled, or objects of one process.
    """

    def __getstate__(self) -> dict[str, Any]:
        kind = type(self)
        cached = {name for name in vars(self) if isinstance(getattr(kind, name, None), cached_property)}
        return {name: value for name, value in vars(self).items() if name not in cached}


def _read_only(content: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(content)


# Python neither pickles nor copies read-only mappings.
copyreg.pickle(MappingProxyType, lambda mapping: (_read_only, (dict(mapping),)))
