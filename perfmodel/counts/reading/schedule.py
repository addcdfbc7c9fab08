"""The schedule of a kernel as a tree of frozen values, and the dataflow of each statement.

Loopy schedules the kernel where it is not scheduled. For the dataflow (:class:`~perfmodel.counts.program.program.Step`)
the path of every value that is read is noted, in C's order: in ``a + b + c`` two additions are above ``a`` and ``b``,
and one is above ``c``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import islpy as isl
import loopy as lp
from loopy.kernel import KernelState
from loopy.kernel.data import HardwareConcurrentTag, IlpBaseTag, UnrollTag, VectorizeTag
from loopy.kernel.function_interface import CallableKernel
from loopy.kernel.instruction import CInstruction, MultiAssignmentBase
from loopy.schedule import Barrier, CallKernel, EnterLoop, LeaveLoop, ReturnFromKernel, RunInstruction
from loopy.symbolic import LinearSubscript

from perfmodel.counts.program.program import (
    SHARED,
    Act,
    Cell,
    DeviceKernel,
    Index,
    Loop,
    Node,
    Reading,
    Run,
    Step,
    Wait,
    Writing,
)
from perfmodel.counts.reading.checks.refusals import refusals, untyped
from perfmodel.counts.reading.domains import affine_form
from perfmodel.counts.reading.events import Scope
from perfmodel.counts.reading.expressions import Walk
from perfmodel.counts.reading.target.declared import Declaration
from perfmodel.counts.reading.target.vectors import type_name
from perfmodel.counts.reading.values import INT, Type, is_product, space_of
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


Leaf = tuple[str, Cell, list[Act]]  # a value that is read, and the acts above it so far


@dataclass
class PathWalk(Walk):
    """The walk over an instruction that also notes each value's path to the result.

    Attributes
    ----------
    leaves : list
        The values read so far.
    frames : list of list of int
        For each expression being walked, how many leaves there were before it and before each of
        its operands.
    writings : list of Writing
        What is assigned.
    touched : list of Act
        The accesses to global and local memory.
    """

    leaves: list[Leaf] = field(default_factory=list)
    frames: list[list[int]] = field(default_factory=lambda: [[0]])
    writings: list[Writing] = field(default_factory=list)
    touched: list[Act] = field(default_factory=list)

    def rec(self, expr: Any, scope: Scope) -> Any:
        """Walk an expression; operations noted meanwhile are above the leaves in it."""
        if scope.in_index and not self.options.include_index_arithmetic:  # no operation is noted in there
            return Walk.__call__(self, expr, scope)
        frames, start = self.frames, len(self.leaves)
        frames[-1].append(start)
        frames.append([start])
        dtype = Walk.__call__(self, expr, scope)
        frames.pop()
        return dtype

    def note(
        self, dtype: Type[Any], kind: str, scope: Scope, amount: int = 1, per_lane: bool = True
    ) -> bool:
        """Record operations; those on the parts of a complex value are one deep for each kind."""
        noted = super().note(dtype, kind, scope, amount, per_lane)
        if noted:
            self.extend(self.frames[-1][0], (type_name(dtype), kind))
        return noted

    def extend(self, start: int, act: Act) -> None:
        """Put an act above all leaves from ``start`` on."""
        for leaf in self.leaves[start:]:
            leaf[2].append(act)

    def access(
        self, array: str, indices: tuple[Any, ...], direction: str, scope: Scope, member: tuple[str, ...] = ()
    ) -> Type[Any]:
        """Record an access; a load is above the values in its index."""
        start = len(self.leaves)
        dtype = super().access(array, indices, direction, scope, member)
        space = _space(self.kernel, array)
        if space is None:
            return dtype
        path = [(space, direction)] if space in SHARED else []
        self.touched += path
        cell = tuple([_index(self.kernel, index) for index in indices])
        if direction == "store":
            self.writings.append(Writing(array, cell, space))
            return dtype
        for act in path:
            self.extend(start, act)
        self.leaves.append((array, cell, path))
        return dtype

    def join_products(self, terms: Sequence[Any], before: int, scope: Scope) -> bool:
        """Turn products and the additions that they meet into ``madd`` on the paths too.

        A product is joined to its own addition; the first term has none, and takes the first
        addition of a term that is no product.
        """
        if not super().join_products(terms, before, scope):
            return False
        starts = [*self.frames[-1][1:], len(self.leaves)]
        products = [is_product(self.kernel, term) for term in terms]
        free = products.index(False) if products[0] and not all(products) else 0
        joined = [k > 0 and (product or k == free) for k, product in enumerate(products)]
        for k, product in enumerate(products):
            gone = product and (k > 0 or free > 0)
            above = range(max(k, 1), len(terms))
            for _, _, path in self.leaves[starts[k]:starts[k + 1]]:
                own = path[:-len(above)]
                if gone and own and own[-1][1] == "mul":
                    del own[-1]
                additions = zip(above, path[-len(above):], strict=True)
                path[:] = own + [(act[0], "madd") if joined[j] else act for j, act in additions]
        return True

    def step(self, instruction: MultiAssignmentBase) -> Step:
        """Return the statement of the walk; it waits for its guards too."""
        acts = Counter[Act]()
        for event in self.operations:
            acts[event.dtype, event.kind] += event.amount
        acts.update(self.touched)
        leaves = self.leaves
        for guard in sorted(instruction.predicates, key=str):
            test = PathWalk(self.kernel, self.callables)
            test.rec(guard, Scope(INT, in_test=True))
            leaves = leaves + test.leaves
        readings = dict.fromkeys([Reading(name, cell, tuple(path)) for name, cell, path in leaves])
        return Step(
            instruction.id, tuple(readings), tuple(self.writings), tuple(acts.items()), bool(instruction.predicates)
        )


def opaque_step(kernel: lp.LoopKernel, instruction: CInstruction, declared: Declaration) -> Step:
    """Return a C instruction as a statement whose declared operations wait for one another."""
    names = {*kernel.temporary_variables, *kernel.arg_dict}
    path = tuple(act for act, amount in declared.operations.items() for _ in range(amount))
    acts = Counter[Act](dict(declared.operations))
    for event in declared.accesses:
        space = _space(kernel, event.array)
        if space in SHARED:
            acts[str(space), event.direction] += 1
    written = sorted(instruction.assignee_var_names())
    return Step(
        instruction.id,
        tuple(
            Reading(name, (), path)
            for name in sorted(instruction.read_dependency_names() & names) if _space(kernel, name)
        ),
        tuple(Writing(name, (), _space(kernel, name) or "private") for name in written),
        tuple(acts.items()), bool(instruction.predicates),
    )


def unrolled_inames(kernel: lp.LoopKernel) -> tuple[str, ...]:
    """Return the inames of loops that are unrolled, or are lanes of a vector.

    So is a loop of one iteration: Loopy writes no loop for it.
    """
    return tuple(sorted(
        name for name in kernel.all_inames()
        if kernel.iname_tags_of_type(name, (UnrollTag, IlpBaseTag, VectorizeTag)) or _runs_once(kernel, name)
    ))


def _runs_once(kernel: lp.LoopKernel, name: str) -> bool:
    """Whether a sequential loop has one iteration at all sizes."""
    if kernel.iname_tags_of_type(name, HardwareConcurrentTag):
        return False
    bounds = kernel.get_iname_bounds(name)
    return bool(bounds.lower_bound_pw_aff.is_equal(bounds.upper_bound_pw_aff))


def _space(kernel: lp.LoopKernel, name: str) -> str | None:
    """Return the space of an array or temporary; None for an argument passed by value."""
    variable = kernel.temporary_variables.get(name) or kernel.arg_dict[name]
    return None if isinstance(variable, lp.ValueArg) else space_of(variable)


def _index(kernel: lp.LoopKernel, expr: Any) -> Index:
    """Return an index as an affine form, None where data or products of names are in it."""
    form = None if isinstance(expr, LinearSubscript) else affine_form(expr)
    if form is None:
        return None
    constant = form.pop("", 0)
    if any(name in kernel.temporary_variables for name in form):
        return None
    return constant, tuple(sorted((name, factor) for name, factor in form.items() if factor))
