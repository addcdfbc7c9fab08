"""Whether a kernel can be built: Loopy's checks and its code generation, and the bounds of arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import loopy as lp

from perfmodel.counts.reading.checks.bounds import refuse_outside
from perfmodel.counts.reading.checks.refusals import refusals
from perfmodel.errors import IncompleteKernelError, OutOfBoundsError, UntypedArgumentsError

Refused: TypeAlias = IncompleteKernelError | OutOfBoundsError
KINDS: Mapping[str, Callable[..., Refused]] = {
    kind.__name__: kind for kind in (IncompleteKernelError, OutOfBoundsError, UntypedArgumentsError)
}


@dataclass(frozen=True)
class BuildCheck:
    """The result of a check, which the cache keeps.

    Attributes
    ----------
    refusal : IncompleteKernelError, OutOfBoundsError or None
        Why the kernel cannot be built; None where it can.
    """

    refusal: Refused | None = None

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-able dictionary."""
        if self.refusal is None:
            return {"refusal": None}
        given = {one.name: getattr(self.refusal, one.name) for one in fields(self.refusal) if one.init}
        return {"refusal": type(self.refusal).__name__, **given}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> BuildCheck:
        """Read what :meth:`to_json` wrote."""
        given = {key: tuple(value) if isinstance(value, list) else value for key, value in document.items()}
        kind: Any = given.pop("refusal")
        return cls(None if kind is None else KINDS[kind](**given))

    def refuse(self) -> None:
        """Raise the refusal, if there is one."""
        if self.refusal is not None:
            raise _fresh(self.refusal)


def check(scheduled: Callable[[], lp.TranslationUnit]) -> BuildCheck:
    """Return whether Loopy writes code for a kernel, and whether that code stays inside of its arrays.

    ``scheduled`` is called for the kernel, as it is scheduled; it may raise Loopy's refusal.
    """
    try:
        t_unit = scheduled()
        with refusals(t_unit):
            lp.generate_code_v2(t_unit)
        refuse_outside(t_unit)
    except (IncompleteKernelError, OutOfBoundsError) as error:
        return BuildCheck(_fresh(error))
    return BuildCheck()


def _fresh(error: Refused) -> Refused:
    """Return a copy without the traceback of whoever raised it before, which a copy has where Dask is imported."""
    return copy(error).with_traceback(None)
