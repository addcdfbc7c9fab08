"""Scheduling and code generation by Loopy. Kernels are refused by the type and text of errors of Loopy 2025.2."""

import io
import keyword
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from math import prod
from typing import Any, TypeVar

import islpy as isl
import loopy as lp
import numpy as np
import pymbolic.primitives as p
from loopy.check import check_bounds
from loopy.kernel.array import FixedStrideArrayDimTag
from loopy.kernel.data import ConcurrentTag, UnrollTag
from loopy.symbolic import IdentityMapper, LinearSubscript
from pytools.graph import CycleError

from perfmodel.counts.points.set_counter import OPERATIONS, BudgetSpentError, limited
from perfmodel.counts.quasipoly.arguments import whole
from perfmodel.counts.reading import sets
from perfmodel.counts.reading.values import memory_type, offset_of
from perfmodel.errors import CountError, KernelError, PerfModelError, listed

T = TypeVar("T")


def schedule(t_unit: lp.TranslationUnit) -> lp.TranslationUnit:
    """Return the translation unit as one preprocessed and linearized kernel, or raise an error that refuses it."""
    for kernel in t_unit.callables_table.values():
        if isinstance(kernel, lp.CallableKernel):
            refuse_unbounded(sets.domains(kernel.subkernel))
    with refusals(t_unit):
        t_unit = _with_callees_inlined(t_unit)
        if t_unit.state < lp.KernelState.PREPROCESSED:
            t_unit = lp.preprocess_program(t_unit)
        if t_unit.state < lp.KernelState.LINEARIZED:
            t_unit = lp.linearize(t_unit)
    if len(t_unit.entrypoints) != 1:
        problem = f"it has {len(t_unit.entrypoints)} entry points, not one"
        raise _refused(problem, "name the kernel to count, with t_unit.with_entrypoints(...)")
    if names := _untyped(t_unit):
        raise _untyped_arguments(names)
    for temporary in t_unit.default_entrypoint.temporary_variables.values():
        if temporary.address_space is lp.auto:
            problem = f"the temporary '{temporary.name}' is never written, so that its address space is not known"
            raise _refused(problem, "add an instruction that writes it first, or make it an argument")
    refuse_bounds(t_unit.default_entrypoint)
    return t_unit


def refuse_bounds(kernel: lp.LoopKernel) -> None:
    variables = {**kernel.temporary_variables, **kernel.arg_dict}
    for domain in sets.domains(kernel):
        for name in domain.get_var_names(isl.dim_type.param):
            if getattr(variables.get(name), "shape", ()) != ():  # Loopy writes its name without an index
                loops = ", ".join(domain.get_var_names(isl.dim_type.set))
                problem = f"'{name}' bounds a loop over {loops} and is an array in the code, which no compiler accepts"
                raise _refused(problem, f"let a scalar bound the loop: tag no loop around '{name}' with 'ilp' or 'vec'")


def _with_callees_inlined(t_unit: lp.TranslationUnit) -> lp.TranslationUnit:
    while names := [  # Loopy makes a version of a callee for each layout of its arguments, and inlines one at a time
        str(name) for name, callee in t_unit.callables_table.items()
        if isinstance(callee, lp.CallableKernel) and name not in t_unit.entrypoints
    ]:
        if t_unit.state >= lp.KernelState.PREPROCESSED:
            raise _refused(
                f"it calls the kernel '{names[0]}' and is preprocessed already, so that the call cannot be inlined",
                "count it before it is preprocessed",
            )
        t_unit = lp.inline_callable_kernel(t_unit, names[0])
    return t_unit


def read_at_sizes(
    read: Callable[[lp.TranslationUnit], T], t_unit: lp.TranslationUnit, sizes: Mapping[str, Any],
    note: Callable[[str], None],
) -> T:  # fmt: skip
    """Return what `read` returns of a unit. If the work-group's shape depends on sizes, the unit assumes their values.

    `note` is called with a sentence about these values.
    """
    while True:
        try:
            return read(t_unit)
        except CountError as error:
            values = {name: np.unique(sizes.get(name, ())).tolist() for name in error.sizes}
            if not values or any(len(found) != 1 for found in values.values()):
                raise
            texts = [f"{name} = {whole(name, value, tuple(sizes))}" for name, (value,) in values.items()]
            note(f"the shape of the work-group depends on sizes, so these counts hold for {', '.join(texts)} only")
            t_unit = t_unit.with_kernel(lp.assume(t_unit.default_entrypoint, " and ".join(texts)))


