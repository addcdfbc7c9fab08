"""The leaves of expressions: literals, variables and the accesses to arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import loopy as lp
import numpy as np
import pymbolic.primitives as p
from loopy.codegen import UnvectorizableError
from loopy.expression import VectorizabilityChecker
from loopy.kernel.array import FixedStrideArrayDimTag, VectorArrayDimTag
from loopy.kernel.data import UnrolledIlpTag, UnrollTag, VectorizeTag
from loopy.kernel.instruction import MultiAssignmentBase
from loopy.symbolic import (
    LinearSubscript,
    SubArrayRef,
    SubstitutionMapper,
    TypeAnnotation,
    TypeCast,
    simplify_using_aff,
)
from pymbolic.mapper import Mapper

from perfmodel.counts.reading.domains import is_affine_in, names_in
from perfmodel.counts.reading.events import AccessEvent, Condition, OperationEvent, Options, Scope
from perfmodel.counts.reading.target.vectors import member_of
from perfmodel.counts.reading.values import Type, in_memory, memory_type

UNROLLED = (UnrollTag, UnrolledIlpTag)


@dataclass
class AccessWalk(Mapper):  # type: ignore[misc]
    """Walks the leaves of one instruction's expressions and lists the accesses.

    Every method is called with an expression and its scope, and returns the C type of the expression.

    Attributes
    ----------
    kernel : loopy.LoopKernel
        The kernel of the instruction.
    callables : mapping
        The functions of the translation unit.
    options : Options
        What to count beside the default.
    vector_iname : str
        The iname along which the instruction is vectorised, or "".
    has_complex : bool
        Whether the instruction has complex variables.
    operations, accesses : list
        What was found so far, in the order of evaluation.
    """

    kernel: lp.LoopKernel
    callables: Mapping[Any, Any]
    options: Options = field(default_factory=Options)
    vector_iname: str = ""
    has_complex: bool = False
    operations: list[OperationEvent] = field(default_factory=list)
    accesses: list[AccessEvent] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.inames = self.kernel.all_inames()

    def access(
        self, array: str, indices: tuple[Any, ...], direction: str, scope: Scope, member: tuple[str, ...] = ()
    ) -> Type[Any]:
        """Record an access to an element, or to a member of it, if the array lies in memory; return its type."""
        variable = self.kernel.get_var_descriptor(array)
        for number, index in enumerate(indices):
            linear = isinstance(index, LinearSubscript)  # which Loopy writes as it is
            index = index.index if linear else index
            if not linear and not is_affine_in(index, self.is_free):
                index = self.folded(index)
                indices = (*indices[:number], index, *indices[number + 1:])
            if self.options.include_index_arithmetic or not is_affine_in(index, self.is_free):
                written = [(index, ())] if linear else [] if _is_broadcast(variable, number) else self.copies(index)
                for copy, iteration in written:
                    self.rec(copy, scope.of_index()._replace(conditions=scope.conditions + iteration))
        if in_memory(variable):
            axis = self.vector_axis(variable, indices)
            self.accesses.append(AccessEvent(array, indices, direction, scope.conditions, axis, member, scope.tags))
        return member_of(memory_type(variable), member)[0] if member else memory_type(variable)

    def folded(self, index: Any) -> Any:
        """Return an index in which data stand as Loopy writes it: the data in ``0*x`` and ``x % 1`` are not read."""
        return index if all(map(self.is_free, names_in(index))) else simplify_using_aff(self.kernel, index)

    def copies(self, index: Any) -> Iterator[tuple[Any, tuple[Condition, ...]]]:
        """Yield an index, or its copies in unrolled loops with their iterations where data fall out of some.

        In ``k*x[i]`` nothing is read where k is 0.
        """
        names, found = names_in(index), []
        loops = sorted(name for name in names & self.inames if self.kernel.iname_tags_of_type(name, UNROLLED))
        if loops and not all(map(self.is_free, names)):
            for values in product(*(_iterations(self.kernel, name) for name in loops)):
                at = {p.Variable(name): value for name, value in zip(loops, values, strict=True)}
                iteration = tuple((p.Comparison(name, "==", value), True) for name, value in at.items())
                found.append((self.folded(SubstitutionMapper(at.get)(index)), iteration))
        if any(str(copy).count("[") < str(index).count("[") for copy, _ in found):
            yield from found
        else:
            yield index, ()

    def is_free(self, name: str) -> bool:
        """Whether reading a variable is no access: an iname or an argument passed by value."""
        return name in self.inames or isinstance(self.kernel.arg_dict.get(name), lp.ValueArg)

    def vector_axis(self, variable: Any, indices: tuple[Any, ...]) -> int | None:
        """Return the axis along which one access takes a whole vector, if there is one."""
        for axis, index in enumerate(indices if self.vector_iname else ()):
            if isinstance(variable.dim_tags[axis], VectorArrayDimTag) and (
                simplify_using_aff(self.kernel, index) == p.Variable(self.vector_iname)
            ):
                return axis
        return None

    def map_constant(self, expr: Any, scope: Scope) -> Type[Any]:
        if isinstance(expr, np.integer):  # Loopy writes u if it is unsigned, and l if its type holds more than an int
            limits = np.iinfo(expr.dtype)
            return np.dtype(f"{'u' if limits.min == 0 else 'i'}{8 if limits.max >= 2**31 else 4}")
        if isinstance(expr, np.generic):
            return expr.dtype
        if isinstance(expr, complex):
            return np.dtype(np.complex64)
        if scope.literal.kind in "iub":  # C takes the first of these types that holds the number
            return np.dtype(np.int32 if -2**31 <= expr < 2**31 else np.int64)
        return scope.literal

    def map_nan(self, expr: p.NaN, scope: Scope) -> Type[Any]:
        return scope.literal if expr.data_type is None else np.dtype(expr.data_type)

    def map_variable(self, expr: p.Variable, scope: Scope) -> Type[Any]:
        name = expr.name
        if name in self.inames:
            return np.dtype(self.kernel.index_dtype.numpy_dtype)
        if name in self.kernel.arg_dict or name in self.kernel.temporary_variables:
            return self.access(name, (), "load", scope.at(expr))
        return np.dtype(np.float64)  # a symbol of the target, such as M_PI

    map_tagged_variable = map_variable

    def map_subscript(self, expr: p.Subscript, scope: Scope) -> Type[Any]:
        return self.access(expr.aggregate.name, expr.index_tuple, "load", scope.at(expr))

    def map_linear_subscript(self, expr: LinearSubscript, scope: Scope) -> Type[Any]:
        return self.access(expr.aggregate.name, (expr,), "load", scope.at(expr))

    def map_lookup(self, expr: p.Lookup, scope: Scope) -> Type[Any]:
        whole, member = member_access(expr)
        if isinstance(whole, (p.Subscript, LinearSubscript, p.Variable)):
            return self.access(*array_access(whole), "load", scope.at(whole), member)
        return member_of(self.rec(whole, scope), member)[0]

    def map_type_annotation(self, expr: TypeAnnotation, scope: Scope) -> Type[Any]:
        return self.rec(expr.child, scope)

    def map_type_cast(self, expr: TypeCast, scope: Scope) -> Type[Any]:
        self.rec(expr.child, scope)
        return np.dtype(expr.type.numpy_dtype)

    def map_sub_array_ref(self, expr: SubArrayRef, scope: Scope) -> Type[Any]:
        return memory_type(self.kernel.get_var_descriptor(expr.subscript.aggregate.name))


def _iterations(kernel: lp.LoopKernel, iname: str) -> range:
    """Return the values of an unrolled loop, which Loopy writes into its copies; none where they are not constants."""
    bounds = kernel.get_iname_bounds(iname, constants_only=True)
    first, last = bounds.lower_bound_pw_aff.min_val(), bounds.upper_bound_pw_aff.max_val()
    return range(first.to_python(), last.to_python() + 1) if first.is_int() and last.is_int() else range(0)


def _is_broadcast(variable: Any, axis: int) -> bool:
    """Whether an axis has stride 0: its index is multiplied by 0, and so is not in the code."""
    tag = variable.dim_tags[axis] if variable.dim_tags else None
    return isinstance(tag, FixedStrideArrayDimTag) and tag.stride == 0


def member_access(expr: Any) -> tuple[Any, tuple[str, ...]]:
    """Return what a member is looked up in, and the names of the member: ``a[i]`` and ("s0",) of ``a[i].s0``."""
    member: tuple[str, ...] = ()
    while isinstance(expr, p.Lookup):
        expr, member = expr.aggregate, (expr.name, *member)
    return expr, member


def array_access(expr: Any) -> tuple[str, tuple[Any, ...]]:
    """Return the name and the indices of ``a[i, j]``, of a linear subscript or of ``x``."""
    if isinstance(expr, p.Subscript):
        return expr.aggregate.name, expr.index_tuple
    return (expr.aggregate.name, (expr,)) if isinstance(expr, LinearSubscript) else (expr.name, ())


def vector_iname(kernel: lp.LoopKernel, instruction: MultiAssignmentBase) -> str:
    """Return the iname along which Loopy vectorises an instruction; "" if there is none."""
    for iname in () if instruction.atomicity else instruction.within_inames:
        if kernel.iname_tags_of_type(iname, VectorizeTag):
            check = VectorizabilityChecker(kernel, iname, kernel.get_constant_iname_length(iname))
            try:
                is_vector = check(instruction.assignee)
                check(instruction.expression)
            except UnvectorizableError:  # Loopy unrolls it instead
                return ""
            return iname if is_vector else ""
    return ""
