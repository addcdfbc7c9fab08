"""Types and memory of Loopy's variables in the generated C code, and the events of evaluating an expression."""

from collections import Counter
from collections.abc import Mapping, Set
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any, NamedTuple

import loopy as lp
import numpy as np
import pymbolic.primitives as p
from loopy.kernel.array import VectorArrayDimTag
from loopy.kernel.data import IlpBaseTag, UnrollTag, VectorizeTag
from loopy.schedule import CallKernel
from loopy.schedule.tools import (
    supporting_temporary_names,
    temporaries_read_in_subkernel,
    temporaries_written_in_subkernel,
)
from pymbolic.mapper.stringifier import PREC_NONE

from perfmodel.counts.program.program import Operand

Type = np.dtype  # the C type of an expression, as NumPy's
Condition = tuple[Any, bool]  # an expression and the truth value it must have
INT = np.dtype(np.int32)
COPIED = (IlpBaseTag, UnrollTag, VectorizeTag)  # of loops that the generated code does not have
COMPLEX: Mapping[Type[Any], Type[Any]] = {np.dtype("complex64"): np.dtype("float32"),
                                          np.dtype("complex128"): np.dtype("float64")}  # fmt: skip
SPACES = {lp.AddressSpace.GLOBAL: "global", lp.AddressSpace.LOCAL: "local", lp.AddressSpace.PRIVATE: "private"}


def space_of(variable: Any) -> str:
    if isinstance(variable, lp.ConstantArg):  # Loopy has no address space for it
        return "constant"
    return SPACES[getattr(variable, "address_space", lp.AddressSpace.GLOBAL)]


def in_memory(variable: Any) -> bool:
    """Return whether the variable is in memory. Value arguments and scalars without shared storage are not."""
    if isinstance(variable, lp.TemporaryVariable):
        is_scalar = variable.shape == () and variable.base_storage is None
        return variable.address_space != lp.AddressSpace.PRIVATE or not is_scalar
    return not isinstance(variable, lp.ValueArg)


def memory_type(variable: Any) -> Type[Any]:
    """Return the type of a variable's values in memory. There a bool is a char."""
    if variable.dtype is None:
        return INT
    dtype = np.dtype(variable.dtype.numpy_dtype)
    return np.dtype(np.int8) if dtype.kind == "b" else dtype


def is_wide(variable: Any) -> bool:
    """Return whether the variable is a size of 64 bits."""
    return isinstance(variable, lp.ValueArg) and memory_type(variable) in (np.int64, np.uint64)


def offset_of(kernel: lp.LoopKernel, variable: Any) -> Any:
    """Return the expression of an array's offset, in cells. A temporary has an offset if it shares a storage."""
    offset = getattr(variable, "offset", 0)
    if not offset or offset is lp.auto:
        return 0
    offset = p.Variable(offset) if isinstance(offset, str) else offset
    if not isinstance(variable, lp.TemporaryVariable):
        return offset
    size, cell = memory_type(kernel.get_var_descriptor(variable.base_storage)).itemsize, memory_type(variable).itemsize
    return offset if size == cell else size * offset // cell


def offset_argument(kernel: lp.LoopKernel, variable: Any) -> str:
    offset = offset_of(kernel, variable)
    return offset.name if isinstance(offset, p.Variable) else ""


def is_size(argument: Any) -> bool:
    return isinstance(argument, lp.ValueArg) and argument.dtype.is_integral()


def array_bytes(t_unit: lp.TranslationUnit) -> tuple[int, int]:
    """Return the largest sizes [B] of local and private memory over launches. Arrays with constant shapes count."""
    kernel = t_unit.default_entrypoint
    names = [item.kernel_name for item in kernel.linearization if isinstance(item, CallKernel)]
    launches = [_declared_bytes(kernel, _temporaries_in(kernel, name)) for name in names]
    spaces = lp.AddressSpace.LOCAL, lp.AddressSpace.PRIVATE
    local, private = (max(sizes[space] for sizes in launches) for space in spaces)
    return local, private


def _temporaries_in(kernel: lp.LoopKernel, launch: str) -> Set[str]:
    used = temporaries_read_in_subkernel(kernel, launch) | temporaries_written_in_subkernel(kernel, launch)
    return used | supporting_temporary_names(kernel, used)


