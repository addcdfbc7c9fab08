"""What a user declares about C instructions, whose code is opaque to Loopy."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import loopy as lp
import numpy as np
import pymbolic.primitives as p
from loopy.kernel.instruction import CInstruction
from loopy.symbolic import SubstitutionMapper, parse

from perfmodel.counts.reading.events import AccessEvent, Condition
from perfmodel.counts.reading.values import in_memory
from perfmodel.documents import shortened
from perfmodel.errors import AssumedAccessWarning, DeclarationError, NotCountableError

Operations = Mapping[tuple[str, str], int]
# Operations alone, or {"operations": ..., "loads": {"a[i]": 1}, "stores": {"out": 1}}.
Declared = Mapping[str, Mapping[Any, Any]]
PARTS = {"operations", "loads", "stores"}
DIRECTIONS = {"loads": "load", "stores": "store"}
MOST, LONGEST = 10_000, 1_000  # accesses of one kind, and characters of one: each is a step of the program
IDLE = re.compile(r"/\*.*?\*/|//[^\n]*|[\s;]+", re.DOTALL)  # what executes nothing in C
UNKNOWN = p.Variable("an index that is not declared")


@dataclass(frozen=True)
class Declaration:
    """What one execution of a C instruction does.

    Attributes
    ----------
    operations : mapping of (str, str) to int
        Operations by type and kind.
    accesses : tuple of AccessEvent
        Loads and stores, without the instruction's own conditions.
    exact : bool
        False where the accesses are not declared. Each array that Loopy knows to be read or written is then accessed
        once.
    """

    operations: Operations
    accesses: tuple[AccessEvent, ...]
    exact: bool


def declaration(
    kernel: lp.LoopKernel, instruction: CInstruction, declared: Declared, conditions: tuple[Condition, ...]
) -> Declaration:
    """Return what is declared about an instruction; nothing about one whose code is empty.

    Raises
    ------
    NotCountableError
        Nothing is declared, or a part that there is not, or it names what is no array, or the code is empty.
    DeclarationError
        It is not in one of the forms above.
    """
    name = f"the C instruction '{instruction.id}'"
    is_empty = not IDLE.sub("", instruction.code)
    if is_empty and instruction.id not in declared:
        return Declaration({}, (), True)
    if instruction.id not in declared:
        raise NotCountableError(
            name, "its code is opaque to Loopy",
            "declare what one execution does, as in "
            f"count(..., declared={{'{instruction.id}': {{'operations': {{('float32', 'add'): 2}}, "
            "'loads': {'a[i]': 1}, 'stores': {'out[i]': 1}}})",
        )
    given = declared[instruction.id]
    parts = given if isinstance(given, Mapping) and given and all(isinstance(key, str) for key in given) else {
        "operations": given
    }
    if not set(parts) <= PARTS:
        raise NotCountableError(name, f"'{min(set(parts) - PARTS)}' is no part of a declaration",
                                "its parts are 'operations', 'loads' and 'stores'")
    for part, amounts in parts.items():
        if problem := _problem(part, amounts):
            raise DeclarationError(instruction.id, problem)
    if is_empty:
        if any(amount for amounts in parts.values() for amount in amounts.values()):
            raise NotCountableError(name, "its code is empty, and so executes nothing", "declare nothing for it")
        return Declaration({}, (), True)
    operations = parts.get("operations", {})
    if "loads" in parts or "stores" in parts:
        accesses = tuple(
            AccessEvent(*_accessed(kernel, instruction, text), direction, conditions)
            for part, direction in DIRECTIONS.items() for text, amount in parts.get(part, {}).items()
            for _ in range(amount)
        )
        return Declaration(operations, accesses, True)
    accesses = tuple(_presumed(kernel, instruction, conditions))
    if accesses:
        arrays = ", ".join(sorted({event.array for event in accesses}))
        warnings.warn(
            f"the accesses of {name} to {arrays} are not declared: one of each kind is counted, which is not exact; "
            "declare its 'loads' and 'stores'", AssumedAccessWarning, stacklevel=2,
        )
    return Declaration(operations, accesses, not accesses)


def _accessed(kernel: lp.LoopKernel, instruction: CInstruction, text: str) -> tuple[str, tuple[Any, ...]]:
    """Return the array and the indices of ``"a[i, j + 1]"`` or, where the indices are not declared, ``"a"``."""
    expr = _parsed(instruction, text)
    array = expr.aggregate if isinstance(expr, p.Subscript) else expr
    name = array.name if isinstance(array, p.Variable) else text
    if not _is_array(kernel, name):
        raise NotCountableError(
            f"the declared access '{text}' of the C instruction '{instruction.id}'", f"'{name}' is no array in memory",
            f"the arrays are {', '.join(_arrays(kernel)) or 'none'}",
        )
    shape = kernel.get_var_descriptor(name).shape
    axes = len(shape) if isinstance(shape, tuple) else 1
    if not isinstance(expr, p.Subscript):
        return name, (UNKNOWN,) * axes
    if len(expr.index_tuple) != axes:
        raise NotCountableError(
            f"the declared access '{text}' of the C instruction '{instruction.id}'",
            f"it has {len(expr.index_tuple)} indices", f"'{name}' has {axes}",
        )
    inames = {p.Variable(inner): outer for inner, outer in instruction.iname_exprs}
    return name, tuple(SubstitutionMapper(inames.get)(index) for index in expr.index_tuple)


def _problem(part: str, amounts: Any) -> str:
    """Return what is wrong with a part of a declaration; an empty text if nothing is."""
    if not isinstance(amounts, Mapping):
        return f"its {part} are {shortened(amounts)}, no mapping of names to numbers"
    for key, amount in amounts.items():
        pair = isinstance(key, tuple) and len(key) == 2 and all(isinstance(one, str) for one in key)
        if not (pair if part == "operations" else isinstance(key, str)):
            return f"{shortened(key)} among its {part} is no {'type and kind' if part == 'operations' else 'access'}"
        if isinstance(amount, bool) or not (isinstance(amount, int | np.integer) and 0 <= amount <= MOST):
            return f"{shortened(key)} among its {part} is declared {shortened(amount)} times; at most {MOST} are taken"
    return ""


def _parsed(instruction: CInstruction, text: str) -> Any:
    """Return Loopy's expression for an access."""
    try:
        if len(text) > LONGEST:
            raise ValueError
        return parse(text)
    except Exception as error:  # the parser raises many
        raise DeclarationError(instruction.id, f"{shortened(text)} is no access that Loopy can read") from error


def _presumed(
    kernel: lp.LoopKernel, instruction: CInstruction, conditions: tuple[Condition, ...]
) -> Iterable[AccessEvent]:
    """Yield one load of each array that is read and one store of each that is written, at unknown indices."""
    for names, direction in (
        (instruction.read_dependency_names(), "load"),
        (instruction.assignee_var_names(), "store"),
    ):
        for name in sorted(names):
            if _is_array(kernel, name):
                yield AccessEvent(*_accessed(kernel, instruction, name), direction, conditions)


def _is_array(kernel: lp.LoopKernel, name: str) -> bool:
    variable = kernel.temporary_variables.get(name) or kernel.arg_dict.get(name)
    return variable is not None and in_memory(variable)


def _arrays(kernel: lp.LoopKernel) -> list[str]:
    return sorted(name for name in (*kernel.temporary_variables, *kernel.arg_dict) if _is_array(kernel, name))
