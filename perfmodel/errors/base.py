"""The base of all exceptions: a dataclass with its text in ``__str__``, compared, copied and pickled by its fields."""

from __future__ import annotations

import copyreg
from dataclasses import FrozenInstanceError, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from typing_extensions import dataclass_transform


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
class PerfModelError(Exception):
    """Base of everything that perfmodel raises on purpose.

    Each subclass is made a dataclass: it declares as fields the data that its message names, and
    gives the message in ``__str__``. It also derives from the builtin that a caller would catch.

    Examples
    --------
    >>> class TooManyGroupsError(PerfModelError, ValueError):
    ...     found: int
    ...
    ...     def __str__(self) -> str:
    ...         return f"{self.found} work-groups do not fit on the device; launch fewer."
    >>> str(TooManyGroupsError(70000))
    '70000 work-groups do not fit on the device; launch fewer.'
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        dataclass(eq=False)(cls)

    def __post_init__(self) -> None:
        """Keep paths as text, as messages and JSON show them."""
        vars(self).update({name: str(value) for name, value in vars(self).items() if isinstance(value, Path)})

    # dataclass(frozen=True) would forbid every assignment, but Python and contextlib assign __traceback__,
    # __context__ and __notes__ to exceptions. So each field is set once, and all else stays free.
    def __setattr__(self, name: str, value: object) -> None:
        if name in vars(self) and name in getattr(self, "__dataclass_fields__", ()):
            raise FrozenInstanceError(f"cannot assign to field '{name}'")
        super().__setattr__(name, value)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash((type(self), str(self)))

    def __reduce__(self) -> tuple[Any, ...]:
        # BaseException would call the class with `args`, which need not be what it was made with.
        arguments = () if getattr(self, "__dataclass_fields__", ()) else self.args
        return copyreg.__newobj__, (type(self), *arguments), vars(self)  # type: ignore[attr-defined]


class UnknownNameError(PerfModelError):
    """A name was asked for that nothing has."""

    name: object
    allowed: tuple[str, ...]
    kind: ClassVar[str] = "thing"  # what was looked for

    def __str__(self) -> str:
        return f"no {self.kind} is called {self.name!r}; choose one of: {', '.join(self.allowed)}."