def with_types(t_unit: lp.TranslationUnit, dtypes: Mapping[str, Any]) -> lp.TranslationUnit:
    """Return the translation unit with types for arguments that have none."""
    if len(t_unit.entrypoints) != 1:
        return t_unit  # which `schedule` refuses
    kernel = t_unit.default_entrypoint
    known, arguments = {**kernel.temporary_variables, **kernel.arg_dict}, tuple(kernel.arg_dict)
    for name, given in dtypes.items():
        if name not in known:
            raise KernelError(f"dtypes has '{name}', which is not an argument", f"choose among {listed(arguments)}")
        try:
            dtype = lp.types.to_loopy_type(given)
        except Exception as error:  # NumPy and Loopy raise various ones
            raise KernelError(f"dtypes[{name!r}] is {given!r}", "give a NumPy type, such as numpy.float32") from error
        if known[name].dtype not in (None, dtype):
            problem = f"dtypes[{name!r}] is {dtype.numpy_dtype}, and the kernel has {known[name].dtype.numpy_dtype}"
            raise KernelError(problem, "give types only for arguments that have none yet")
    new = {name: given for name, given in dtypes.items() if known[name].dtype is None}
    return t_unit.with_kernel(lp.add_dtypes(kernel, new)) if new else t_unit


def refuse_unbounded(domains: Iterable[isl.Set]) -> None:
    """Raise an error if a loop has infinitely many iterations for some value of the parameters.

    Outer loops are parameters of inner domains. Loopy's main branch leaves the loop of a sequential scan in a second
    domain. Then one of the two domains must bound the loop.
    """
    domains = [*domains]
    bounded = {
        name for domain in domains for name in domain.get_var_names(isl.dim_type.set)
        if domain.project_out_except([name], [isl.dim_type.set]).is_bounded()
    }
    for domain in domains:
        unbounded = tuple(name for name in domain.get_var_names(isl.dim_type.set) if name not in bounded)
        if unbounded:
            problem = f"the loop over {listed(unbounded)} has no bound in its domain {domain}"
            advice = f"give it a lower and an upper bound, such as 0 <= {unbounded[0]} < n"
            raise CountError(problem, advice, inames=unbounded)


def updated_atomically(t_unit: lp.TranslationUnit) -> tuple[str, ...]:
    instructions = (instruction for entry in t_unit.entrypoints for instruction in t_unit[entry].instructions)
    atomics = (entry.var_name for instruction in instructions for entry in getattr(instruction, "atomicity", ()))
    return tuple(dict.fromkeys(atomics))


