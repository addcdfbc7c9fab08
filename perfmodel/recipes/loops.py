"""What a plain kernel's loops allow: which can be parallel and why others cannot, and how accesses move with them."""

import math
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from io import StringIO
from itertools import chain
from operator import and_, or_
from typing import Any, NamedTuple

import loopy as lp
import numpy as np
from loopy import symbolic
from loopy.kernel.array import ArrayBase
from loopy.kernel.data import AddressSpace, GroupInameTag
from loopy.schedule import EnterLoop, generate_loop_schedules
from loopy.schedule.tools import AccessMapDescriptor, WriteRaceChecker
from loopy.symbolic import WalkMapper, dim_type, get_dependencies, get_reduction_inames, pw_aff_to_expr
from pymbolic import evaluate
from pymbolic.primitives import LogicalNot, Subscript

from perfmodel.recipes.own_steps import extract_invariants
from perfmodel.recipes.recipe import Step
from perfmodel.values import FrozenValue, cached_method

UNKNOWN_SIZE = 1024  # of a parameter whose size is not given; only the order of recipes depends on it
UNKNOWN_TRIPS = 16  # of a loop whose bounds depend on data
PARALLEL, REDUCTION, SERIAL = "parallel", "reduction", "serial"


@dataclass(frozen=True)
class Loop(FrozenValue):
    """A loop of the plain kernel that has no tag."""

    name: str
    kind: str  #: :data:`PARALLEL`, :data:`REDUCTION` or :data:`SERIAL`
    trips: int  #: at the given sizes, the largest number
    constant: bool  #: whether the number of trips is the same at all sizes
    by_data: frozenset[str]  #: the scalars on which the bounds depend
    bounds: str  #: the number of trips as a text
    upper: str = ""  #: the same text if the loop starts at 0 and the number is a sum of multiples of sizes, or ""
    score: float = 0.0  #: the share of accesses that move by one element with it, and a fourth of those that stay
    step: str = ""  #: the sequential loop whose iterations must end with a global barrier if this loop is parallel


@dataclass(frozen=True)
class Access(FrozenValue):
    """A load or store of an array in global memory."""

    array: str
    bytes: int  #: of an element
    within: frozenset[str]  #: the loops around it, reductions included
    uses: frozenset[str]  #: the loops that its subscripts use
    strides: tuple[tuple[str, float], ...]  #: elements per step of a loop, at the given sizes; empty if not affine
    constants: tuple[str, ...]  #: what the subscripts add to multiples of loops
    affine: bool  #: whether each subscript is a sum of multiples of loops and of a constant that no data gives
    kept: frozenset[str] = frozenset()  #: of an invariant: loops that a fetch cannot distribute
    reductions: frozenset[str] = frozenset()  #: of an invariant: those of its own sums

    def stride(self, loop: str) -> float:
        """Return the elements between two steps of a loop; NaN if the access is not affine in it."""
        return dict(self.strides).get(loop, math.nan if loop in self.uses else 0.0)


class Invariants(NamedTuple):
    """Values that do not use all loops around them, as if they were loaded."""

    loops: str  #: that `extract_invariants` takes
    values: tuple[Access, ...]  #: before a value those that it uses
    left: frozenset[str]  #: the reductions that statements keep


@dataclass(frozen=True)
class Statement(FrozenValue):
    """An instruction of the plain kernel."""

    name: str
    loops: frozenset[str]  #: around it, without its reductions
    reductions: frozenset[str]
    scalar: str  #: the private scalar that it assigns, or ""
    reads: frozenset[str]
    writes: frozenset[str]
    depends_on: frozenset[str]  #: also indirectly
    waits_for: frozenset[str]  #: those before a global barrier that the plain kernel has

    @property
    def all(self) -> frozenset[str]:
        """All loops of the statement."""
        return self.loops | self.reductions


