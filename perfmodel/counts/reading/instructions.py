"""One instruction: its step in the dataflow, its vectors, and the declaration of C code."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import islpy as isl
import loopy as lp
import numpy as np
import pymbolic.primitives as p
from loopy.codegen import UnvectorizableError
from loopy.expression import VectorizabilityChecker
from loopy.kernel.data import HardwareConcurrentTag, VectorizeTag
from loopy.library.reduction import ArgExtOp

from perfmodel.counts.program.program import DECISIONS, SHARED, Cell, Index, OpKind, Read, Step, Write
from perfmodel.counts.reading import sets, values
from perfmodel.counts.reading.domains import Domains, affine_form, names_in
from perfmodel.counts.reading.expressions import Walk
from perfmodel.counts.reading.values import COPIED, INT, AccessEvent, Condition, OperationEvent, Scope, Type
from perfmodel.documents import shortened
from perfmodel.errors import CountError, listed

Leaf = tuple[str, Cell, list[OpKind]]  # a value that is read, and the operations above it so far


@dataclass
class PathWalk(Walk):
    """A walk over an instruction that also notes each value's path to the result, in C's order."""

    leaves: list[Leaf] = field(default_factory=list)
    #: For each expression being walked, how many leaves there were before it and before each of its operands.
    frames: list[list[int]] = field(default_factory=lambda: [[0]])
    writes: list[Write] = field(default_factory=list)

    def rec(self, expr: Any, scope: Scope) -> Any:
        start = len(self.leaves)
        self.frames[-1].append(start)
        self.frames.append([start])
        dtype = super().rec(expr, scope)
        self.frames.pop()
        return dtype

    def record(self, operation: OperationEvent) -> None:
        super().record(operation)
        if operation.kind not in DECISIONS:
            self.extend(self.frames[-1][0], (operation.dtype, operation.kind))

    def extend(self, start: int, kind: OpKind) -> None:
        for leaf in self.leaves[start:]:
            leaf[2].append(kind)

    def access(
        self, array: str, indices: tuple[Any, ...], direction: str, scope: Scope, member: tuple[str, ...] = ()
    ) -> Type[Any]:
        start = len(self.leaves)
        dtype = super().access(array, indices, direction, scope, member)
        space = _space(self.kernel, array)
        if space is None:
            return dtype
        path = [(space, direction)] if space in SHARED else []
        cell = tuple([_index(self.kernel, index) for index in indices])
        if direction == "store":
            self.writes.append(Write(array, cell, space))
            return dtype
        for kind in path:  # above the values in its index
            self.extend(start, kind)
        self.leaves.append((array, cell, path))
        return dtype

    def map_call(self, expr: p.Call, scope: Scope) -> Type[Any]:
        start = len(self.leaves)
        dtype = super().map_call(expr, scope)
        if isinstance(self.function_name(expr), ArgExtOp):  # its next comparison waits for its result
            self.extend(start, (self.operations[-1].dtype, "minmax"))
        return dtype

    def join_products(self, terms: Sequence[Any], before: int, scope: Scope) -> bool:
        """Replace products and additions by ``madd`` on the paths too."""
        if not super().join_products(terms, before, scope):
            return False
        starts = [*self.frames[-1][1:], len(self.leaves)]
        products = [values.is_product(term) for term in terms]
        free = products.index(False) if products[0] and not all(products) else 0
        joined = [k > 0 and (product or k == free) for k, product in enumerate(products)]
        for k, product in enumerate(products):
            gone = product and (k > 0 or free > 0)
            above = range(max(k, 1), len(terms))
            for _, _, path in self.leaves[starts[k]:starts[k + 1]]:
                inner = path[:-len(above)]
                if gone and inner and inner[-1][1] == "mul":
                    del inner[-1]
                additions = zip(above, path[-len(above):], strict=True)
                path[:] = inner + [(kind[0], "madd") if joined[j] else kind for j, kind in additions]
        return True

    def step(self, instruction: lp.MultiAssignmentBase) -> Step:
        kinds = [((each.dtype, each.kind), each.amount) for each in self.operations if each.kind not in DECISIONS]
        leaves = self.leaves
        for guard in sorted(instruction.predicates, key=str):
            test = PathWalk(self.kernel, self.callables)
            test.test(guard, Scope(INT))
            leaves = leaves + test.leaves
        reads = dict.fromkeys([Read(name, cell, tuple(path)) for name, cell, path in leaves])
        return Step(
            instruction.id, tuple(reads), tuple(self.writes), _amounts(self.kernel, kinds, self.accesses),
            bool(instruction.predicates), tuple(sorted(instruction.read_dependency_names())),
        )


def unrolled_inames(kernel: lp.LoopKernel) -> tuple[str, ...]:
    """Return the inames of three kinds of loops: unrolled loops, lanes of a vector, and loops that run once."""
    def runs_once(name: str) -> bool:
        domain = sets.inames_domain(kernel, [name])
        domain = domain.project_out_except([name], [isl.dim_type.set])
        if not all(found(isl.dim_type.set, 0) for found in (domain.dim_has_lower_bound, domain.dim_has_upper_bound)):
            return False  # Loopy did not find the domain of a loop that bounds it
        first, last = sets.bounds(kernel, name)
        return bool(first.is_equal(last))

    return tuple(sorted(
        name for name in kernel.all_inames()
        if kernel.iname_tags_of_type(name, COPIED)
        or (not kernel.iname_tags_of_type(name, HardwareConcurrentTag) and runs_once(name))
    ))


def _amounts(
    kernel: lp.LoopKernel, operations: Iterable[tuple[OpKind, int]], accesses: Iterable[AccessEvent]
) -> tuple[tuple[str, str, int], ...]:
    """Return the operations, and the accesses to global and local memory, with their number."""
    amounts = Counter[OpKind]()
    for kind, amount in operations:
        amounts[kind] += amount
    for access in accesses:
        space = _space(kernel, access.array)
        if space in SHARED:
            amounts[str(space), access.direction] += 1
    return tuple((*kind, amount) for kind, amount in amounts.items())


def _space(kernel: lp.LoopKernel, name: str) -> str | None:
    variable = kernel.temporary_variables.get(name) or kernel.arg_dict[name]
    return None if isinstance(variable, lp.ValueArg) else values.space_of(variable)


def _index(kernel: lp.LoopKernel, expr: Any) -> Index:
    """Return an index as an affine form, or None if the index has data or products of names."""
    if isinstance(expr, lp.symbolic.LinearSubscript):
        return None
    form = affine_form(expr)
    if form is None and not any(name in kernel.temporary_variables for name in names_in(expr)):
        form = affine_form(lp.symbolic.simplify_using_aff(kernel, expr))  # i of (lane + 4*i)//4
    if form is None or any(name in kernel.temporary_variables for name in form):
        return None
    return form.get("", 0), tuple(sorted((name, factor) for name, factor in form.items() if name and factor))


Part = tuple[str, tuple[Condition, ...]]  # the vectorised iname, or "", and the conditions of this part


def vectorised(domains: Domains, launch: int, instruction: lp.MultiAssignmentBase) -> tuple[Part, ...]:
    """Return the parts of an instruction's domain, each with the vectorised iname of this part or with ""."""
    kernel, names = domains.kernel, instruction.within_inames
    iname = vector_iname(kernel, instruction)
    if not iname:
        return (("", ()),)
    partial = _partial_vectors(domains.domain(launch, names).points, iname, kernel.get_constant_iname_length(iname))
    if partial.is_empty():
        return ((iname, ()),)
    tests = _outside_of_slabs(kernel, names)
    inside = domains.domain(launch, names, tuple((test, True) for test in tests)).points
    if not tests or not partial.is_disjoint(inside):
        return (("", ()),)
    return (iname, tuple((test, True) for test in tests)), ("", ((p.LogicalAnd(tests), False),))


