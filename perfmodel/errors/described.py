"""The older exceptions are dataclasses with a template as text. New code uses :mod:`perfmodel.errors.base`."""

from __future__ import annotations

import copyreg
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from itertools import accumulate
from pathlib import Path
from string import Formatter
from typing import Any, ClassVar

from typing_extensions import dataclass_transform

from perfmodel.errors.base import LONGEST, LONGEST_LIST, PerfModelError


class _ErrorText(Formatter):
    """Fills a template with the attributes of an error, by the rules of ``str.format`` and two more.

    A tuple of names is joined by ", ", or by the words after a colon: ``{names: or }``; an empty one is "none", and
    of a long one the last names are left out. ``{names!n}`` is the number of names.
    """

    def get_value(self, key: int | str, args: Any, kwargs: Any) -> Any:
        return getattr(args[0], str(key))

    def convert_field(self, value: Any, conversion: Any) -> Any:
        return len(value) if conversion == "n" else super().convert_field(value, conversion)

    def format_field(self, value: Any, format_spec: str) -> Any:
        if isinstance(value, tuple):
            parts = [self.format_field(part, "") for part in value]
            kept = max(sum(length <= LONGEST_LIST for length in accumulate(map(len, parts))), 1)
            left = [f"{len(parts) - kept} others"] if kept < len(parts) else []
            return (format_spec or ", ").join([*parts[:kept], *left]) or "none"
        text: str = super().format_field(value, format_spec)
        return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} ... {text[-LONGEST // 2 :]}"


_TEXT = _ErrorText()


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
class DescribedError(PerfModelError):
    """Base of the older exceptions, each a dataclass whose text is a template.

    Each subclass is made a dataclass: it declares as fields the data that its text names, and gives the text as a
    template in ``message`` (line breaks become spaces), or in ``__str__`` where the text needs a decision. A field
    with ``init=False`` and a default is a template too. It also derives from the builtin that a caller would catch.

    Examples
    --------
    >>> class TooManyGroupsError(DescribedError, ValueError):
    ...     found: int
    ...     message = "{found} work-groups do not fit on the device; launch fewer."
    >>> str(TooManyGroupsError(70000))
    '70000 work-groups do not fit on the device; launch fewer.'
    """

    message: ClassVar[str] = ""

    def __init_subclass__(cls, **options: Any) -> None:
        cls.message = " ".join(cls.message.split())
        dataclass(eq=False)(cls)  # before the base changes the module, in which it looks for annotations
        super().__init_subclass__(**options)

    def __post_init__(self) -> None:
        """Keep paths as text, as messages and JSON show them, and fill in the fields that are templates."""
        vars(self).update({name: str(value) for name, value in vars(self).items() if isinstance(value, Path)})
        for template in fields(self):  # type: ignore[arg-type]  # each subclass is a dataclass
            if not template.init and template.default is not MISSING:
                vars(self)[template.name] = _TEXT.format(str(template.default), self)

    def __str__(self) -> str:
        return _TEXT.format(self.message, self) if self.message else Exception.__str__(self)

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


class DescribedNameError(DescribedError):
    """A name was asked for that nothing has."""

    name: object
    allowed: tuple[str, ...]
    kind: ClassVar[str] = "thing"  # what was looked for
    message = "no {kind} is called {name!r}; choose one of: {allowed}."
