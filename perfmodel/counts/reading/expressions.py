"""The operations and accesses that are executed to evaluate the expressions of an instruction.

The *walk* through an expression follows the C code that Loopy generates. In ``c ? a : b`` one branch is evaluated, and
``&&`` stops at the first false operand. ``x**2`` is a product that evaluates its base twice. A complex product is four
products and two sums.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import loopy as lp
import numpy as np
import pymbolic.primitives as p
from loopy.kernel.array import FixedStrideArrayDimTag, VectorArrayDimTag
from loopy.kernel.data import HardwareConcurrentTag, UnrolledIlpTag, UnrollTag, VectorizeTag
from loopy.library.reduction import ArgExtOp, ReductionOpFunction
from loopy.type_inference import TypeReader
from pymbolic.mapper import Mapper

from perfmodel.counts.program.program import INDEX_DIVISIONS, NAME, Operand, literal_of
from perfmodel.counts.reading import sets, values
from perfmodel.counts.reading.domains import affine_form, is_nonnegative, names_in
from perfmodel.counts.reading.values import COMPLEX, INT, AccessEvent, Condition, OperationEvent, Options, Scope, Type
from perfmodel.errors import CountError

FLOAT, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
UNROLLED = (UnrollTag, UnrolledIlpTag)
MINMAX = frozenset({"min", "max", "fmin", "fmax"})
ADDRESSES = frozenset({"indexof", "indexof_vec"})  # the address of an element, in cells; the element is not read
FREE_FUNCTIONS = frozenset({"real", "imag", "conj", "make_tuple"})
#: Expressions whose value differs from the last operation recorded in them.
OPAQUE = (
    p.If, p.Comparison, p.LogicalNot, p.LogicalAnd, p.LogicalOr, p.Variable, p.Subscript, p.Lookup,
    lp.symbolic.LinearSubscript,
)
Copy = tuple[Any, tuple[Condition, ...]]  # an index in the code, and its iteration of unrolled loops
Amounts = tuple[tuple[str, int], ...]  # kinds of operations, and how many of each
#: Real operations of pyopencl's complex helpers, by the kind and by whether the left and the right operand are complex.
COMPLEX_OPERATIONS: Mapping[tuple[str, bool, bool], Amounts] = {
    ("add", True, True): (("add", 2),), ("add", True, False): (("add", 1),), ("add", False, True): (("add", 1),),
    ("mul", True, True): (("mul", 4), ("add", 2)), ("mul", True, False): (("mul", 2),),
    ("mul", False, True): (("mul", 2),), ("div", True, True): (("div", 3), ("mul", 4), ("add", 3)),
    ("div", True, False): (("div", 2),), ("div", False, True): (("div", 3), ("mul", 3), ("add", 1)),
}


@dataclass
class Walk(Mapper):  # type: ignore[misc]
    """Lists the operations and accesses of an instruction. Each ``map_...`` returns the C type of an expression."""

    kernel: lp.LoopKernel
    callables: Mapping[Any, Any]  # the functions of the translation unit
    options: Options = field(default_factory=Options)
    vector_iname: str = ""  # along which the instruction is vectorised
    has_complex: bool = False  # whether there are complex variables
    operations: list[OperationEvent] = field(default_factory=list)
    accesses: list[AccessEvent] = field(default_factory=list)
    operand: Operand = ""  # the value of the expression walked last
    divided: set[tuple[str, ...]] = field(default_factory=set)  # operands of divisions in indices
    #: operations that a compiler does once: conversions between integers and floating point, by the operand and the
    #: type of floating point; and operations on data in indices, by the operands and the kind
    single: dict[tuple[Operand, str], OperationEvent] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__()
        self.inames = self.kernel.all_inames()
        self.index_type = np.dtype(self.kernel.index_dtype.numpy_dtype)

    def assignment(self, instruction: lp.MultiAssignmentBase) -> None:
        targets = instruction.assignees
        variables = (self.kernel.arg_dict, self.kernel.temporary_variables)
        used = [known[name] for name in instruction.dependency_names() for known in variables if name in known]
        self.has_complex = any(values.memory_type(variable) in COMPLEX for variable in used)
        scope = Scope(values.real_part(self.assigned_type(targets[0])) if targets else INT)
        dtype = self.rec(instruction.expression, scope)
        if len(targets) == 1:
            self.convert(self.assigned_type(targets[0]), dtype, self.operand, scope)
        unread = {entry.var_name for entry in instruction.atomicity} - instruction.read_dependency_names()
        if instruction.atomicity:
            self.note(values.real_part(self.assigned_type(targets[0])), "atomic", scope, ())
        for target in targets:
            whole, member = member_access(target)
            if isinstance(whole, (p.Subscript, lp.symbolic.LinearSubscript, p.Variable, lp.symbolic.TaggedVariable)):
                name, indices = array_access(whole)
                if name in unread:  # an atomic store compares the old value
                    self.access(name, indices, "load", scope.at(whole), member)
                self.access(name, indices, "store", scope.at(whole), member)

    def assigned_type(self, target: Any) -> Type[Any]:
        whole, member = member_access(target)
        whole = whole.subscript if isinstance(whole, lp.symbolic.SubArrayRef) else whole
        variable = self.kernel.get_var_descriptor(array_access(whole)[0])
        return values.member_of(values.memory_type(variable), member)[0]

    def rec(self, expr: Any, scope: Scope) -> Any:
        before = len(self.operations)
        dtype = super().rec(expr, scope)
        if len(self.operations) == before or isinstance(expr, OPAQUE):
            self.operand = values.text_of(expr)
        return dtype

    def access(
        self, array: str, indices: tuple[Any, ...], direction: str, scope: Scope, member: tuple[str, ...] = ()
    ) -> Type[Any]:
        """Record an access to an element or a member, if the array is in memory. Return the type that is accessed."""
        variable = self.kernel.get_var_descriptor(array)
        indices = tuple(
            self.simplified(index) if not isinstance(index, lp.symbolic.LinearSubscript) and self.has_data(index)
            else index for index in indices
        )
        for index, iteration in self.written(variable, indices):
            self.rec(index, scope.of_index()._replace(conditions=scope.conditions + iteration))
        if values.in_memory(variable):
            axis, indices = self.vector_axis(variable, indices)
            self.accesses.append(AccessEvent(array, indices, direction, scope.conditions, axis, member, scope.tags))
        return values.member_of(values.memory_type(variable), member)[0]

    def written(self, variable: Any, indices: tuple[Any, ...]) -> Iterator[Copy]:
        """Yield the parts of an access to walk: its subscript in the code, or the indices that depend on data."""
        if indices and isinstance(indices[0], lp.symbolic.LinearSubscript):  # Loopy writes it unchanged
            yield indices[0].index, ()
        elif self.options.include_index_arithmetic and indices:
            yield from self.copies(self.subscript(variable, indices))
        else:
            for axis, index in enumerate(indices):
                is_plain = affine_form(index) is not None and not self.has_data(index)
                if not is_plain and not _is_broadcast(variable, axis):
                    yield from self.copies(index)

    def subscript(self, variable: Any, indices: tuple[Any, ...]) -> Any:
        simple = [self.simplified(index) for index in indices]
        is_temporary = isinstance(variable, lp.TemporaryVariable)  # whose declaration has the offset
        offset = 0 if is_temporary else values.offset_of(self.kernel, variable)
        if variable.dim_tags is None:
            return offset + sum(simple)
        lanes = variable.vector_size(self.kernel.target)
        return offset + sum(
            lp.symbolic.flatten(tag.stride // lanes * index)
            for tag, index in zip(variable.dim_tags, simple, strict=True) if isinstance(tag, FixedStrideArrayDimTag)
        )

    def copies(self, index: Any) -> Iterator[Copy]:
        """Yield the index or subscript. If unrolling loops changes it, yield a copy for each iteration instead."""
        copies, asked = [], self.options.include_index_arithmetic
        if not asked and not self.has_data(index):
            yield index, ()
            return
        fold = lp.symbolic.flatten if asked and self.has_calls(index) else self.simplified
        iteration_of = _Iteration
        if sets.are_named(self.kernel):  # Loopy's main branch simplifies each subscript before it unrolls
            index, fold = self.simplified(index), lp.symbolic.flatten
            iteration_of = _OuterIteration if asked else _Iteration
        loops = sorted(filter(self.is_unrolled, names_in(index)))
        for iteration in product(*(_iterations(self.kernel, name) for name in loops)) if loops else ():
            at = {p.Variable(name): value for name, value in zip(loops, iteration, strict=True)}
            tests = tuple((p.Comparison(name, "==", value), True) for name, value in at.items())
            copies.append((fold(iteration_of(at, self.is_call)(index)), tests))
        if any(asked or str(copy).count("[") < str(index).count("[") for copy, _ in copies):
            yield from copies
        else:
            yield fold(_Iteration({}, self.is_call)(index)), ()

    def has_calls(self, subscript: Any) -> bool:
        """Return whether a subscript has a function call. Loopy does not simplify such a subscript as a whole."""
        inames = names_in(subscript) & self.inames
        hardware = (self.kernel.iname_tags_of_type(name, HardwareConcurrentTag) for name in inames)
        return any(hardware) or any(map(self.is_call, _divisions(subscript)))

    def simplified(self, index: Any) -> Any:
        """Return an index as Loopy simplifies it. Data in ``0*x`` and ``x % 1`` are not read."""
        return lp.symbolic.simplify_using_aff(self.kernel, index)

    def is_call(self, division: p.FloorDiv | p.Remainder) -> bool:
        """Return whether Loopy calls a function for a division, because an operand may be negative."""
        points = sets.inames_domain(self.kernel, lp.symbolic.get_dependencies(division) & self.inames)
        assumptions = sets.assumptions(self.kernel)
        points = points.align_params(assumptions.get_space()).intersect_params(assumptions)
        return not all(is_nonnegative(points, operand) for operand in (division.numerator, division.denominator))

    def is_whole(self, expr: Any) -> bool:
        """Return whether Loopy replaces an expression by an integer. Loopy computes divisions of integers."""
        if isinstance(expr, (p.FloorDiv, p.Remainder)):
            return self.is_whole(expr.numerator) and self.is_whole(expr.denominator) and not self.is_call(expr)
        return type(expr) is int or (isinstance(expr, p.Variable) and self.is_unrolled(expr.name))

    def is_unrolled(self, name: str) -> bool:
        """Return whether Loopy unrolls a loop. Loopy also unrolls a vectorised loop where it makes no vectors."""
        tags = UNROLLED if name == self.vector_iname else (*UNROLLED, VectorizeTag)
        return name in self.inames and bool(self.kernel.iname_tags_of_type(name, tags))

    def has_data(self, index: Any) -> bool:
        return not all(map(self.is_free, names_in(index)))

    def is_free(self, name: str) -> bool:
        return name in self.inames or isinstance(self.kernel.arg_dict.get(name), lp.ValueArg)

    def vector_axis(self, variable: Any, indices: tuple[Any, ...]) -> tuple[int | None, tuple[Any, ...]]:
        """Return the axis along which one access takes a whole vector (None for no axis), and simplified indices."""
        if self.vector_iname:
            simple = tuple(map(self.simplified, indices))
            for axis, index in enumerate(simple):
                if isinstance(variable.dim_tags[axis], VectorArrayDimTag) and index == p.Variable(self.vector_iname):
                    return axis, simple
        return None, indices

    def map_variable(self, expr: p.Variable, scope: Scope) -> Type[Any]:
        name = expr.name
        if name in self.inames:
            return self.index_type
        if name in self.kernel.arg_dict or name in self.kernel.temporary_variables:
            return self.access(name, (), "load", scope.at(expr))
        return DOUBLE  # a symbol of the target, such as M_PI

    map_tagged_variable = map_variable

    def map_subscript(self, expr: p.Subscript | lp.symbolic.LinearSubscript, scope: Scope) -> Type[Any]:
        return self.access(*array_access(expr), "load", scope.at(expr))

    map_linear_subscript = map_subscript

    def map_lookup(self, expr: p.Lookup, scope: Scope) -> Type[Any]:
        whole, member = member_access(expr)
        if isinstance(whole, (p.Subscript, lp.symbolic.LinearSubscript, p.Variable)):
            return self.access(*array_access(whole), "load", scope.at(whole), member)
        return values.member_of(self.rec(whole, scope), member)[0]

    def map_sub_array_ref(self, expr: lp.symbolic.SubArrayRef, scope: Scope) -> Type[Any]:
        return values.memory_type(self.kernel.get_var_descriptor(expr.subscript.aggregate.name))

    def map_constant(self, expr: Any, scope: Scope) -> Type[Any]:
        if isinstance(expr, np.integer):  # Loopy adds u for unsigned types, and l for types wider than an int
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

    def map_type_annotation(self, expr: lp.symbolic.TypeAnnotation, scope: Scope) -> Type[Any]:
        return self.rec(expr.child, scope)

    def map_type_cast(self, expr: lp.symbolic.TypeCast, scope: Scope) -> Type[Any]:
        return self.convert(np.dtype(expr.type.numpy_dtype), self.rec(expr.child, scope), self.operand, scope)

    def convert_both(
        self, dtype: Type[Any], parts: Sequence[Type[Any]], operands: Sequence[Operand], scope: Scope
    ) -> None:
        for value, operand in zip(parts, operands, strict=True):
            self.convert(dtype, value, operand, scope)

    def convert(self, dtype: Type[Any], value: Type[Any], operand: Operand, scope: Scope) -> Type[Any]:
        """Record that a value is converted between integer and floating point, and return the new type.

        A compiler converts numbers, scalar arguments and inames elsewhere, and a value that is used again only once.
        """
        text = operand if isinstance(operand, str) else "["
        fixed = literal_of(text) is not None or (text.isidentifier() and text not in self.kernel.temporary_variables)
        if {dtype.kind, value.kind} in ({"f", "i"}, {"f", "u"}) and not fixed:
            name = values.type_name(dtype if dtype.kind == "f" else value)
            event = OperationEvent(name, "convert", 1, scope.conditions, operands=(operand,))
            self.single.setdefault((operand, name), event)
        return dtype

    def note(
        self, dtype: Type[Any], kind: str, scope: Scope, operands: tuple[Operand, ...], amount: int = 1,
        per_lane: bool = True, lanes: int = 1,
    ) -> None:
        """Record one operation for each component, unless it is index arithmetic that the user did not ask for."""
        if kind in ("min", "max"):
            kind, operands = "minmax", (*operands, kind)
        if dtype.kind == "V":
            amount, dtype = amount * values.components(dtype), values.component(dtype)
        if scope.in_index and dtype.kind in "iub" and not self.options.include_index_arithmetic:
            self.operand, pair = " ".join(map(str, operands)), tuple(map(str, operands))
            # a literal divisor becomes a product and shifts; a quotient and its remainder are one division
            if kind == "div" and not pair[-1].isdigit() and pair not in self.divided:
                self.divided.add(pair)
                kind = INDEX_DIVISIONS[0]
                self.record(OperationEvent(values.type_name(dtype), kind, amount, scope.conditions, per_lane, pair))
            elif kind in ("shift", "bitwise") and not all(map(self.is_index, NAME.findall(self.operand))):
                event = OperationEvent(values.type_name(dtype), "index", amount, scope.conditions, per_lane, pair)
                self.single.setdefault((self.operand, kind), event)
            return
        name, lanes = values.type_name(dtype), max(lanes, amount)
        self.operand = len(self.operations)
        self.record(OperationEvent(name, kind, amount, scope.conditions, per_lane, operands, lanes))

    def record(self, operation: OperationEvent) -> None:
        self.operations.append(operation)

    def fold(
        self, kind: str, operands: Sequence[Any], scope: Scope, complex_type: Type[Any] | None = None
    ) -> Type[Any]:
        """Combine operands from left to right, as C does. Each operand but the first adds an operation (-1 is free)."""
        total, per_lane, paid = scope.literal, False, 0
        left, negative = self.operand, False
        for position, operand in enumerate(operands):
            per_lane = per_lane or not self.vector_iname or self.vector_iname in lp.symbolic.get_dependencies(operand)
            dtype, free = self.rec(operand, scope), kind == "mul" and values.is_sign(operand)
            if free or not paid:
                total = self.convert(values.promote(total, dtype), dtype, self.operand, scope) if position else dtype
            else:
                total = self.combine(kind, total, dtype, scope, (left, self.operand), per_lane, complex_type)
            left = left if free and paid else self.operand
            paid, negative = paid + (not free), negative != free
        self.operand = left if not negative else ~left if isinstance(left, int) else f"-({left})"
        return total

    def operands(self, expr: p.Sum | p.Product, flat: list[Any]) -> tuple[Sequence[Any], Type[Any] | None]:
        """Return the operands that C combines from left to right. If the result is complex, also return its type."""
        complex_type = self.complex_type(expr, expr.children)
        if complex_type is None:
            return flat, None
        if not self.kernel.options.allow_fp_reordering:
            return expr.children, complex_type
        return sorted(expr.children, key=lambda child: self.complex_type(child) is not None), complex_type

    def complex_type(self, expr: Any, children: Sequence[Any] = ()) -> Type[Any] | None:
        if not self.has_complex and not any(isinstance(child, complex) for child in (expr, *children)):
            return None
        dtype = self.loopy_type(expr)
        return dtype if dtype in COMPLEX else None

    def loopy_type(self, expr: Any) -> Type[Any]:
        return np.dtype(TypeReader(self.kernel, self.callables)(expr).numpy_dtype)

    def combine(
        self, kind: str, left: Type[Any], right: Type[Any], scope: Scope, operands: tuple[Operand, ...],
        per_lane: bool = True, complex_type: Type[Any] | None = None,
    ) -> Type[Any]:
        dtype = values.promote(left, right)
        self.convert_both(dtype, (left, right), operands, scope)
        if dtype in COMPLEX:
            dtype = complex_type or dtype
            for step, amount in COMPLEX_OPERATIONS[kind, left in COMPLEX, right in COMPLEX]:
                self.note(COMPLEX[dtype], step, scope, operands, amount, per_lane)
        else:
            self.note(dtype, kind, scope, operands, 1, per_lane)
        return dtype

    def map_sum(self, expr: p.Sum, scope: Scope) -> Type[Any]:
        before = len(self.operations)
        terms, complex_type = self.operands(expr, values.flat_terms(expr))
        dtype = self.fold("add", terms, scope, complex_type)
        if self.options.group_multiply_add:
            self.join_products(terms, before, scope)
        return dtype

    def join_products(self, terms: Sequence[Any], before: int, scope: Scope) -> bool:
        """Replace additions of a sum and a product by a ``madd`` that joins both. Return whether any was found."""
        length = len(self.operations)
        products = sum(values.is_product(term) for term in terms)
        for _ in range(min(products, len(terms) - 1)):
            last = {event.kind: event for event in self.operations[before:] if event.conditions == scope.conditions}
            addition, multiplication = last.get("add"), last.get("mul")
            if addition is None or multiplication is None or addition.dtype != multiplication.dtype:
                break
            paired = {id(addition), id(multiplication)}
            self.operations[before:] = [event for event in self.operations[before:] if id(event) not in paired]
            self.operations.append(replace(multiplication, kind="madd"))
        return len(self.operations) < length

    def map_product(self, expr: p.Product, scope: Scope) -> Type[Any]:
        factors, complex_type = self.operands(expr, list(_factors(expr)))
        return self.fold("mul", factors, scope, complex_type)

    def map_quotient(self, expr: p.Quotient, scope: Scope) -> Type[Any]:
        left, above = self.rec(expr.numerator, scope), self.operand
        right, below = self.rec(expr.denominator, scope), self.operand
        if left.kind in "iub" and right.kind in "iub" and scope.literal.kind == "f":
            left = self.convert(scope.literal, left, above, scope)
            right = self.convert(scope.literal, right, below, scope)
        return self.combine("div", left, right, scope, (above, below), complex_type=self.complex_type(expr))

    def map_floor_div(self, expr: p.FloorDiv | p.Remainder, scope: Scope) -> Type[Any]:
        if not scope.in_index and self.is_whole(expr):
            return INT
        return self.fold("div", (expr.numerator, expr.denominator), scope._replace(literal=INT))

    map_remainder = map_floor_div

    def map_power(self, expr: p.Power, scope: Scope) -> Type[Any]:
        exponent = next((k for k in range(5) if p.is_constant(expr.exponent) and expr.exponent == k), None)
        if exponent in (0, 1) and self.complex_type(expr) is None:  # a complex one is a call
            return self.rec(expr.base, scope) if exponent else INT  # the literal 1
        if exponent == 2:
            return self.fold("mul", (expr.base, expr.base), scope)
        base, operand = self.rec(expr.base, scope), self.operand
        if base in COMPLEX and exponent in (3, 4):
            for _ in range(exponent - 1):
                left, right = self.operand, self.rec(expr.base, scope)
                base = self.combine("mul", base, right, scope, (left, self.operand))
            return base
        below = self.rec(expr.exponent, scope)
        dtype = self.loopy_type(expr)  # the type of Loopy's helper function for powers
        # the code squares in a loop; for a literal exponent the compiler knows the loop's trips
        looped = dtype.kind == "f" and below.kind in "iu" and not p.is_constant(expr.exponent)
        self.note(dtype, "intpow" if looped else "pow", scope, (operand, self.operand))
        return dtype

    def map_min(self, expr: p.Min | p.Max, scope: Scope) -> Type[Any]:
        return self.fold("min" if isinstance(expr, p.Min) else "max", expr.children, scope)

    map_max = map_min

    def map_left_shift(self, expr: Any, scope: Scope) -> Type[Any]:
        return self.fold("shift", (expr.shiftee, expr.shift), scope)

    map_right_shift = map_left_shift

    def map_bitwise_and(self, expr: Any, scope: Scope) -> Type[Any]:
        return self.fold("bitwise", expr.children, scope)

    map_bitwise_or = map_bitwise_and
    map_bitwise_xor = map_bitwise_and

    def map_bitwise_not(self, expr: Any, scope: Scope) -> Type[Any]:
        dtype = self.rec(expr.child, scope)
        self.note(dtype, "bitwise", scope, (self.operand,))
        return dtype

    def test(self, expr: Any, scope: Scope) -> None:
        """Walk a test. A test of inames and integer arguments is index arithmetic."""
        if isinstance(expr, p.LogicalNot):
            self.test(expr.child, scope)
        elif isinstance(expr, (p.LogicalAnd, p.LogicalOr)):
            self.in_turn(expr, scope, self.test)
        else:
            only_indices = all(map(self.is_index, names_in(expr)))
            self.rec(expr, scope.of_index() if only_indices else scope._replace(literal=INT))

    def is_index(self, name: str) -> bool:
        return name in self.inames or values.is_size(self.kernel.arg_dict.get(name))

    def in_turn(self, expr: p.LogicalAnd | p.LogicalOr, scope: Scope, walk: Callable[[Any, Scope], object]) -> None:
        """Walk operands. Each operand is evaluated only if the earlier operands do not decide the result."""
        for child in expr.children:
            walk(child, scope)
            scope = scope.under((child, isinstance(expr, p.LogicalAnd)))

    def cases(self, conditions: Sequence[Condition]) -> Iterator[tuple[Condition, ...]]:
        """Yield the conditions of each case of a ``switch``, which two tests ``integer == literal`` become."""
        found = defaultdict[Any, dict[Any, tuple[Condition, ...]]](dict)
        for position, whole in enumerate(conditions):
            tests = [*_comparisons(whole[0])]
            for test in tests:
                left, literal = (test.right, test.left) if p.is_constant(test.left) else (test.left, test.right)
                if test.operator in ("==", "!=") and isinstance(literal, (int, np.integer)):
                    case = (test, test.operator == "==") if len(tests) == 1 else whole
                    found[left].setdefault(literal, (*conditions[:position], case))
        for left, literals in found.items():
            if len(literals) > 1 and not all(map(self.is_index, names_in(left))) and self.loopy_type(left).kind in "iu":
                yield from literals.values()

    def map_comparison(self, expr: p.Comparison, scope: Scope) -> Type[Any]:
        inner = scope._replace(literal=values.real_part(self.loopy_type(expr.left - expr.right)))
        left, above = self.rec(expr.left, inner), self.operand
        right, below = self.rec(expr.right, inner), self.operand
        dtype = values.promote(left, right)
        self.convert_both(dtype, (left, right), (above, below), scope)
        self.decide("compare", dtype, expr, scope, (above, below, expr.operator))
        return INT

    def decide(
        self, kind: str, dtype: Type[Any], expr: Any, scope: Scope, operands: tuple[Operand, ...] = ()
    ) -> Type[Any]:
        """Record a comparison or a select. Complex values need two, one for each part."""
        self.note(values.real_part(dtype), kind, scope, operands, 2 if dtype in COMPLEX else 1)
        self.operand = values.text_of(expr)
        return dtype

    def map_logical_not(self, expr: p.LogicalNot, scope: Scope) -> Type[Any]:
        self.rec(expr.child, scope._replace(literal=INT))
        return INT

    def map_logical_and(self, expr: p.LogicalAnd | p.LogicalOr, scope: Scope) -> Type[Any]:
        self.in_turn(expr, scope._replace(literal=INT), self.rec)
        return INT

    map_logical_or = map_logical_and

    def map_if(self, expr: p.If, scope: Scope) -> Type[Any]:
        self.test(expr.condition, scope)
        then, first = self.rec(expr.then, scope.under((expr.condition, True))), self.operand
        otherwise, second = self.rec(expr.else_, scope.under((expr.condition, False))), self.operand
        dtype = values.promote(then, otherwise)
        self.convert_both(dtype, (then, otherwise), (first, second), scope)
        return self.decide("select", dtype, expr, scope, (first, second))

    def map_call(self, expr: p.Call, scope: Scope) -> Type[Any]:
        name = self.function_name(expr)
        if isinstance(name, ArgExtOp):  # the code compares the values and branches
            dtypes = [self.rec(argument, scope) for argument in expr.parameters]
            self.decide("compare", dtypes[0], expr, scope)
            return scope.literal
        if name in ADDRESSES:
            for index in array_access(expr.parameters[0])[1]:
                self.rec(index, scope.of_index())
            return self.index_type
        known = self.callables[expr.function.name].arg_id_to_dtype or {}
        types = {i: np.dtype(getattr(t, "numpy_dtype", t)) for i, t in known.items() if t is not None}
        arguments, operands = [], []
        for i, argument in enumerate(expr.parameters):
            literal = values.real_part(types[i]) if i in types else scope.literal
            arguments.append(self.rec(argument, scope._replace(literal=literal)))
            operands.append(self.operand)
        if name in MINMAX:
            total, self.operand = arguments[0], operands[0]
            for dtype, operand in zip(arguments[1:], operands[1:], strict=True):
                total = self.combine(name.removeprefix("f"), total, dtype, scope, (self.operand, operand))
            return total
        for i, (dtype, operand) in enumerate(zip(arguments, operands, strict=True)):
            self.convert(types.get(i, dtype), dtype, operand, scope)
        result = types.get(-1, arguments[0] if arguments else scope.literal)
        makes_vector = name.startswith("make_") and name[-1].isdigit()  # make_float4 executes no operation
        if name not in FREE_FUNCTIONS and not makes_vector:
            lanes = max(map(values.components, arguments), default=1)
            self.note(*_computed(name, arguments, result), scope, tuple(operands), lanes=lanes)
        return result

    def function_name(self, expr: p.Call) -> str | ArgExtOp:
        if not isinstance(expr.function, lp.symbolic.ResolvedFunction):
            raise CountError(f"Loopy has no function '{expr.function}'", "add it with loopy.register_callable")
        name = self.callables[expr.function.name].name
        if isinstance(name, ReductionOpFunction) and not isinstance(name, ArgExtOp):
            problem = f"the operations in a step of the reduction {name.reduction_op} depend on data"
            raise CountError(problem, "write its steps as assignments, or leave it out with within=")
        if not isinstance(name, (str, ArgExtOp)):
            problem = f"the call {values.text_of(expr)} is not a call of a scalar function"
            raise CountError(problem, "write it as assignments, or leave it out with within=")
        return name


class _Iteration(lp.symbolic.SubstitutionMapper):  # type: ignore[misc]
    """Replaces inames of unrolled loops by values, and computes integers where Loopy does."""

    def __init__(self, at: Mapping[Any, int], is_call: Callable[[Any], bool]) -> None:
        super().__init__(at.get)
        self.is_call = is_call

    def map_floor_div(self, expr: p.FloorDiv) -> Any:
        upper, lower = self.rec(expr.numerator), self.rec(expr.denominator)
        return p.FloorDiv(upper, lower) if self.is_call(expr) else upper // lower

    def map_remainder(self, expr: p.Remainder) -> Any:
        upper, lower = self.rec(expr.numerator), self.rec(expr.denominator)
        return p.Remainder(upper, lower) if self.is_call(expr) else upper % lower

    def map_power(self, expr: p.Power) -> Any:
        if expr.exponent in (0, 1, 2):
            return self.rec((1, expr.base, expr.base * expr.base)[expr.exponent])
        return super().map_power(expr)


class _OuterIteration(_Iteration):
    """Works as :class:`_Iteration`, but leaves nested subscripts unchanged. Nested subscripts have their own copies."""

    def map_subscript(self, expr: p.Subscript) -> Any:
        return expr


def member_access(expr: Any) -> tuple[Any, tuple[str, ...]]:
    """Return the aggregate and the names of a member. For ``a[i].s0`` these are ``a[i]`` and ("s0",)."""
    member: tuple[str, ...] = ()
    while isinstance(expr, p.Lookup):
        expr, member = expr.aggregate, (expr.name, *member)
    return expr, member


def array_access(expr: Any) -> tuple[str, tuple[Any, ...]]:
    if isinstance(expr, p.Subscript):
        return expr.aggregate.name, expr.index_tuple
    return (expr.aggregate.name, (expr,)) if isinstance(expr, lp.symbolic.LinearSubscript) else (expr.name, ())


def _iterations(kernel: lp.LoopKernel, iname: str) -> range:
    """Return the values of an unrolled loop. The range is empty if these values are not constants."""
    lower, upper = sets.bounds(kernel, iname, constants_only=True)
    first, last = lower.min_val(), upper.max_val()
    return range(first.to_python(), last.to_python() + 1) if first.is_int() and last.is_int() else range(0)


def _comparisons(test: Any) -> Iterator[p.Comparison]:
    if isinstance(test, p.Comparison):
        yield test
    elif isinstance(test, (p.LogicalNot, p.LogicalAnd, p.LogicalOr)):
        for child in (test.child,) if isinstance(test, p.LogicalNot) else test.children:
            yield from _comparisons(child)


def _divisions(expr: Any) -> Iterator[Any]:
    if isinstance(expr, (p.FloorDiv, p.Remainder)):
        yield expr
        yield from _divisions(expr.numerator)
    for child in expr.children if isinstance(expr, (p.Sum, p.Product)) else ():
        yield from _divisions(child)


def _is_broadcast(variable: Any, axis: int) -> bool:
    tag = variable.dim_tags[axis] if variable.dim_tags else None
    return isinstance(tag, FixedStrideArrayDimTag) and tag.stride == 0


def _factors(expr: Any) -> Iterator[Any]:
    """Yield the factors that C multiplies from left to right. In C, ``a*(b*c)**2`` is ``a * b * c * b * c``."""
    if isinstance(expr, p.Power) and p.is_constant(expr.exponent) and expr.exponent == 2:
        yield from (*_factors(expr.base), *_factors(expr.base))
    elif isinstance(expr, p.Product):
        for child in expr.children:
            yield from _factors(child)
    else:
        yield expr


def _computed(name: str, operands: list[Type[Any]], result: Type[Any]) -> tuple[Type[Any], str]:
    """Return the type that a function computes in, and the kind of its operation.

    If an operand is complex, the type is that of the operand. Otherwise, if the result is an integer (``isnan``), the
    type is that of any operand. In all other cases it is the type of the result.
    """
    dtype = next((operand for operand in operands if operand in COMPLEX or result.kind in "iub"), result)
    if name == "abs" and dtype.kind == "f":
        return dtype, "fabs"  # in the generated code
    return dtype, "pow" if name in ("pow", "powf") else name