def vector_iname(kernel: lp.LoopKernel, instruction: lp.MultiAssignmentBase) -> str:
    """Return the iname along which Loopy vectorises an instruction, or "" if there is none."""
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


def _partial_vectors(points: isl.Set, iname: str, lanes: int) -> isl.Set:
    position = points.find_dim_by_name(isl.dim_type.set, iname)
    full = points
    for lane in range(lanes):
        at_lane = points.fix_val(isl.dim_type.set, position, isl.Val(lane))
        full = full.intersect(at_lane.eliminate(isl.dim_type.set, position, 1))
    return points.subtract(full)


def _outside_of_slabs(kernel: lp.LoopKernel, names: Collection[str]) -> tuple[p.Comparison, ...]:
    """Return the conditions outside of slabs. A slab is the first or last iterations that Loopy splits off a loop."""
    tests: list[p.Comparison] = []
    for name in sorted(names):
        first, last = kernel.iname_slab_increments.get(name, (0, 0))
        bounds = kernel.get_iname_bounds(name) if first or last else None
        if bounds is not None and first:
            lower = lp.symbolic.pw_aff_to_expr(bounds.lower_bound_pw_aff)
            tests.append(p.Comparison(p.Variable(name), ">=", lower + first))
        if bounds is not None and last:
            upper = lp.symbolic.pw_aff_to_expr(bounds.upper_bound_pw_aff)
            tests.append(p.Comparison(p.Variable(name), "<=", upper - last))
    return tuple(tests)