TYPES = "give a type to the variable in this message, with loopy.add_dtypes"
ORDER = """let all instructions agree on the order of their loops: change loopy.prioritize_loops or the dependences, or
give an instruction loops of its own with loopy.duplicate_inames"""
LENGTH = "split the loop with loopy.split_iname, or fix the size that bounds it with loopy.fix_parameters"
NO_ORDER = "no order of its loops and instructions was found"
diagnostic = lp.diagnostic
#: The type of Loopy's error, a regular expression for its message, our reason and our advice. ``{0}`` is Loopy's
#: message, ``{1}`` the first group of the expression. The first entry that matches is used.
REFUSALS: tuple[tuple[type[Exception], str, str, str], ...] = (
    (diagnostic.LoopyIndexError, "out-of-bounds", "{0}",
     "fix the index, the array's shape, or the assumptions on the sizes"),
    (diagnostic.DependencyCycleFound, "", "the dependences of {0} form a cycle", "remove a dependence from the cycle"),
    (CycleError, "", "the required order of loops or instructions has a cycle at {0}", ORDER),
    (diagnostic.TypeInferenceFailure, r"name not known in type inference: (\S+)", "nothing is called '{1}'",
     "declare it as an argument or a temporary, or correct its name"),
    (diagnostic.TypeInferenceFailure, "", "{0}", TYPES),
    (lp.LoopyError, "could not determine type of", "{0}", TYPES),
    (lp.LoopyError, r"(Unknown function '.*?')", "{1}",
     "use a function of Loopy's target, or add it with loopy.register_callable"),
    (diagnostic.VariableAccessNotOrdered, r"(No dependency relationship found .*?)\. Either", "{1}",
     "let one of the two depend on the other, as with {{dep=...}}"),
    (diagnostic.MissingDefinitionError, "", "{0}",
     "add an instruction that writes the variable first, or a dependence on it"),
    (diagnostic.MissingBarrierError, r"(Dependency .*? barrier)", "{1}",
     "add that barrier between the two instructions, or make them independent"),
    (lp.LoopyError, r"(Kernel does not have a schedulable iname nesting)", "{1}", ORDER),
    (RuntimeError, "no valid schedules found", NO_ORDER, ORDER),
    (EOFError, "", NO_ORDER, ORDER),  # it asks the user for a hint
    (lp.LoopyError, "has multiple inames tagged", "{0}", "tag all but one of these inames with other axes"),
    (lp.LoopyError, r"(instruction '.*' does not use all \w+ hw axes .*?\))", "{1}",
     "let it run along these axes too, as loopy.add_inames_for_unused_hw_axes does"),
    (lp.LoopyError, r"axis \d+ unused", "{0}",
     "let every instruction run along this axis, or number the axes of each launch from 0"),
    (lp.LoopyError, "wrong number of indices", "{0}", "give one index for each axis of the array"),
    (lp.LoopyError, "data-dependent parameter", "{0}", "make the loop sequential, or let sizes bound it"),
    (diagnostic.StaticValueFindingError, "", "{0}", LENGTH),
    (isl.Error, "unbounded optimum", "a loop that is unrolled or vectorised has no constant length", LENGTH),
    (lp.LoopyError, "depends on non-argument", "{0}", "make each size in it an integer argument of the kernel"),
    (lp.LoopyError, "Non-integral array indices", "{0}", "use integers as indices"),
)  # fmt: skip


class _RedirectedInput(redirect_stdout[io.StringIO]):
    _stream = "stdin"


@contextmanager
def refusals(t_unit: lp.TranslationUnit) -> Iterator[None]:
    """Turn every exception of Loopy, except warnings, into a KernelError of one line. Suppress what Loopy prints."""
    try:
        with _RedirectedInput(io.StringIO()), redirect_stdout(io.StringIO()):
            yield
    except (PerfModelError, Warning):
        raise
    except Exception as error:  # Loopy raises its own errors, and those of Python, islpy and pytools
        raise refusal(t_unit, error) from error


def refusal(t_unit: lp.TranslationUnit, error: Exception) -> KernelError:
    """Return the error for a kernel that Loopy refuses, with the reason in one line, and with advice."""
    names = _untyped(t_unit) if isinstance(error, lp.diagnostic.TypeInferenceFailure) else ()
    if names:
        return _untyped_arguments(names)
    text = " ".join(str(error).split()) or type(error).__name__
    for kind, pattern, reason, advice in REFUSALS:
        if isinstance(error, kind) and (match := re.search(pattern, text)):
            return _refused(reason.format(text, *match.groups()), " ".join(advice.format().split()))
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return _refused(first if " " in first else f"{type(error).__name__} {first}".strip())


def _refused(
    reason: str, advice: str = "change the kernel until loopy.generate_code_v2 accepts it", **details: Any
) -> KernelError:
    return KernelError(f"Loopy cannot build the kernel: {' '.join(reason.split())}", advice, **details)