def _declared_bytes(kernel: lp.LoopKernel, names: Set[str]) -> Counter[Any]:
    """Return the bytes of temporaries by address space. Aliases of a declared storage take none."""
    sizes: dict[tuple[Any, str, Any], int] = {}
    for variable in map(kernel.temporary_variables.__getitem__, names):
        shape = variable.storage_shape or variable.shape  # with padding, or without
        storage = variable.base_storage or variable.name
        is_alias = variable.base_storage in kernel.temporary_variables or variable.base_storage in kernel.arg_dict
        if not is_alias and all(isinstance(extent, (int, np.integer)) for extent in shape):
            cells = prod(map(cells_along, shape, variable.dim_tags or [None] * len(shape)))
            key = variable.address_space, storage, variable.dtype
            sizes[key] = max(sizes.get(key, 0), cells * memory_type(variable).itemsize)
    total: Counter[Any] = Counter()
    for (space, *_), size in sizes.items():
        total[space] += size
    return total


def cells_along(extent: int, tag: Any) -> int:
    """Return the cells of memory along an axis. OpenCL stores a vector of three components as one of four."""
    return 4 if extent == 3 and isinstance(tag, VectorArrayDimTag) else int(extent)


def untouched_arrays(t_unit: lp.TranslationUnit, touched: Set[str]) -> tuple[str, ...]:
    return tuple(sorted(
        argument.name for argument in t_unit.default_entrypoint.args
        if not isinstance(argument, lp.ValueArg) and argument.name not in touched
    ))


def components(dtype: np.dtype[Any]) -> int:
    """Return the number of components of an OpenCL vector type (3 of a float3). Any other type has one."""
    if dtype.names is None or dtype.names[0] != "s0" or len({field[0] for field in _fields(dtype).values()}) != 1:
        return 1
    return sum(not name.startswith("padding") for name in dtype.names)