Operations = Mapping[tuple[str, str], int]
Declared = Mapping[str, Mapping[str, Mapping[Any, Any]]]  # by instruction, as {"operations": ..., "loads": {"a[i]": 1}}
DIRECTIONS = {"loads": "load", "stores": "store"}
PARTS = {"operations", *DIRECTIONS}
MOST, LONGEST = 10_000, 1_000  # limits: accesses of one kind, and characters of an access
IDLE = re.compile(r"/\*.*?\*/|//[^\n]*|[\s;]+", re.DOTALL)  # parts of C code that execute nothing
UNKNOWN = p.Variable("an index that is not declared")
DECLARED = (
    "give an integer from 0 up for each operation, such as ('float32', 'mul'), and each access, such as 'a[i]' or 'a'"
)


@dataclass(frozen=True)
class Declaration:
    """The declared effects of one execution of a C instruction."""

    operations: Operations = field(default_factory=dict)  # by type and kind
    accesses: tuple[AccessEvent, ...] = ()

    def step(self, kernel: lp.LoopKernel, instruction: lp.CInstruction) -> Step:
        """Return the step of the instruction. Its declared operations form one dependence chain."""
        path = tuple(kind for kind, amount in self.operations.items() for _ in range(amount))
        read = instruction.read_dependency_names() & {*kernel.temporary_variables, *kernel.arg_dict}
        written = sorted(instruction.assignee_var_names())
        return Step(
            instruction.id, tuple(Read(name, (), path) for name in sorted(read) if _space(kernel, name)),
            tuple(Write(name, (), _space(kernel, name) or "private") for name in written),
            _amounts(kernel, self.operations.items(), self.accesses), bool(instruction.predicates),
            tuple(sorted(instruction.read_dependency_names())),
        )


def declaration(
    kernel: lp.LoopKernel, instruction: lp.CInstruction, declared: Declared, conditions: tuple[Condition, ...]
) -> Declaration:
    name = f"the C instruction '{instruction.id}'"
    is_empty = not IDLE.sub("", instruction.code)
    if is_empty and instruction.id not in declared:
        return Declaration()
    parts = _declared_parts(instruction, declared, name)
    if is_empty:
        if any(amount for amounts in parts.values() for amount in amounts.values()):
            raise CountError(f"the code of {name} is empty, so it executes nothing", "declare nothing for it")
        return Declaration()
    touched = (*instruction.read_dependency_names(), *instruction.assignee_var_names())
    if DIRECTIONS.keys().isdisjoint(parts) and any(_is_array(kernel, each) for each in touched):
        raise CountError(f"the declaration of {name} has no 'loads' and no 'stores'", "add both, {} for no access")
    accesses = tuple(
        AccessEvent(*_accessed(kernel, instruction, text), direction, conditions)
        for part, direction in DIRECTIONS.items() for text, amount in parts.get(part, {}).items() for _ in range(amount)
    )
    return Declaration(parts.get("operations", {}), accesses)