@dataclass(frozen=True)
class Nest(FrozenValue):
    """The loops, statements and accesses of a plain kernel."""

    loops: tuple[Loop, ...] = ()  #: without tags, the best for neighbouring work-items first
    statements: tuple[Statement, ...] = ()
    accesses: tuple[Access, ...] = ()
    tagged: tuple[tuple[str, str], ...] = ()  #: loops with a tag, and the tag
    private: tuple[str, ...] = ()  #: arrays of which each work-item has its own
    step: str = ""  #: a sequential loop around all statements, which a global barrier makes a loop of the host
    notes: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()  #: loops whose iterations depend on each other, in the order of the plain kernel
    invariants: tuple[Invariants, ...] = ()  #: of several loops together, then of single ones
    first: tuple[Step, ...] = ()  #: steps of the plain kernel before it has these loops
    split_domains: tuple[str, ...] = ()  #: loops of the same statements that have several domains

    @cached_property
    def by_name(self) -> Mapping[str, Loop]:
        """The loops by name."""
        return {loop.name: loop for loop in self.loops}

    @property
    def parts(self) -> tuple[str, ...]:
        """The splits and tags of :attr:`first`, by which reductions have two stages."""
        return tuple(step.short for step in self.first if step.name in ("split_iname", "tag_inames"))

    @cached_property
    def written(self) -> frozenset[str]:
        """All variables that statements write."""
        return frozenset(name for statement in self.statements for name in statement.writes)

    @cached_property
    def ordered(self) -> tuple[tuple[str, str], ...]:
        """Pairs of statements without a common loop: the second uses what the first wrote, and no third is between."""
        names = {statement.name: statement for statement in self.statements}
        pairs = [
            (before, after.name) for after in self.statements for before in sorted(after.depends_on & names.keys())
            if not (own := names[before].loops - {self.step}) & after.loops and own and after.loops - {self.step}
            and self.arrays & names[before].writes & (after.reads | after.writes) and before not in after.waits_for
        ]  # fmt: skip
        return tuple(
            (one, other) for one, other in pairs if not any((one, at) in pairs and (at, other) in pairs for at in names)
        )

    @cached_property
    def stages(self) -> Mapping[str, int]:
        """The number of global barriers before each statement. Each stage is a kernel on the device."""
        before = {after.name: {*after.waits_for, *(one for one, other in self.ordered if other == after.name)}
                  for after in self.statements}  # fmt: skip
        stages: dict[str, int] = {}
        for statement in sorted(self.statements, key=lambda one: len(one.depends_on)):
            waits = [stages[name] + 1 for name in before[statement.name] if name in stages]
            same = [stages[name] for name in statement.depends_on if name in stages]
            stages[statement.name] = max(waits + same, default=0)
        return stages

    @cached_property
    def arrays(self) -> frozenset[str]:
        """The arrays in global memory that statements access."""
        return frozenset(access.array for access in self.accesses)

    @cached_method
    def loads_of(self, array: str) -> tuple[Access, ...]:
        """Return the accesses of an array in the most loops, all of them loads if nothing writes it."""
        loads = self._uses(array)
        deepest = max((access.within for access in loads), key=len, default=None)
        return tuple(access for access in loads if access.within == deepest)

    def _uses(self, array: str) -> list[Access]:
        every = chain(self.accesses, *(some.values for some in self.invariants))
        return [access for access in every if access.array == array]

    @cached_method
    def match_of(self, array: str) -> str | None:
        """Return a pattern of the statements with :meth:`loads_of`, "" for all, or None if no pattern is known."""
        loads = self.loads_of(array)
        if len(loads) == len(self._uses(array)):
            return ""
        names = [one.name for one in self.statements if array in one.reads and one.loops == loads[0].within]
        return " or ".join(f"id:{name}" for name in names) or None

    @cached_method
    def uses_of(self, array: str) -> frozenset[str]:
        """Return the loops that the subscripts of an array use."""
        return frozenset(loop for access in self.loads_of(array) for loop in access.uses)

    def first_axis(self, letter: str) -> int:
        """Return the first axis after those that tags of the plain kernel use; `letter` is "g" or "l"."""
        return 1 + max((int(tag[2:]) for _, tag in self.tagged if re.fullmatch(rf"{letter}\.\d+", tag)), default=-1)


