"""The dataflow of a kernel's statements: frozen values, and their JSON.

Nothing here depends on Loopy. :mod:`perfmodel.counts.reading.dependences` makes these values and
:mod:`perfmodel.counts.flow.walkthrough` follows them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from perfmodel.lazy import Lazy, cached_property

Act = tuple[str, str]  #: ``("float32", "mul")``, ``("global", "load")`` or ``("local", "barrier")``
#: An affine index: its constant, and the coefficients of the names in it; None for any other.
Index = tuple[int, tuple[tuple[str, int], ...]] | None
Cell = tuple[Index, ...]

SHARED = ("global", "local")  # the spaces whose accesses are acts; private ones are registers


class Reading(NamedTuple):  # counts make thousands; a NamedTuple is four times as fast as a dataclass
    """One value that a statement needs, and the acts between it and the statement's result.

    Attributes
    ----------
    variable : str
        A temporary or an array.
    cell : tuple of Index
        Where in it; empty for a scalar.
    path : tuple of Act
        From the arrival of the value to the statement's result: the load from memory if there
        is one, then each operation above the operand in the expression as C evaluates it.
    """

    variable: str
    cell: Cell
    path: tuple[Act, ...]


class Writing(NamedTuple):
    """Where a statement leaves its result: ``space`` is ``global``, ``local`` or ``private``."""

    variable: str
    cell: Cell
    space: str


@dataclass(frozen=True)
class Step:
    """One statement: what it reads and writes, and all the acts of one execution.

    Attributes
    ----------
    name : str
        Identifier of the instruction, as in the schedule.
    readings : tuple of Reading
        The values that it needs, also for its guards and data-dependent indices.
    writings : tuple of Writing
        What it assigns.
    acts : tuple of (Act, int)
        Operations and accesses to global and local memory, with their number.
    guarded : bool
        Whether a test decides if it is executed.
    """

    name: str
    readings: tuple[Reading, ...]
    writings: tuple[Writing, ...]
    acts: tuple[tuple[Act, int], ...]
    guarded: bool = False


@dataclass(frozen=True)
class Dataflow(Lazy):
    """All statements of a kernel in the order of the schedule.

    Attributes
    ----------
    steps : tuple of Step
        The statements.
    unrolled : tuple of str
        Inames of loops that the generated code writes out, or that are lanes of a vector.
    parallel : tuple of str
        Inames on hardware axes.
    """

    steps: tuple[Step, ...]
    unrolled: tuple[str, ...] = ()
    parallel: tuple[str, ...] = ()

    @cached_property
    def by_name(self) -> Mapping[str, Step]:
        """The statements by their identifiers."""
        return {step.name: step for step in self.steps}


# {{{ JSON

def write_dataflow(dataflow: Dataflow) -> dict[str, Any]:
    """Return a JSON-able dictionary from which :func:`read_dataflow` makes an equal value."""
    return {
        "steps": [
            [
                step.name,
                [[r.variable, _write_cell(r.cell), [list(act) for act in r.path]] for r in step.readings],
                [[w.variable, _write_cell(w.cell), w.space] for w in step.writings],
                [[*act, amount] for act, amount in step.acts],
                step.guarded,
            ]
            for step in dataflow.steps
        ],
        "unrolled": list(dataflow.unrolled),
        "parallel": list(dataflow.parallel),
    }


def read_dataflow(data: Mapping[str, Any]) -> Dataflow:
    """Read what :func:`write_dataflow` wrote."""
    return Dataflow(
        tuple(
            Step(
                name,
                tuple(Reading(v, _read_cell(c), tuple((a, b) for a, b in path)) for v, c, path in readings),
                tuple(Writing(v, _read_cell(c), space) for v, c, space in writings),
                tuple(((a, b), amount) for a, b, amount in acts),
                guarded,
            )
            for name, readings, writings, acts, guarded in data["steps"]
        ),
        tuple(data["unrolled"]), tuple(data["parallel"]),
    )


def _write_cell(cell: Cell) -> list[Any]:
    return [None if index is None else [index[0], [list(term) for term in index[1]]] for index in cell]


def _read_cell(data: list[Any]) -> Cell:
    return tuple(
        None if index is None else (index[0], tuple((name, factor) for name, factor in index[1]))
        for index in data
    )

# }}}