def _declared_parts(instruction: lp.CInstruction, declared: Declared, name: str) -> Mapping[str, Mapping[Any, Any]]:
    if instruction.id not in declared:
        example = "{'operations': {('float32', 'add'): 2}, 'loads': {'a[i]': 1}, 'stores': {'out[i]': 1}}"
        advice = f"declare what one execution does, as in count(..., declared={{'{instruction.id}': {example}}})"
        raise CountError(f"Loopy cannot read the code of {name}", advice)
    parts = declared[instruction.id]
    if not isinstance(parts, Mapping) or not set(parts) <= PARTS:
        problem = f"the declaration of {name} cannot be used: it is {shortened(parts)}"
        raise CountError(problem, "give a mapping with 'operations', 'loads' and 'stores'")
    for part, amounts in parts.items():
        if problem := _problem(part, amounts):
            raise CountError(f"the declaration of {name} cannot be used: {problem}", DECLARED)
    return parts


def _problem(part: str, amounts: Any) -> str:
    if not isinstance(amounts, Mapping):
        return f"its {part} are {shortened(amounts)}, not a mapping of names to numbers"
    for key, amount in amounts.items():
        pair = isinstance(key, tuple) and len(key) == 2 and all(isinstance(word, str) for word in key)
        if not (pair if part == "operations" else isinstance(key, str)):
            kind = "a type and kind" if part == "operations" else "an access"
            return f"{shortened(key)} among its {part} is not {kind}"
        if isinstance(amount, bool) or not (isinstance(amount, int | np.integer) and 0 <= amount <= MOST):
            times = f"{shortened(amount)} times, and at most {MOST} are allowed"
            return f"{shortened(key)} among its {part} is declared {times}"
    return ""


def _accessed(kernel: lp.LoopKernel, instruction: lp.CInstruction, text: str) -> tuple[str, tuple[Any, ...]]:
    """Return the array and the indices of ``"a[i, j + 1]"``. The text ``"a"`` means that indices are not declared."""
    try:
        if len(text) > LONGEST:
            raise ValueError
        expr = lp.symbolic.parse(text)
    except Exception as error:  # the parser raises many
        problem = f"Loopy cannot read the access {shortened(text)} declared for the C instruction '{instruction.id}'"
        raise CountError(problem, DECLARED) from error
    subject = f"the declared access '{text}' of the C instruction '{instruction.id}'"
    array = expr.aggregate if isinstance(expr, p.Subscript) else expr
    name = array.name if isinstance(array, p.Variable) else text
    if not _is_array(kernel, name):
        arrays = sorted(name for name in (*kernel.temporary_variables, *kernel.arg_dict) if _is_array(kernel, name))
        raise CountError(f"'{name}', in {subject}, is not an array in memory", f"the arrays are {listed(arrays)}")
    shape = kernel.get_var_descriptor(name).shape
    axes = len(shape) if isinstance(shape, tuple) else 1
    if not isinstance(expr, p.Subscript):
        return name, (UNKNOWN,) * axes
    if len(expr.index_tuple) != axes:
        raise CountError(f"{subject} has {len(expr.index_tuple)} indices", f"give {axes}, one for each axis")
    inames = {p.Variable(inner): outer for inner, outer in instruction.iname_exprs}
    return name, tuple(lp.symbolic.SubstitutionMapper(inames.get)(index) for index in expr.index_tuple)


def _is_array(kernel: lp.LoopKernel, name: str) -> bool:
    variable = kernel.temporary_variables.get(name) or kernel.arg_dict.get(name)
    return variable is not None and values.in_memory(variable)
