"""What the translator knows of a name, and what it notes down for the execution to fill."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

from .dtypes import CType


@dataclass(frozen=True)
class Variable:
    """A C name: its Python name, its type and what it stands for.

    Roles: ``index`` (loop variables, size parameters and integers made from them), ``scalar``, ``cell`` (a scalar
    whose address is taken, held in a one-element list), ``array`` (held in a dictionary by address).
    """

    python: str
    type: CType
    role: str
    space: str = "private"
    root: str = ""
    offset: str = ""

    def moved(self, offset: str) -> Variable:
        """The same array seen through a pointer."""
        return replace(self, offset=offset)


@dataclass(frozen=True)
class Occurrence:
    """One place in the code where an array is read or written."""

    number: int
    space: str
    direction: str
    array: str
    type: CType
    text: str


@dataclass
class Notes:
    """Filled while translating: where arrays are accessed, and what each stretch of code computes."""

    occurrences: list[Occurrence] = field(default_factory=list)
    sites: list[Counter[tuple[str, str]]] = field(default_factory=list)
    local_arrays: list[str] = field(default_factory=list)
    helpers: dict[str, list[str]] = field(default_factory=dict)

    def occurrence(self, variable: Variable, direction: str, kind: CType, text: str) -> int:
        """Note an access; its number."""
        number = len(self.occurrences)
        self.occurrences.append(Occurrence(number, variable.space, direction, variable.root, kind, text))
        return number

    def site(self, operations: Counter[tuple[str, str]]) -> int:
        """Note the operations of a stretch of code; its number."""
        self.sites.append(operations)
        return len(self.sites) - 1
