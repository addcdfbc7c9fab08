"""``count``: from a Loopy translation unit to its :class:`KernelCounts`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from fractions import Fraction
from typing import Any

import loopy as lp
import numpy as np
from loopy.diagnostic import LoopyError
from loopy.kernel import KernelState
from loopy.kernel.function_interface import CallableKernel

from perfmodel.counts.cache import key_of, remembered
from perfmodel.counts.kernel import KernelCounts
from perfmodel.counts.program.program import Program
from perfmodel.counts.reading.domains import Statistics
from perfmodel.counts.reading.expressions import Options
from perfmodel.counts.reading.extract import Declared, extract
from perfmodel.counts.reading.unbounded import refuse_unbounded
from perfmodel.counts.reading.values import memory_type
from perfmodel.counts.rows import LaunchShape
from perfmodel.counts.tabulation import tabulate
from perfmodel.errors import IncompleteKernelError, StatisticsError

Number = int | float | Fraction


def count(
    t_unit: lp.TranslationUnit,
    subgroup_size: int = 32,
    statistics: Mapping[str, Number] | None = None,
    include_index_arithmetic: bool = False,
    group_multiply_add: bool = False,
    declared: Declared | None = None,
    cache: bool = True,
) -> KernelCounts:
    """Count symbolically what a kernel executes (sections 2 and 3 of the 2016 paper).

    Parameters
    ----------
    t_unit : loopy.TranslationUnit
        With one entry point; preprocessed and scheduled here if it is not yet.
    subgroup_size : int
        Work-items in a sub-group of the device.
    statistics : mapping of str to number, optional
        Mean trip count of each data-dependent loop by its iname; probability of each
        data-dependent test by its text.
    include_index_arithmetic : bool
        Whether integer arithmetic on inames and size parameters is counted too.
    group_multiply_add : bool
        Whether a product that is added at once counts as one operation of kind ``madd`` instead
        of a ``mul`` and an ``add``.
    declared : mapping of str to mapping of (str, str) to int, optional
        For each C instruction, by its identifier, the operations by type and kind that one
        execution of it makes.
    cache : bool
        Whether counts made before, in this process or (on disk) in another, may be returned.

    Returns
    -------
    KernelCounts

    Raises
    ------
    IncompleteKernelError
        Loopy cannot complete or schedule the kernel; the message holds its reason.
    StatisticsNeededError
        The number of executions depends on data and has no bound.
    UnboundedLoopError
        A loop has no end.
    NotCountableError
        The kernel holds something opaque, such as C instructions that are not ``declared``.

    Examples
    --------
    >>> import loopy as lp, numpy as np
    >>> double = lp.make_kernel("{ [i]: 0 <= i < n }", "out[i] = 2*a[i]",
    ...                         lang_version=(2018, 2), assumptions="n >= 1")
    >>> counts = count(lp.add_dtypes(double, {"a": np.float32}))
    >>> str(counts.operations(kind="mul")), counts.accesses(array="a")(n=1000)
    ('n', 1000)
    """
    options = Options(include_index_arithmetic, group_multiply_add)
    arguments = (subgroup_size, dict(statistics or {}), dict(declared or {}), options)
    key = key_of(t_unit, *arguments) if cache else None
    return remembered(key, lambda: _count(t_unit, *arguments))


def _count(
    t_unit: lp.TranslationUnit, subgroup_size: int, statistics: Mapping[str, Number],
    declared: Declared, options: Options,
) -> KernelCounts:
    for kernel in t_unit.callables_table.values():
        if isinstance(kernel, CallableKernel):
            refuse_unbounded(kernel.subkernel.domains)
    scheduled = schedule(t_unit)
    try:
        program = extract(scheduled, _fractions(statistics), declared, options)
    except LoopyError as error:  # for example a hardware axis that is left out
        raise IncompleteKernelError(str(error)) from error
    return tabulate(program, subgroup_size, _launch_shape(scheduled, program))


def schedule(t_unit: lp.TranslationUnit) -> lp.TranslationUnit:
    """Return the translation unit preprocessed and linearized, or say why it can't be."""
    try:
        with redirect_stdout(sys.stderr):  # where Loopy fails it prints the kernel
            t_unit = _with_callees_inlined(t_unit)
            if t_unit.state < KernelState.PREPROCESSED:
                t_unit = lp.preprocess_program(t_unit)
            if t_unit.state < KernelState.LINEARIZED:
                t_unit = lp.linearize(t_unit)
    except (LoopyError, ValueError) as error:  # its scheduler raises either
        raise IncompleteKernelError(str(error)) from error
    if len(t_unit.entrypoints) != 1:
        raise IncompleteKernelError(f"it has {len(t_unit.entrypoints)} entry points, not one")
    (entry,) = t_unit.entrypoints
    untyped = [argument.name for argument in t_unit[entry].args if argument.dtype is None]
    if untyped:
        raise IncompleteKernelError(f"no type is known for {', '.join(untyped)}")
    return t_unit


def _with_callees_inlined(t_unit: lp.TranslationUnit) -> lp.TranslationUnit:
    """Return the unit as one kernel: what a callee executes counts at its call.

    Arrays then bear the caller's names, and cells are those of the caller's arrays.
    """
    for name, callee in t_unit.callables_table.items():
        if isinstance(callee, CallableKernel) and name not in t_unit.entrypoints:
            if t_unit.state >= KernelState.PREPROCESSED:
                raise IncompleteKernelError(
                    f"it calls the kernel '{name}' and is preprocessed already, so that the call "
                    "cannot be inlined; count it before it is preprocessed"
                )
            t_unit = lp.inline_callable_kernel(t_unit, str(name))
    return t_unit


def _fractions(statistics: Mapping[str, Number] | None) -> Statistics:
    found = {}
    for key, value in (statistics or {}).items():
        try:
            found[key] = Fraction(str(value))
        except ValueError:
            raise StatisticsError(key, value) from None
        if found[key] < 0:
            raise StatisticsError(key, value)
    return found


def _launch_shape(t_unit: lp.TranslationUnit, program: Program) -> LaunchShape:
    (entry,) = t_unit.entrypoints
    kernel = t_unit[entry]
    sizes: dict[Any, int] = {lp.AddressSpace.LOCAL: 0, lp.AddressSpace.PRIVATE: 0}
    for variable in kernel.temporary_variables.values():
        if variable.address_space in sizes and all(
            isinstance(extent, (int, np.integer)) for extent in variable.shape
        ):
            cells = int(np.prod(variable.shape, dtype=np.int64))
            sizes[variable.address_space] += cells * memory_type(variable).itemsize
    largest = max(program.launches, key=lambda launch: launch.group_size)
    return LaunchShape(
        largest.group_shape, sizes[lp.AddressSpace.LOCAL], sizes[lp.AddressSpace.PRIVATE]
    )