def component(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type of a vector type's components. Return any other type unchanged."""
    return _fields(dtype)["s0"][0] if dtype.kind == "V" and components(dtype) > 1 else dtype


def _fields(dtype: np.dtype[Any]) -> Mapping[str, Any]:
    return dtype.fields or {}


@cache  # NumPy computes a name each time
def type_name(dtype: np.dtype[Any]) -> str:
    """Return the name of a type in counts. A vector has its component's name. A structure is ``struct``."""
    dtype = component(dtype)
    return "struct" if dtype.kind == "V" else str(dtype.name)


def member_of(dtype: np.dtype[Any], names: tuple[str, ...]) -> tuple[np.dtype[Any], int]:
    """Return the type of a member of a structure or vector, and its offset in bytes."""
    total = 0
    for name in names:
        dtype, offset = _fields(dtype)[name][:2]
        total += offset
    return dtype, total


def structured_types(t_unit: lp.TranslationUnit) -> str:
    """Return the vector types and structures of all variables, which Loopy's persistent key does not distinguish."""
    texts = []
    for kernel in t_unit.callables_table.values():
        if isinstance(kernel, lp.CallableKernel):
            inner = kernel.subkernel
            for variable in (*inner.args, *inner.temporary_variables.values()):
                dtype = getattr(variable.dtype, "numpy_dtype", None)
                if dtype is not None and dtype.kind == "V":
                    texts.append(f"{variable.name}: {dtype!r}")
    return "; ".join(sorted(texts))


def real_part(dtype: Type[Any]) -> Type[Any]:
    """Return the type of the parts of a complex type or of a vector's components. Return any other type unchanged."""
    return component(dtype) if dtype.kind == "V" else COMPLEX.get(dtype, dtype)


def promote(left: Type[Any], right: Type[Any]) -> Type[Any]:
    """Return the C type of an operation on operands of these types. A scalar is widened to a vector."""
    if left.kind == "V" or right.kind == "V":
        return left if left.kind == "V" else right
    for wide, narrow in ((left, right), (right, left)):
        if wide.kind in "fc" and narrow.kind in "iub":
            return wide  # C converts the integer to the other's type
    kinds = {left.kind, right.kind}
    if kinds == {"i", "u"}:  # of equal size the unsigned type wins, as in C
        signed, unsigned = (left, right) if left.kind == "i" else (right, left)
        size = max(signed.itemsize, unsigned.itemsize, INT.itemsize)
        return np.dtype(f"{'u' if unsigned.itemsize == size else 'i'}{size}")
    result = np.promote_types(left, right)
    if result.kind in "iub" and result.itemsize < 4:
        return INT  # C's integer promotions
    return result


def is_sign(expr: Any) -> bool:
    """Return whether a factor is -1, which is free. A factor 1 is in the code, so it costs a product."""
    return p.is_constant(expr) and bool(expr == -1)


def is_product(expr: Any) -> bool:
    return isinstance(expr, p.Product) and sum(not is_sign(child) for child in expr.children) > 1


def flat_terms(expr: p.Sum | p.Product) -> list[Any]:
    """Return the operands of nested sums, or of nested products. C code prints these without parentheses."""
    terms: list[Any] = []
    for child in expr.children:
        terms.extend(flat_terms(child) if isinstance(child, type(expr)) else [child])
    return terms


class _TextMapper(lp.symbolic.StringifyMapper):  # type: ignore[misc]
    """Writes functions and type annotations as text. Loopy's mapper underlines some and lacks others."""

    def __init__(self, whole: Set[str]) -> None:
        super().__init__()
        self.whole = whole

    def map_subscript(self, expr: p.Subscript, precedence: int) -> str:
        is_whole = isinstance(expr.aggregate, p.Variable) and expr.aggregate.name in self.whole
        return str(expr.aggregate.name if is_whole else super().map_subscript(expr, precedence))

    def map_resolved_function(self, expr: lp.symbolic.ResolvedFunction, precedence: int) -> str:
        return str(expr.function)

    def map_type_cast(self, expr: lp.symbolic.TypeCast, precedence: int) -> str:
        return f"cast({expr.type.numpy_dtype.name}, {self.rec(expr.child, PREC_NONE)})"

    def map_type_annotation(self, expr: lp.symbolic.TypeAnnotation, precedence: int) -> str:
        return str(self.rec(expr.child, precedence))


def text_of(expr: Any, whole: Set[str] = frozenset()) -> str:
    """Return an expression as text that can be typed. The arrays in ``whole`` are written without indices."""
    return str(_TextMapper(whole)(expr, PREC_NONE))


@dataclass(frozen=True)
class Options:
    """Arguments of :func:`perfmodel.counts.count`."""

    include_index_arithmetic: bool = False
    group_multiply_add: bool = False
    within: str = ""
    access_tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class OperationEvent:
    """An operation in an instruction."""

    dtype: str
    kind: str
    amount: int
    conditions: tuple[Condition, ...]  # under which it is reached
    per_lane: bool = True
    operands: tuple[Operand, ...] = ()
    lanes: int = 1  # components of the widest operand


@dataclass(frozen=True)
class AccessEvent:
    """An array access in an instruction."""

    array: str
    indices: tuple[Any, ...]
    direction: str
    conditions: tuple[Condition, ...]
    vector_axis: int | None = None
    member: tuple[str, ...] = ()  # of a structure or vector: ("s0",), or ("position", "x")
    tags: frozenset[str] = frozenset()


class Scope(NamedTuple):
    """The context of an expression in an instruction."""

    literal: Type[Any]  # the C type of literals
    conditions: tuple[Condition, ...] = ()  # under which the expression is evaluated
    in_index: bool = False  # in an address or a test of indices, whose integer arithmetic is counted on request only
    tags: frozenset[str] = frozenset()  # the access tags of the variable itself, as ``left`` in ``a$left[i]``

    def under(self, condition: Condition) -> "Scope":
        return self._replace(conditions=(*self.conditions, condition))

    def at(self, accessed: Any) -> "Scope":
        tags = getattr(getattr(accessed, "aggregate", accessed), "tags", ())
        if not tags and not self.tags:
            return self
        return self._replace(tags=frozenset(str(getattr(tag, "value", type(tag).__name__)) for tag in tags))

    def of_index(self) -> "Scope":
        return self._replace(literal=INT, in_index=True)