@contextmanager
def quiet() -> Iterator[list[warnings.WarningMessage]]:
    """Hide what Loopy prints, and collect its warnings."""
    with redirect_stdout(StringIO()), warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        yield given


def nest_of(t_unit: lp.TranslationUnit, sizes: Mapping[str, int]) -> Nest:
    """Return the loops of a unit with one kernel. Loopy's errors are not changed."""
    with quiet():
        t_unit = lp.expand_subst(t_unit)
        checked = lp.preprocess_program(t_unit)
    kernel = t_unit.default_entrypoint
    plain = checked.default_entrypoint
    names = sorted(frozenset().union(*(insn.within_inames | insn.reduction_inames() for insn in kernel.instructions)))
    tags = {name: ", ".join(sorted(map(str, kernel.inames[name].tags))) for name in names if kernel.inames[name].tags}
    values = {**dict.fromkeys(kernel.outer_params(), UNKNOWN_SIZE), **sizes}
    accesses = tuple(access for insn in plain.instructions for access in _accesses(plain, insn, values))
    reductions = {name for insn in kernel.instructions for name in insn.reduction_inames()}
    found = {name: _loop(checked, name, values, reductions) for name in names if name not in tags}
    kept = [name for name, (_, why) in found.items() if why]
    serial = [name for name in kept if not found[name][0].by_data]
    around = [name for name in serial if _is_step(kernel, name)]
    order = _loop_order(checked) if around or len(kept) > 1 else []
    step = order[0] if order and order[0] in around else ""
    for name in serial if step else ():
        if name != step and not _carried(checked, name, step):
            found[name] = (replace(found[name][0], kind=PARALLEL, step=step), "")
    loops, notes = [loop for loop, _ in found.values()], tuple(why for _, why in found.values() if why)
    notes += tuple(f"recipes rely on silenced_warnings: no two iterations of {insn.id} write one element"
                   for insn in kernel.instructions if states_no_race(kernel, insn))  # fmt: skip
    private = tuple(
        name for name, temporary in sorted(plain.temporary_variables.items())
        if temporary.shape and not temporary.read_only and temporary.address_space in (lp.auto, AddressSpace.PRIVATE)
    )  # fmt: skip
    scored = [_scored(loop, accesses, {loop.name: loop.trips for loop in loops}) for loop in loops]
    steps = {name: sum(abs(s) for access in accesses if (s := access.stride(name)) == s) for name in names}
    scored.sort(key=lambda loop: (-round(loop.score, 6), steps[loop.name], loop.name))
    statements = tuple(_statement(kernel, insn) for insn in kernel.instructions if not _is_barrier(insn))
    in_order = tuple(dict.fromkeys(name for name in order if name in kept))
    values_of = () if tags else tuple(_invariants(t_unit, [loop.name for loop in scored]))
    domains = tuple(_split_domains(kernel, statements))
    return Nest(
        tuple(scored), statements, accesses, tuple(tags.items()), private, step, notes, in_order, values_of,
        split_domains=domains,
    )


def _invariants(t_unit: lp.TranslationUnit, names: Sequence[str]) -> Iterator[Invariants]:
    """Yield the values without any of several loops, then without one; of loops with equal values only the first."""
    known: set[str] = set()
    found: list[Invariants] = []
    for loop in names:
        kernel = extract_invariants(t_unit, loop).default_entrypoint
        texts = {str(rule.expression) for rule in kernel.substitutions.values()}
        found += [_extracted(kernel, loop)] * bool(texts - known)
        known |= texts
    if len(found) > 1:
        loops = ",".join(one.loops for one in found)
        every = _extracted(extract_invariants(t_unit, loops).default_entrypoint, loops)
        yield from [every] * (len(every.values) > max(len(one.values) for one in found))
    yield from found