def _untyped_arguments(names: tuple[str, ...]) -> KernelError:
    given = ", ".join(f"{name!r}: numpy.float32" for name in names[:3]) + ", ..." * (len(names) > 3)
    advice = f"give each its type, as in count(..., dtypes={{{given}}}) or with loopy.add_dtypes"
    return _refused(f"no type is known for {listed(names)}", advice, names=names)


def _untyped(t_unit: lp.TranslationUnit) -> tuple[str, ...]:
    kernels = [t_unit[entry] for entry in sorted(t_unit.entrypoints)]
    return tuple(argument.name for kernel in kernels for argument in kernel.args if argument.dtype is None)


@dataclass(frozen=True)
class BuildCheck:
    """The cached result of a check: the reason why the kernel cannot be built, and advice, or two empty texts."""

    problem: str = ""
    advice: str = ""

    def to_json(self) -> tuple[str, str]:
        return self.problem, self.advice

    @classmethod
    def from_json(cls, document: list[str]) -> "BuildCheck":
        return cls(*document)

    def refuse(self) -> None:
        if self.problem:
            raise KernelError(self.problem, self.advice)


def check(scheduled: Callable[[], lp.TranslationUnit]) -> BuildCheck:
    """Check that compilers accept Loopy's code, and that the code stays inside of arrays. Return the result."""
    try:
        t_unit = scheduled()
        with refusals(t_unit):
            code = lp.generate_code_v2(t_unit).device_code()
        refuse_names(t_unit)
        refuse_undeclared(t_unit.default_entrypoint, code)
        refuse_outside(t_unit)
    except KernelError as error:
        return BuildCheck(error.problem, error.advice)
    return BuildCheck()


def refuse_undeclared(kernel: lp.LoopKernel, code: str) -> None:
    """Raise an error if the code uses an undeclared loop variable. Loopy's tests of vector lanes can do that."""
    # removes comments, which name slabs, and macros, which have arguments
    code = re.sub(r"/\*.*?\*/|//[^\n]*|^[ \t]*#(?:\\\n|[^\n])*", "", code, flags=re.DOTALL | re.MULTILINE)
    for iname in sorted(kernel.all_inames()):
        uses = re.findall(rf"(?:\b([A-Za-z_]\w*)\s+)?(?<![\w.]){iname}\b(?!\s*\()", code)
        if uses and all(before in ("", "return", "else") for before in uses):
            problem = f"its code uses the loop variable '{iname}' and has no loop over it, which no compiler accepts"
            advice = f"tag '{iname}' with 'unr' in place of 'vec', or write its condition as an if expression"
            raise _refused(problem, advice)


#: Names that an OpenCL compiler refuses, and names of arguments that Loopy's host function refuses.
_OPENCL_WORDS = frozenset(re.findall(r"\w+", """
auto bool break case char const constant continue default do double else enum extern false float for global goto half if
inline int kernel local long private read_only read_write register restrict return short signed sizeof static struct
switch true typedef uchar uint ulong union unsigned ushort void volatile while write_only
"""))
_HOST_WORDS = frozenset({*keyword.kwlist, "allocator", "queue", "wait_for"})


def refuse_names(t_unit: lp.TranslationUnit) -> None:
    """Raise an error if a name of the kernel is reserved. Loopy accepts such a name, but a compiler refuses it."""
    if not isinstance(t_unit.target, lp.OpenCLTarget):
        return
    kernel = t_unit.default_entrypoint
    passed = {kernel.name, *kernel.arg_dict}
    loops = {name for name in kernel.all_inames() if not kernel.iname_tags_of_type(name, (ConcurrentTag, UnrollTag))}
    reserved = {"OpenCL C": _OPENCL_WORDS & {*passed, *kernel.temporary_variables, *loops}}
    if isinstance(t_unit.target, lp.PyOpenCLTarget):
        reserved["Loopy's host code, in Python"] = _HOST_WORDS & passed
    for where, names in reserved.items():
        for name in sorted(names):
            reason = f"it uses the name '{name}', which is reserved in {where}"
            raise _refused(reason, "rename it, as with loopy.rename_argument or loopy.rename_iname")


