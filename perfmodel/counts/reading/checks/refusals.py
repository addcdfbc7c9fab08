"""What Loopy refuses: its reason in one line, and the advice that fits.

Loopy says the same thing with few types of errors and many texts, so that a kind of refusal is told by both. The texts
are those of Loopy 2025.2.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import islpy as isl
import loopy as lp
from loopy.diagnostic import (
    DependencyCycleFound,
    LoopyError,
    LoopyIndexError,
    MissingBarrierError,
    MissingDefinitionError,
    StaticValueFindingError,
    TypeInferenceFailure,
    VariableAccessNotOrdered,
)
from pytools.graph import CycleError

from perfmodel.errors import IncompleteKernelError, PerfModelError, UntypedArgumentsError
from perfmodel.threads import redirected


@dataclass(frozen=True)
class Refusal:
    """A kind of refusal: the type of Loopy's error, what its text holds, and what helps.

    ``reason`` says in words what Loopy only hints at; ``{0}`` is Loopy's text, ``{1}`` the first group of ``holds``.
    """

    error: type[Exception]
    holds: str  # regular expression
    advice: str
    reason: str = "{0}"


TYPES = "give the variable that it names a type, with loopy.add_dtypes"
ORDER = """let all instructions agree on the order of their loops: change loopy.prioritize_loops or the dependences, or
give an instruction loops of its own with loopy.duplicate_inames"""
LENGTH = "split the loop with loopy.split_iname, or fix the size that bounds it with loopy.fix_parameters"
#: The first kind that fits is taken.
REFUSALS: tuple[Refusal, ...] = (
    Refusal(LoopyIndexError, "out-of-bounds", "mend the index, the array's shape, or the assumptions on the sizes"),
    Refusal(DependencyCycleFound, "", "remove a dependence from the cycle", "the dependences of {0} form a cycle"),
    Refusal(CycleError, "", ORDER, "the order of loops or instructions contradicts itself at {0}"),
    Refusal(
        TypeInferenceFailure, r"name not known in type inference: (\S+)",
        "declare it as an argument or a temporary, or mend its name", "nothing is called '{1}'",
    ),
    Refusal(TypeInferenceFailure, "", TYPES),
    Refusal(LoopyError, "could not determine type of", TYPES),
    Refusal(
        LoopyError, r"(Unknown function '.*?')",
        "use a function of Loopy's target, or add it with loopy.register_callable", "{1}",
    ),
    Refusal(
        VariableAccessNotOrdered, r"(No dependency relationship found .*?)\. Either",
        "let one of the two depend on the other, as with {{dep=...}}", "{1}",
    ),
    Refusal(MissingDefinitionError, "", "add an instruction that writes the variable first, or a dependence on it"),
    Refusal(
        MissingBarrierError, r"(Dependency .*? barrier)",
        "add that barrier between the two instructions, or make them independent", "{1}",
    ),
    Refusal(LoopyError, r"(Kernel does not have a schedulable iname nesting)", ORDER, "{1}"),
    Refusal(RuntimeError, "no valid schedules found", ORDER, "no order of its loops and instructions was found"),
    Refusal(EOFError, "", ORDER, "no order of its loops and instructions was found"),  # it asks the user for a hint
    Refusal(LoopyError, "has multiple inames tagged", "tag all but one of these inames with other axes"),
    Refusal(
        LoopyError, r"(instruction '.*' does not use all \w+ hw axes .*?\))",
        "let it run along these axes too, as loopy.add_inames_for_unused_hw_axes does", "{1}",
    ),
    Refusal(
        LoopyError, r"axis \d+ unused",
        "let every instruction run along this axis, or number the axes of each launch from 0",
    ),
    Refusal(LoopyError, "wrong number of indices", "give one index for each axis of the array"),
    Refusal(LoopyError, "data-dependent parameter", "make the loop sequential, or let sizes bound it"),
    Refusal(StaticValueFindingError, "", LENGTH),
    Refusal(isl.Error, "unbounded optimum", LENGTH, "a loop that is unrolled or vectorised has no constant length"),
    Refusal(LoopyError, "depends on non-argument", "make each size in it an integer argument of the kernel"),
    Refusal(LoopyError, "Non-integral array indices", "use integers as indices"),
)


def refusal(t_unit: lp.TranslationUnit, error: Exception) -> IncompleteKernelError:
    """Return the error to raise where Loopy refuses a kernel: its reason in one line, and what helps against that."""
    names = untyped(t_unit) if isinstance(error, TypeInferenceFailure) else ()
    if names:
        return UntypedArgumentsError(names)
    text = " ".join(str(error).split()) or type(error).__name__
    for kind in REFUSALS:
        found = re.search(kind.holds, text) if isinstance(error, kind.error) else None
        if found:
            reason, advice = (words.format(text, *found.groups()) for words in (kind.reason, kind.advice))
            return IncompleteKernelError(reason, " ".join(advice.split()))
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return IncompleteKernelError(first if " " in first else f"{type(error).__name__} {first}".strip())


def untyped(t_unit: lp.TranslationUnit) -> tuple[str, ...]:
    """Return the arguments that have no type."""
    return tuple(
        argument.name for entry in sorted(t_unit.entrypoints) for argument in t_unit[entry].args
        if argument.dtype is None
    )


@contextmanager
def refusals(t_unit: lp.TranslationUnit) -> Iterator[None]:
    """Turn whatever Loopy raises on a kernel into an error of one line.

    Where Loopy fails it prints the whole kernel, and its scheduler asks the user for a hint: neither is let through.

    Raises
    ------
    IncompleteKernelError
        Loopy raised something else than a warning.
    """
    try:
        with redirected(stdin=io.StringIO(), stdout=io.StringIO()):
            yield
    except (PerfModelError, Warning):
        raise
    except Exception as error:  # Loopy refuses with errors of its own, of Python, of islpy and of pytools
        raise refusal(t_unit, error) from error