def _extracted(kernel: lp.LoopKernel, loops: str) -> Invariants:
    rules, whole = kernel.substitutions, symbolic.SubstitutionRuleExpander(kernel.substitutions)

    def users(name: str) -> list[Any]:  # rules from inside to outside, then the instruction
        among = chain(rules.values(), kernel.instructions)
        user = next(one for one in among if re.search(rf"\b{name}\b", str(getattr(one, "expression", ""))))
        return [user, *(users(user.name) if user in rules.values() else ())]

    values = []
    for name in sorted(rules, key=lambda name: -len(users(name))):
        rule, insn, expression = rules[name], users(name)[-1], whole(rules[name].expression)
        # other iterations have other values of the variables that it reads
        varies = bool(get_dependencies(expression) & kernel.temporary_variables.keys())
        kept = get_reduction_inames(expression) | (insn.within_inames if varies else frozenset())
        uses = frozenset(rule.arguments)
        within = insn.within_inames | insn.reduction_inames() | uses
        own = get_reduction_inames(rule.expression)
        values.append(Access(name, 8, within, uses, (), (), affine=True, kept=kept, reductions=own))
    return Invariants(loops, tuple(values), frozenset(chain(*(one.reduction_inames() for one in kernel.instructions))))


def _split_domains(kernel: lp.LoopKernel, statements: Sequence[Statement]) -> Iterator[str]:
    """Yield loops of the same statements in several domains that can be one: no statement loses iterations.

    A statement runs, with empty sums, if only its reductions have no iterations. In a common domain it would not.
    """
    known = kernel.all_inames() | kernel.temporary_variables.keys()
    assumed, filled = kernel.assumptions.to_set(), {}
    for domain in kernel.domains:
        if known.isdisjoint(domain.get_var_names(dim_type.param)):  # at these sizes it has iterations
            filled[frozenset(domain.get_var_names(dim_type.set))] = domain.params().to_set()
    groups: list[frozenset[frozenset[str]]] = []
    for statement in statements:
        own = frozenset(loops for loops in filled if loops & statement.all)
        rest = [group for group in groups if not group & own]
        groups = [*rest, own.union(*(group for group in groups if group & own))]
    for group in groups:
        users = [one for one in statements if any(loops & one.all for loops in group)]
        runs = [reduce(and_, (filled[loops] for loops in group if loops & one.loops), assumed) for one in users]
        if len(group) > 1 and all(sizes.is_subset(filled[loops]) for sizes in runs for loops in group):
            yield ",".join(sorted(chain(*group)))


def _loop(t_unit: lp.TranslationUnit, name: str, values: Mapping[str, int], reductions: set[str]) -> tuple[Loop, str]:
    """Return a loop, and a sentence if it cannot be parallel."""
    kernel = t_unit.default_entrypoint
    domain = kernel.get_inames_domain(frozenset([name]))
    parameters = {word for word in domain.get_var_dict() if word not in kernel.all_inames()}
    by_data = frozenset(parameters & set(kernel.temporary_variables))
    trips, constant, bounds, from_zero = _trips(kernel, name, values)
    why = ""
    if name not in reductions:
        why = f"the bounds of loop {name} depend on data" if by_data else _carried(t_unit, name)
    kind = REDUCTION if name in reductions else SERIAL if why else PARALLEL
    affine = from_zero and not constant and re.fullmatch(r"[\w +*()-]+", bounds)
    upper = re.sub(r"\((-\d+)\)", r"\1", bounds) if affine else ""  # isl does not read (-1)*m
    return Loop(name, kind, trips, constant, by_data, bounds, upper), why