def refuse_outside(t_unit: lp.TranslationUnit) -> None:
    r"""Raise an error unless every access lies inside of its array at all sizes that the assumptions admit.

    Loopy compares each index with the array's shape, axis by axis. But the code declares as many cells of a temporary
    as its shape has, and addresses them by strides: 32 rows of 32 columns at stride 33 exceed their 32*32 cells. So
    Loopy's check runs again on a kernel in which arrays have one axis. Let an array have constant strides :math:`s` and
    :math:`N` declared cells. An access at index :math:`x` must then have :math:`0 \le \sum_k s_k x_k < N`.
    """
    kernel = t_unit.default_entrypoint
    if kernel.options.enforce_array_accesses_within_bounds is not True:
        return
    cells = {name: _declared_cells(kernel, array) for name, array in kernel.temporary_variables.items()}
    known = {name: size for name, size in cells.items() if size is not None}
    try:
        with limited(OPERATIONS):
            check_bounds(t_unit.with_kernel(_Flat(kernel, known).kernel()))
    except lp.diagnostic.LoopyIndexError as error:
        access, instruction = re.findall("'(.*?)'", str(error))[:2]
        name = access.partition("[")[0]
        if name not in known:  # Loopy checks shapes when it schedules, but the user had scheduled this kernel
            raise refusal(t_unit, error) from error
        problem = f"'{access}' in instruction '{instruction}' lies outside of the {known[name]} cells of the array"
        advice = "give the array a shape (or a temporary a storage_shape) that holds its strides, or fix the index"
        raise KernelError(problem, advice) from error
    except (BudgetSpentError, lp.LoopyError):
        return


def _declared_cells(kernel: lp.LoopKernel, array: Any) -> int | None:
    """Return how many cells the code declares for a temporary with constant strides, or None if this is unknown."""
    tags = array.dim_tags
    if not isinstance(array, lp.TemporaryVariable) or not tags or not all(
        isinstance(tag, FixedStrideArrayDimTag) and isinstance(tag.stride, (int, np.integer)) for tag in tags
    ):
        return None
    if array.base_storage:  # the cells up to the end of that storage
        storage, offset = kernel.get_var_descriptor(array.base_storage), offset_of(kernel, array)
        whole = _declared_cells(kernel, storage)
        if whole is None or not isinstance(offset, (int, np.integer)):
            return None
        return whole * memory_type(storage).itemsize // memory_type(array).itemsize - int(offset)
    shape = array.storage_shape or array.shape
    return prod(map(int, shape)) if all(isinstance(extent, (int, np.integer)) for extent in shape) else None


class _Flat(IdentityMapper):  # type: ignore[misc]
    """Rewrites a kernel so that the temporaries in ``cells`` have one axis."""

    def __init__(self, kernel: lp.LoopKernel, cells: dict[str, int]) -> None:
        super().__init__()
        self.whole, self.cells = kernel, cells

    def kernel(self) -> lp.LoopKernel:
        flat = {
            name: array.copy(
                shape=(self.cells[name],), dim_tags=(FixedStrideArrayDimTag(1),), dim_names=None, storage_shape=None,
                base_indices=(0,),
            ) for name, array in self.whole.temporary_variables.items() if name in self.cells
        }
        instructions = [insn.with_transformed_expressions(self) for insn in self.whole.instructions]
        return self.whole.copy(
            instructions=instructions, temporary_variables={**self.whole.temporary_variables, **flat}
        )

    def map_subscript(self, expr: p.Subscript) -> Any:
        indices = tuple(self.rec(index) for index in expr.index_tuple)
        if expr.aggregate.name in self.cells:
            tags = self.whole.get_var_descriptor(expr.aggregate.name).dim_tags
            parts = (p.flattened_product((tag.stride, index)) for tag, index in zip(tags, indices, strict=True))
            indices = (p.flattened_sum(parts),)
        return p.Subscript(expr.aggregate, indices)

    def map_linear_subscript(self, expr: LinearSubscript) -> Any:
        if expr.aggregate.name in self.cells:
            return p.Subscript(expr.aggregate, (self.rec(expr.index),))
        return super().map_linear_subscript(expr)
