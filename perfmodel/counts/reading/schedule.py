"""The schedule of a kernel: Loopy makes it where it is missing, and it becomes a tree of frozen values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import islpy as isl
import loopy as lp
from loopy.kernel import KernelState
from loopy.kernel.function_interface import CallableKernel
from loopy.schedule import (
    Barrier,
    CallKernel,
    EnterLoop,
    LeaveLoop,
    ReturnFromKernel,
    RunInstruction,
)

from perfmodel.counts.program.tree import DeviceKernel, Loop, Node, Run, Wait
from perfmodel.counts.reading.checks.refusals import refusals, untyped
from perfmodel.errors import ArgumentTypesError, IncompleteKernelError, UnboundedLoopError, UntypedArgumentsError

SET = isl.dim_type.set


def schedule(t_unit: lp.TranslationUnit) -> lp.TranslationUnit:
    """Return the translation unit as one preprocessed and linearized kernel.

    Raises
    ------
    IncompleteKernelError
        Loopy cannot complete or schedule the kernel, or an argument has no type.
    UnboundedLoopError
        A loop has no end.
    """
    for kernel in t_unit.callables_table.values():
        if isinstance(kernel, CallableKernel):
            refuse_unbounded(kernel.subkernel.domains)
    with refusals(t_unit):
        t_unit = _with_callees_inlined(t_unit)
        if t_unit.state < KernelState.PREPROCESSED:
            t_unit = lp.preprocess_program(t_unit)
        if t_unit.state < KernelState.LINEARIZED:
            t_unit = lp.linearize(t_unit)
    if len(t_unit.entrypoints) != 1:
        raise IncompleteKernelError(
            f"it has {len(t_unit.entrypoints)} entry points, not one",
            "name the kernel to count, with t_unit.with_entrypoints(...)",
        )
    if names := untyped(t_unit):
        raise UntypedArgumentsError(names)
    _refuse_unplaced(t_unit)
    return t_unit


def _refuse_unplaced(t_unit: lp.TranslationUnit) -> None:
    """Raise where Loopy does not know in which memory a temporary lies, for which it has no code."""
    for temporary in t_unit.default_entrypoint.temporary_variables.values():
        if temporary.address_space is lp.auto:
            raise IncompleteKernelError(
                f"the temporary '{temporary.name}' is never written, so that its address space is not known",
                "add an instruction that writes it first, or make it an argument",
            )


def with_types(t_unit: lp.TranslationUnit, dtypes: Mapping[str, Any]) -> lp.TranslationUnit:
    """Return the translation unit with types for the arguments that get theirs when the kernel is called.

    Raises
    ------
    ArgumentTypesError
        There is no such argument, it has another type already, or what is given is no type.
    """
    if len(t_unit.entrypoints) != 1:
        return t_unit  # which `schedule` refuses
    (entry,) = t_unit.entrypoints
    kernel = t_unit[entry]
    known = {**kernel.temporary_variables, **kernel.arg_dict}
    for name, given in dtypes.items():
        if name not in known:
            raise ArgumentTypesError(name, "names no argument", tuple(kernel.arg_dict))
        try:
            dtype = lp.types.to_loopy_type(given)
        except Exception as error:  # NumPy and Loopy raise various ones
            raise ArgumentTypesError(name, f"is {given!r}, which is no type", tuple(kernel.arg_dict)) from error
        if known[name].dtype not in (None, dtype):
            problem = f"is {dtype.numpy_dtype}, but the kernel says {known[name].dtype.numpy_dtype}"
            raise ArgumentTypesError(name, problem, tuple(kernel.arg_dict))
    new = {name: given for name, given in dtypes.items() if known[name].dtype is None}
    return t_unit.with_kernel(lp.add_dtypes(kernel, new)) if new else t_unit


def refuse_unbounded(domains: Iterable[isl.BasicSet]) -> None:
    """Raise unless every loop domain has finitely many points for each value of its parameters.

    Parameters
    ----------
    domains : iterable of islpy.BasicSet
        As a Loopy kernel has them: loops around a domain's own are parameters of it.

    Raises
    ------
    UnboundedLoopError
        A loop variable can become as large, or as negative, as one likes.

    Examples
    --------
    >>> refuse_unbounded([isl.BasicSet("[n] -> { [i, j] : 0 <= i and i + j <= n and j >= 0 }")])
    >>> refuse_unbounded([isl.BasicSet("[n] -> { [i, j] : 0 <= i < n and j <= i }")])
    Traceback (most recent call last):
        ...
    perfmodel.errors.UnboundedLoopError: cannot count the loop over j: its domain \
[n] -> { [i, j] : 0 <= i < n and j <= i } has no bound; \
give j a lower and an upper bound, such as 0 <= j < n.
    """
    for domain in domains:
        if not domain.is_bounded():
            names = domain.get_var_names(SET)
            raise UnboundedLoopError(
                tuple(name for k, name in enumerate(names) if not _is_bounded(domain, k)),
                str(domain),
            )


def _is_bounded(domain: isl.BasicSet, position: int) -> bool:
    behind = domain.dim(SET) - position - 1
    line = domain.project_out(SET, position + 1, behind).project_out(SET, 0, position)
    return bool(line.is_bounded())


def _with_callees_inlined(t_unit: lp.TranslationUnit) -> lp.TranslationUnit:
    """Return the unit as one kernel, in which a callee's accesses are to the caller's arrays.

    Loopy makes a version of a callee for each layout of its arguments, so that inlining one may leave others.
    """
    while callees := _callees(t_unit):
        if t_unit.state >= KernelState.PREPROCESSED:
            raise IncompleteKernelError(
                f"it calls the kernel '{callees[0]}' and is preprocessed already, so that the call cannot be inlined",
                "count it before it is preprocessed",
            )
        t_unit = lp.inline_callable_kernel(t_unit, callees[0])
    return t_unit


def _callees(t_unit: lp.TranslationUnit) -> list[str]:
    return [
        str(name) for name, callee in t_unit.callables_table.items()
        if isinstance(callee, CallableKernel) and name not in t_unit.entrypoints
    ]


def schedule_tree(kernel: lp.LoopKernel) -> tuple[Node, ...]:
    """Return the nodes at the top of a scheduled kernel: launches, perhaps in host loops."""
    nodes, _ = _block(kernel.linearization, 0)
    return nodes


def _block(items: Sequence[Any], start: int) -> tuple[tuple[Node, ...], int]:
    nodes: list[Node] = []
    position = start
    while position < len(items):
        item = items[position]
        if isinstance(item, (LeaveLoop, ReturnFromKernel)):
            return tuple(nodes), position + 1
        if isinstance(item, EnterLoop):
            body, position = _block(items, position + 1)
            nodes.append(Loop(item.iname, body))
            continue
        if isinstance(item, CallKernel):
            body, position = _block(items, position + 1)
            nodes.append(DeviceKernel(item.kernel_name, body))
            continue
        if isinstance(item, RunInstruction):
            nodes.append(Run(item.insn_id))
        elif isinstance(item, Barrier):
            nodes.append(Wait(item.synchronization_kind))
        position += 1
    return tuple(nodes), position