def _trips(kernel: lp.LoopKernel, name: str, values: Mapping[str, int]) -> tuple[int, bool, str, bool]:
    with suppress(Exception):  # isl finds no bound, or it has a parameter that only data knows
        bounds = kernel.get_iname_bounds(name)
        expression = pw_aff_to_expr(bounds.size)
        used = get_dependencies(expression)
        outer = dict.fromkeys(kernel.all_inames(), UNKNOWN_SIZE // 2)  # loops around a triangular one, in the mean
        from_zero = pw_aff_to_expr(bounds.lower_bound_pw_aff) == 0
        return max(int(evaluate(expression, {**outer, **values})), 1), not used, str(expression), from_zero
    return UNKNOWN_TRIPS, False, f"data of {name}", False


def _loop_order(t_unit: lp.TranslationUnit) -> list[str]:
    """Return the loops of a preprocessed kernel in the order in which its code enters them."""
    with quiet():
        schedules = generate_loop_schedules(
            t_unit.default_entrypoint, t_unit.callables_table, debug_args={"interactive": False}
        )
        schedule = next(iter(schedules)).linearization or ()
    return [item.iname for item in schedule if isinstance(item, EnterLoop)]


def _is_step(kernel: lp.LoopKernel, name: str) -> bool:
    """Whether a loop may become one of the host: it is around all statements, and no test in it alone reads data."""
    known = kernel.all_inames() | kernel.outer_params()
    used = [get_dependencies(test) for insn in kernel.instructions for test in insn.predicates]
    inside = all(name in insn.within_inames for insn in kernel.instructions)
    return inside and all(words <= known or words & kernel.all_inames() - {name} for words in used)


def _carried(t_unit: lp.TranslationUnit, name: str, step: str = "") -> str:
    """Return a sentence with the reason why iterations of a loop depend on each other, or "".

    Those in different iterations of the loop `step` may.
    """
    kernel = t_unit.default_entrypoint
    inside = [insn for insn in kernel.instructions if name in insn.within_inames]
    ids = {insn.id for insn in inside}
    stated = {insn.id for insn in inside if states_no_race(kernel, insn) and name in _index_loops(kernel, insn)}
    used = [tag.axis for iname in kernel.inames.values() for tag in iname.tags if isinstance(tag, GroupInameTag)]
    tagged = lp.tag_inames(t_unit, {name: f"g.{max(used, default=-1) + 1}"}, force=True)
    checker = RaceChecker(tagged.default_entrypoint, tagged.callables_table, step)
    for variable in sorted({word for insn in inside for word in assigned(insn)}):
        temporary = kernel.temporary_variables.get(variable)
        users = [insn for insn in kernel.instructions if variable in insn.dependency_names()]
        if temporary is not None and temporary.address_space in (lp.auto, AddressSpace.PRIVATE):
            if all(insn.id in ids for insn in users) and _written_first(checker, users, variable):
                continue  # each work-item has its own
            if not temporary.shape:
                return f"loop {name} carries a dependency of `{variable}`"
        elif temporary is None and variable not in kernel.arg_dict:
            continue
        for writer in inside:
            for user in inside:
                if variable not in assigned(writer) or variable not in user.dependency_names():
                    continue
                if not writer.id == user.id in stated and checker.races(writer.id, user.id, variable):
                    return f"loop {name} carries a dependency of `{variable}`"
    return ""


def states_no_race(kernel: lp.LoopKernel, insn: Any) -> bool:
    """Whether the author of a kernel silenced Loopy's warning that iterations of a statement may write one element."""
    return f"write_race({insn.id})" in kernel.silenced_warnings


def _index_loops(kernel: lp.LoopKernel, insn: Any) -> frozenset[str]:
    """Return the loops on which the subscripts of written arrays depend, also through scalars."""
    words = frozenset().union(*(get_dependencies(one.index_tuple) for one in _subscripts(insn.assignees)))
    writers = (other for other in kernel.instructions if not words.isdisjoint(assigned(other)))
    return words.union(*(other.within_inames for other in writers))


def _written_first(checker: "RaceChecker", users: Sequence[Any], variable: str) -> bool:
    """Whether each iteration writes the elements of a private variable that it reads before it reads them."""
    kernel = checker.kernel
    before = kernel.recursive_insn_dep_map()
    for reader in users:
        if variable not in reader.read_dependency_names():
            continue
        earlier = [insn for insn in users if variable in assigned(insn) and insn.id in before[reader.id]]
        sure = [insn for insn in earlier if variable not in insn.read_dependency_names()
                and _certain(kernel, insn, earlier, reader)]  # fmt: skip
        if not kernel.temporary_variables[variable].shape:
            if not any(insn.within_inames <= reader.within_inames for insn in sure):
                return False  # an inner loop may have no iteration
            continue
        read = checker.elements(reader, "any", variable, reader.within_inames)
        written = [checker.elements(insn, "w", variable, reader.within_inames) for insn in sure]
        known = [one for one in written if one is not None]
        if read is None or not known or not read <= reduce(or_, known):
            return False
    return True


def _certain(kernel: lp.LoopKernel, writer: Any, writers: Sequence[Any], reader: Any) -> bool:
    """Whether a value is written wherever a statement reads it, which runs later in the same iteration.

    It has no condition, or is written in both branches of one that stays the same, or has the reader's conditions.
    """
    before, words = kernel.recursive_insn_dep_map(), get_dependencies(tuple(writer.predicates))
    opposite = {
        frozenset([test.child if isinstance(test, LogicalNot) else LogicalNot(test)])
        for test in writer.predicates if len(writer.predicates) == 1
    }  # fmt: skip
    changes = {insn.id for insn in kernel.instructions if words & assigned(insn)}
    if writer.predicates <= reader.predicates and changes <= before[writer.id]:
        return True
    return any(other.predicates in opposite and changes <= before[writer.id] & before[other.id] for other in writers)


def assigned(insn: Any) -> frozenset[str]:
    """Return the variables that an instruction writes."""
    names = getattr(insn, "assignee_var_names", None)
    return frozenset(names() if names else insn.write_dependency_names())


class RaceChecker(WriteRaceChecker):  # type: ignore[misc]  # Loopy's class has no types
    """Loopy's check of races between work-items, which also sees conditions and arguments without subscripts.

    Accesses in different iterations of the loop `step` do not race.
    """

    def __init__(self, kernel: lp.LoopKernel, callables_table: Any, step: str = "") -> None:
        super().__init__(kernel, callables_table)
        self.step = step

    def races(self, writer: str, user: str, variable: str) -> bool:
        """Whether two work-items access an element in these instructions, of which the first writes it."""
        try:
            return bool(self.do_accesses_result_in_races(writer, "w", user, "any", variable))
        except Exception:  # isl and Loopy fail for subscripts that they cannot represent
            return True

    def elements(self, insn: Any, direction: str, variable: str, loops: frozenset[str]) -> Any:
        """Return the elements that an instruction accesses in an iteration of loops, or None if they are unknown."""
        domain = self.kernel.get_inames_domain(insn.within_inames)
        by_data = not self.kernel.temporary_variables.keys().isdisjoint(domain.get_var_names(dim_type.param))
        try:
            found = self._get_access_map_for_var(insn.id, direction, variable)
            if direction == "w" and (not found.is_single_valued() or (by_data and not insn.within_inames <= loops)):
                return None
            for name in loops.intersection(found.get_var_names(dim_type.in_)):
                found = found.move_dims(dim_type.param, 0, dim_type.in_, found.find_dim_by_name(dim_type.in_, name), 1)
        except Exception:  # as in races
            return None
        return found.intersect_params(self.kernel.assumptions).range()

    def _get_access_map_for_var(self, insn_id: str, access_dir: str, var_name: str) -> Any:
        insn = self.kernel.id_to_insn[insn_id]
        found = super()._get_access_map_for_var(insn_id, access_dir, var_name)
        if found is AccessMapDescriptor.DOES_NOT_ACCESS and var_name in insn.dependency_names():
            points = self.kernel.get_inames_domain(insn.within_inames).to_set()
            found = points.identity().project_out(dim_type.out, 0, points.dim(dim_type.set))
        if not isinstance(found, AccessMapDescriptor):
            for where in (symbolic.condition_to_set(found.domain().space, test) for test in insn.predicates):
                found = found if where is None else found.intersect_domain(where)
            for name in {*found.get_var_names(dim_type.param)} & self.kernel.temporary_variables.keys():
                # iterations have different values of it
                found = found.project_out(dim_type.param, found.find_dim_by_name(dim_type.param, name), 1)
            if self.step:  # becomes one more index of the variable
                step = found.domain().identity()
                for name in {*step.get_var_names(dim_type.in_)} - {self.step}:
                    step = step.project_out(dim_type.out, step.find_dim_by_name(dim_type.out, name), 1)
                found = found.flat_range_product(step)
        return found


def _scored(loop: Loop, accesses: Sequence[Access], trips: Mapping[str, int]) -> Loop:
    """Return the loop with its score. An access counts as often as it is executed, and not if it is not in the loop."""
    total = shared = 0.0
    for access in accesses:
        times = math.prod(trips.get(name, 1) for name in access.within)
        total += times
        stride = abs(access.stride(loop.name))
        if loop.name in access.within:
            shared += times * (1.0 if stride == 1 else 0.25 if stride == 0 else 0.0)
    return replace(loop, score=shared / total if total else 0.0)


class _Subscripts(WalkMapper):  # type: ignore[misc]  # Loopy's mapper has no types
    """Collects the subscripts of arrays in an expression."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Subscript] = []

    def map_subscript(self, expr: Subscript, *args: Any, **kwargs: Any) -> None:
        self.found.append(expr)
        super().map_subscript(expr, *args, **kwargs)


def _subscripts(expressions: Iterable[Any]) -> list[Subscript]:
    walker = _Subscripts()
    for expression in expressions:
        if expression is not None:
            walker(expression)
    return walker.found


def _accesses(kernel: lp.LoopKernel, insn: Any, values: Mapping[str, int]) -> Iterator[Access]:
    found = _subscripts((getattr(insn, "expression", None), *insn.predicates, *getattr(insn, "assignees", ())))
    for subscript in found:
        array = kernel.arg_dict.get(subscript.aggregate.name)
        if isinstance(array, ArrayBase):
            yield _access(kernel, insn.within_inames, array, subscript.index_tuple, values)


def _access(
    kernel: lp.LoopKernel, within: frozenset[str], array: Any, subscripts: Sequence[Any], values: Mapping[str, int]
) -> Access:
    inames = kernel.all_inames()
    uses = frozenset(get_dependencies(tuple(subscripts)) & inames)
    strides: dict[str, float] = {}
    constants: list[str] = []
    affine = True
    collect = symbolic.CoefficientCollector(sorted(inames))
    try:
        for subscript, tag in zip(subscripts, array.dim_tags or (), strict=True):
            unit = float(evaluate(getattr(tag, "stride", math.nan), dict(values)))
            for variable, coefficient in collect(subscript).items():
                if variable == 1:
                    affine = affine and not get_dependencies(coefficient) - set(values)
                    continue
                step = float(evaluate(coefficient, dict(values)))
                strides[variable.name] = strides.get(variable.name, 0.0) + step * unit
            constants.append(str(collect(subscript).get(1, 0)))
    except Exception:  # a product of loops, a function, an index that is data, or a stride without a value
        strides, constants, affine = {}, [], False
    item = array.dtype.numpy_dtype.itemsize if array.dtype is not None else np.dtype(np.float64).itemsize
    return Access(array.name, item, within, uses, tuple(sorted(strides.items())), tuple(constants), affine)


def _is_barrier(insn: Any, kinds: Sequence[str] = ("global", "local")) -> bool:
    return isinstance(insn, lp.BarrierInstruction) and insn.synchronization_kind in kinds


def _statement(kernel: lp.LoopKernel, insn: Any) -> Statement:
    names = tuple(assigned(insn))
    temporary = kernel.temporary_variables.get(names[0]) if len(names) == 1 else None
    private = temporary is not None and temporary.address_space in (lp.auto, AddressSpace.PRIVATE)
    scalar = names[0] if private and not getattr(temporary, "shape", ()) and not insn.predicates else ""
    reads, writes = frozenset(insn.read_dependency_names()), assigned(insn)
    before = kernel.recursive_insn_dep_map()
    barriers = [name for name in before[insn.id] if _is_barrier(kernel.id_to_insn[name], ["global"])]
    return Statement(
        insn.id, frozenset(insn.within_inames), frozenset(insn.reduction_inames()), scalar, reads, writes,
        frozenset(before[insn.id]), frozenset().union(*(before[name] for name in barriers)),
    )  # fmt: skip
