"""Reads a scheduled Loopy kernel into a Program: launches, statements with their domains, and barriers."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Set
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from math import prod
from typing import Any, NamedTuple

import islpy as isl
import loopy as lp
import pymbolic.primitives as p
from constantdict import constantdict
from loopy.codegen.loop import get_slab_decomposition
from loopy.schedule import Barrier, CallKernel, EnterLoop, LeaveLoop, ReturnFromKernel, RunInstruction
from pytools.lex import ParseError

from perfmodel.counts.program import program
from perfmodel.counts.program.program import DeviceKernel, Domain, Launch, Loop, Node, NodePath, Run
from perfmodel.counts.reading import sets
from perfmodel.counts.reading.branches import Arm, shares, with_share
from perfmodel.counts.reading.domains import Domains, Statistics
from perfmodel.counts.reading.expressions import Walk
from perfmodel.counts.reading.indexing import Indexing
from perfmodel.counts.reading.instructions import Declared, PathWalk, declaration, unrolled_inames, vectorised
from perfmodel.counts.reading.observed import CallData, Observed
from perfmodel.counts.reading.schedule import refusal
from perfmodel.counts.reading.values import INT, Condition, OperationEvent, Options, Scope
from perfmodel.errors import CountError, OptionError, listed

SET, PARAM, DIV = isl.dim_type.set, isl.dim_type.param, isl.dim_type.div
Executed = tuple[Domain, NodePath, str]  # the set of a statement's instances, its schedule position, its instruction
Loops = tuple[str, ...]  # sequential inames, outermost first
Tests = frozenset[Any]  # predicates


def extract(
    t_unit: lp.TranslationUnit, statistics: Statistics, declared: Declared, options: Options,
    data: CallData | None = None,
) -> tuple[program.Program, tuple[str, ...], Observed | None]:
    """Return the program of a scheduled kernel with one entry point, the keys of its statistics, and those of `data`.

    Statistics that are not given follow from the data of a call.
    """
    try:
        extraction = _Extraction(t_unit, statistics, declared, options, data)
        return extraction.walk(), tuple(extraction.domains.keys), extraction.domains.observed
    except lp.LoopyError as error:
        raise refusal(t_unit, error) from error


class Statements:
    """The operations, accesses and dataflow of one kernel, added launch by launch."""

    def __init__(
        self, kernel: lp.LoopKernel, callables: Mapping[Any, Any], domains: Domains, declared: Declared,
        options: Options,
    ) -> None:
        self.kernel, self.callables, self.domains = kernel, callables, domains
        self.declared, self.options = declared, options
        self.indexing = Indexing(kernel, domains)
        self.launch, self.width = -1, 1  # the present launch, and its extent along local axis 0
        self.place: NodePath = ()  # of the present instruction
        self.instruction = ""  # its identifier; "" in a test
        self.order: dict[Executed, tuple[Condition, ...]] = {}  # with the tests around it that have no probability
        self.written: Counter[str] = Counter()  # earlier writes to each variable
        self.operations: dict[Executed, dict[tuple[str, str], int]] = defaultdict(lambda: defaultdict(int))
        self.computed: dict[Executed, list[program.Computed]] = defaultdict(list)
        self.accesses: dict[Executed, list[program.Access]] = defaultdict(list)
        self.steps: list[program.Step] = []
        self.selected = instructions_within(kernel, options.within)
        self.tags: set[str] = set()  # of all accesses to memory

    def start_launch(self, launch: Launch) -> None:
        self.launch += 1
        self.width = launch.group_shape[0] if launch.group_shape else 1

    def collected(self) -> tuple[tuple[program.Statement, ...], tuple[program.Statement, ...]]:
        """Return the statements with operations and accesses, and those with :data:`~.program.DECISIONS`."""
        for tag in self.options.access_tags:
            if tag not in self.tags:
                problem = f"access_tags={tag!r} is not a tag of an access"
                raise OptionError(problem, f"choose among {listed(sorted(self.tags))}")
        where = self._domains_of_arms()
        everything = [statement for key in self.order for statement in self._parts(key, where)]
        statements, decisions = ([_of_kinds(each, decide) for each in everything] for decide in (False, True))
        statements = [each for each in statements if each.operations or each.accesses]
        return tuple(statements), tuple(each for each in decisions if each.operations)

    def _domains_of_arms(self) -> Callable[[Hashable, Executed], Domain]:
        """Return a function from a kind of operation, or an access, to the domain with the share to count."""
        weights: dict[Hashable, dict[Arm, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
        arms = {key: Arm(key[0], tests) for key, tests in self.order.items() if tests}
        for key, arm in arms.items():
            for kind, amount in self.operations[key].items():
                weights[kind][arm] += amount * key[0].factor
            for access in self.accesses[key]:
                weights[_row(access)][arm] += key[0].factor
        found = {what: shares(kinds) for what, kinds in weights.items()}

        @cache
        def shared(domain: Domain, share: Fraction, exact: bool) -> Domain:
            return with_share(domain, share, exact, [doubt for _, doubt in self.domains.unknown[domain]])

        def where(what: Hashable, key: Executed) -> Domain:
            return shared(key[0], *found[what][arms[key]]) if key in arms else key[0]

        return where

    def _parts(self, key: Executed, where: Callable[[Hashable, Executed], Domain]) -> Iterator[program.Statement]:
        """Yield the statements at a schedule position, one for each domain of the instruction."""
        parts: dict[Domain, tuple[list[Any], list[Any], list[Any]]] = defaultdict(lambda: ([], [], []))
        for kind, amount in self.operations[key].items():
            parts[where(kind, key)][0].append(program.Operation(*kind, amount))
        for access in self.accesses[key]:
            parts[where(_row(access), key)][1].append(access)
        for operation in self.computed[key]:
            parts[where((operation.dtype, operation.kind), key)][2].append(operation)
        for domain, (operations, accesses, computed) in parts.items():
            yield program.Statement(domain, tuple(operations), tuple(accesses), *key[1:], tuple(computed))

    def add_test(
        self, test: Any, inames: Iterable[str], place: NodePath, passed: Iterable[Any] = (), shared: bool = False
    ) -> None:
        """Add a test in a nest of inames. If ``shared``, it is unknown whether instructions share the test."""
        self.place, self.instruction = place, ""
        options = Options(include_index_arithmetic=self.options.include_index_arithmetic)
        walk = Walk(self.kernel, self.callables, options)
        walk.test(test, Scope(INT))
        conditions = tuple((before, True) for before in passed)
        self._record(walk, inames, conditions, partial(self.domains.at_test, shared=shared))

    def add_instruction(self, identifier: str, place: NodePath) -> None:
        """Add the execution of an instruction, if ``within`` selects the instruction."""
        instruction = self.kernel.id_to_insn[identifier]
        self.place, self.instruction = place, identifier
        if self.selected is None or identifier in self.selected:
            self._add(instruction)
        self.written.update(instruction.assignee_var_names())

    def _add(self, instruction: Any) -> None:
        conditions = tuple((test, True) for test in sorted(instruction.predicates, key=str))
        if isinstance(instruction, lp.CInstruction):
            self._add_opaque(instruction, conditions)
        elif isinstance(instruction, lp.MultiAssignmentBase):
            for part, (vector, where) in enumerate(vectorised(self.domains, self.launch, instruction)):
                walk = PathWalk(self.kernel, self.callables, self.options, vector)
                walk.assignment(instruction)
                self._record(walk, instruction.within_inames, (*conditions, *where), self.domains.domain)
                if part == 0:
                    self.steps.append(walk.step(instruction))

    def _executed(self, domain: Domain) -> Executed:
        key = (domain, self.place, self.instruction)
        if key not in self.order:
            tests = (condition for condition, _ in self.domains.unknown.get(domain, ()))
            self.order[key] = tuple((self._now(test), truth) for test, truth in tests)
        return key

    def _now(self, test: Any) -> Any:
        """Return a test with the number of earlier writes added to each name. Equal tests then have equal values."""
        times = {p.Variable(name): number for name, number in self.written.items()}
        return lp.symbolic.SubstitutionMapper(
            lambda name: p.Variable(f"{name.name}@{times[name]}") if name in times else None
        )(test)

    def _add_opaque(self, instruction: lp.CInstruction, conditions: tuple[Condition, ...]) -> None:
        execution = declaration(self.kernel, instruction, self.declared, conditions)
        domain = self.domains.domain(self.launch, instruction.within_inames, conditions)
        for key, amount in execution.operations.items():
            self.operations[self._executed(domain)][key] += amount
        for event in () if self.options.access_tags else execution.accesses:  # these have no tags
            self.accesses[self._executed(domain)].append(self.indexing.access(event, domain, self.width))
        self.steps.append(execution.step(self.kernel, instruction))

    def _record(
        self, walk: Walk, inames: Iterable[str], conditions: tuple[Condition, ...], where: Callable[..., Domain]
    ) -> None:
        """Add the events of a walk. Vectorised accesses, and operations not made for each lane, are executed once."""
        names = frozenset(inames)
        once = names - {walk.vector_iname}
        cases: dict[tuple[frozenset[str], tuple[Condition, ...]], None] = {}  # of switches
        for number, operation in enumerate((*walk.operations, *walk.single.values())):
            around = names if operation.per_lane else once
            if operation.kind in program.INDEX_DIVISIONS:
                around, operation = self._divided(around, operation, bool(conditions or operation.conditions))
            elif operation.kind in ("convert", "index"):
                around = self._hoisted(around, operation)
            tests = *conditions, *operation.conditions
            executed = self._executed(where(self.launch, around, tests))
            cases |= dict.fromkeys((around, case) for case in walk.cases(tests))
            self.operations[executed][operation.dtype, operation.kind] += operation.amount
            if not self.options.group_multiply_add and operation.kind not in program.UNLISTED:
                made_of = operation.dtype, operation.kind, operation.lanes, operation.operands
                self.computed[executed].append(program.Computed(number, *made_of))
        for access in walk.accesses:
            self.tags |= access.tags
            if self.options.access_tags and not access.tags.intersection(self.options.access_tags):
                continue
            tests = *conditions, *access.conditions
            domain = where(self.launch, once, tests)
            cases |= dict.fromkeys((once, case) for case in walk.cases(tests))
            self.accesses[self._executed(domain)].append(self.indexing.access(access, domain, self.width))
        for around, tests in cases:
            self.operations[self._executed(where(self.launch, around, tests))]["int32", "switch"] = 1

    def _hoisted(self, inames: frozenset[str], operation: OperationEvent) -> frozenset[str]:
        """Return the inames around an operation. A compiler moves it out of all loops if none of them changes it."""
        text = " ".join(map(str, operation.operands))
        loops = frozenset(name for name in inames if not self.domains.axes[name])
        changed = loops | self.kernel.get_written_variables() | self.kernel.temporary_variables.keys()
        moves = "[" in text and changed.isdisjoint(re.findall(r"\w+", text)) and not operation.conditions
        return inames - loops if moves else inames

    def _divided(
        self, inames: frozenset[str], operation: OperationEvent, tested: bool
    ) -> tuple[frozenset[str], OperationEvent]:
        """Return a division in an index, and the inames without loops before which a compiler moves it."""
        names, axes = {*re.findall(r"\w+|\[", " ".join(map(str, operation.operands)))}, self.domains.axes
        if names.isdisjoint(("[", *self.kernel.temporary_variables)):  # else data change it
            inames = frozenset(name for name in inames if tested or axes[name] or name in names)
            if "l.0" not in map(axes.get, names):
                operation = replace(operation, kind=program.INDEX_DIVISIONS[1])
        return inames, operation


def _of_kinds(statement: program.Statement, decide: bool) -> program.Statement:
    operations = tuple(each for each in statement.operations if (each.kind in program.DECISIONS) == decide)
    computed = tuple(each for each in statement.computed if (each.kind in program.DECISIONS) == decide)
    return replace(statement, operations=operations, accesses=() if decide else statement.accesses, computed=computed)


def _row(access: program.Access) -> Hashable:
    strides = tuple((str(stride.distance), str(stride.within)) for stride in access.lane_stride)
    return access.space, access.direction, access.array, access.dtype, access.bits, strides


def instructions_within(kernel: lp.LoopKernel, within: str) -> frozenset[str] | None:
    if not within:
        return None
    identifiers = tuple(instruction.id for instruction in kernel.instructions)
    try:
        match = lp.match.parse_match(within)
    except (lp.LoopyError, ParseError) as error:
        reason = " ".join(str(error).split())
        problem = f"Loopy cannot read the match expression within={within!r} ({reason})"
        raise OptionError(problem, f"select among the instructions {listed(identifiers)}") from error
    selected = frozenset(instruction.id for instruction in kernel.instructions if match(kernel, instruction))
    if not selected:
        raise OptionError(f"within={within!r} matches no instruction", f"choose among {listed(identifiers)}")
    return selected


def schedule_tree(items: Iterator[Any]) -> tuple[Node, ...]:
    """Return the nodes of a linearization up to the end of a loop or a launch."""
    nodes: list[Node] = []
    for item in items:
        if isinstance(item, (LeaveLoop, ReturnFromKernel)):
            break
        if isinstance(item, EnterLoop):
            nodes.append(Loop(item.iname, schedule_tree(items)))
        elif isinstance(item, CallKernel):
            nodes.append(DeviceKernel(item.kernel_name, schedule_tree(items)))
        elif isinstance(item, RunInstruction):
            nodes.append(Run(item.insn_id))
        elif isinstance(item, Barrier):
            nodes.append(program.Wait(item.synchronization_kind))
    return tuple(nodes)


class _Block(NamedTuple):
    nodes: tuple[Node, ...]
    required: tuple[Tests, ...]  # the tests of each of them
    inames: tuple[frozenset[str], ...]  # of each of them
    loops: Loops  # around them
    around: NodePath | None  # their position in the launch; None on the host


class _Extraction:
    def __init__(
        self, t_unit: lp.TranslationUnit, statistics: Statistics, declared: Declared, options: Options,
        data: CallData | None,
    ) -> None:
        self.kernel, self.callables = t_unit.default_entrypoint, t_unit.callables_table
        self.domains = Domains(self.kernel, statistics, data)
        moved = from_zero(self.domains)
        if moved is not self.kernel:
            self.kernel, self.domains = moved, Domains(moved, statistics, data)
        self.statements = Statements(self.kernel, self.callables, self.domains, declared, options)
        self.launches: list[Launch] = []
        self.barriers: list[program.BarrierSite] = []
        self.guarded = any(instruction.predicates for instruction in self.kernel.instructions)
        self.on_host: tuple[Condition, ...] = ()  # around the present launch
        self.copies = 1  # of the present device kernel's body, one for each slab of its hardware axes

    def walk(self) -> program.Program:
        schedule = schedule_tree(iter(self.kernel.linearization))
        self.walk_block(schedule, (), frozenset(), None)
        self.domains.refuse_unknown()
        hardware = sorted(name for name, axis in self.domains.axes.items() if axis)
        statements, decisions = self.statements.collected()
        return program.Program(
            self.kernel.name, self.domains.parameters, self.domains.assumptions,
            tuple(self.launches), statements, tuple(self.barriers), schedule,
            program.Dataflow(tuple(self.statements.steps), unrolled_inames(self.kernel), tuple(hardware)),
            self.statements.indexing.statistics(), decisions,
        )

    def walk_device(self, node: DeviceKernel, loops: Loops, tested: Tests) -> None:
        grid, group = grid_and_group(self.domains, self.callables, frozenset(program.instructions_in(node)))
        self.on_host = tuple((test, True) for test in sorted(tested, key=repr))
        repeats = self.domains.domain(len(self.launches), loops, self.on_host).points
        self.launches.append(Launch(node.name, group, grid, repeats))
        self.statements.start_launch(self.launches[-1])
        # Loopy repeats the code for each slab of a hardware axis: slabs have guards of their own, barriers have none.
        increments = self.kernel.iname_slab_increments
        cut = [name for name in self.inames_in(node) if self.domains.axes[name] and any(increments.get(name, ()))]
        self.copies = prod(len(get_slab_decomposition(self.kernel, name)) for name in cut)
        self.walk_block(node.body, loops, tested, ())

    def walk_block(self, nodes: tuple[Node, ...], loops: Loops, tested: Tests, around: NodePath | None) -> None:
        inner = {name for name, axis in self.domains.axes.items() if around is None or not axis} - {*loops}
        required = tuple(self.required(node, inner) for node in nodes)
        inames = tuple(map(self.inames_in, nodes)) if any(required) else (frozenset[str](),) * len(nodes)
        block = _Block(nodes, required, inames, loops, around)
        self.walk_siblings(block, range(len(nodes)), tested)

    def walk_siblings(self, block: _Block, positions: range, tested: Tests) -> None:
        """Walk siblings as Loopy writes them: the longest group that shares a test is under one ``if``.

        Loopy also groups siblings that share a check of bounds. Such a group may end where lanes of other inames begin,
        or split a group that shares a test.
        """
        first, unsure = positions.start, frozenset[Any]()
        while positions:
            made, inames = block.required[positions[0]] - tested, block.inames[positions[0]]
            length = 1
            while length < len(positions) and (shared := made & block.required[positions[length]]):
                others = block.inames[positions[length]]
                if positions[0] > first and any(self.domains.axes[name] for name in inames - others):
                    unsure |= shared
                    break
                made, inames, length = shared, inames & others, length + 1
            group, positions = positions[:length], positions[length:]
            self.add_tests(block, group, made, tested, unsure)
            if length > 1:
                self.walk_siblings(block, group, tested | made)
            else:
                self.walk_node(block, group[0], tested | made)

    def walk_node(self, block: _Block, position: int, tested: Tests) -> None:
        node = block.nodes[position]
        place = None if block.around is None else (*block.around, 2 * position)
        if isinstance(node, Loop):
            within = None if place is None else (*place, node.iname)
            self.walk_block(node.body, (*block.loops, node.iname), tested, within)
        elif isinstance(node, DeviceKernel):
            self.walk_device(node, block.loops, tested)
        elif place is None:
            return  # a global barrier: a launch ends
        elif isinstance(node, Run):
            self.statements.add_instruction(node.instruction, place)
        else:
            self.add_barrier(node.scope, block.nodes, block.loops)

    def required(self, node: Node, inner: Set[str]) -> Tests:
        """Return the predicates that all instructions below share and that depend on no inner iname."""
        if not self.guarded or program.has_barrier(node):
            return frozenset()
        instructions = [self.kernel.id_to_insn[identifier] for identifier in program.instructions_in(node)]
        shared = frozenset.intersection(*(instruction.predicates for instruction in instructions))
        return frozenset(test for test in shared if lp.symbolic.get_dependencies(test).isdisjoint(inner))

    def add_tests(self, block: _Block, group: range, made: Tests, tested: Tests, unsure: Tests) -> None:
        """Add the tests of the ``if`` around a group. Loopy sorts tests by representation and joins tests by ``&&``."""
        if not made or block.around is None:
            return
        below = {identifier for position in group for identifier in program.instructions_in(block.nodes[position])}
        if self.statements.selected is not None and self.statements.selected.isdisjoint(below):
            return
        used = [block.inames[position] for position in group]
        inames = {name for name in frozenset.intersection(*used) if self.domains.axes[name]}
        inames |= frozenset.union(*used) & {*block.loops}
        passed = sorted(tested, key=repr)
        for test in sorted(made, key=repr):
            place = (*block.around, 2 * group[0] - 1)
            self.statements.add_test(test, inames, place, passed, test in unsure)
            passed.append(test)

    def inames_in(self, node: Node) -> frozenset[str]:
        instructions = program.instructions_in(node)
        return frozenset(name for key in instructions for name in self.kernel.id_to_insn[key].within_inames)

    def add_barrier(self, scope: str, siblings: tuple[Node, ...], loops: Loops) -> None:
        launch = len(self.launches) - 1
        inames = frozenset[str]().union(*map(self.inames_in, siblings))
        around = {name for name in inames if self.domains.axes[name].startswith("g")}
        alone = self.domains.domain(launch, loops, self.on_host)
        points, axes = alone.points, alone.axes
        joint = self.domains.domain(launch, {*loops, *around}, self.on_host)
        if loops and around and not _is_product(joint.points, alone.points):
            points, axes = joint.points, joint.axes
        factor = alone.factor * self.copies
        self.barriers.append(program.BarrierSite(launch, scope, points, axes, factor, alone.exact, alone.reasons))


def _is_product(joint: isl.Set, alone: isl.Set) -> bool:
    """Return whether ``joint`` is a product of group axes and of loops. ``alone`` has the loops as dimensions."""
    names = alone.get_var_names(SET)
    loops = groups = joint
    for index in range(joint.dim(SET)):
        if joint.get_dim_name(SET, index) in names:
            groups = groups.eliminate(SET, index, 1)
        else:
            loops = loops.eliminate(SET, index, 1)
    return bool(loops.intersect(groups).is_subset(joint))


def from_zero(domains: Domains) -> lp.LoopKernel:
    """Return the kernel with inames on hardware axes shifted so that they begin at 0."""
    kernel = domains.kernel
    texts: dict[str, str] = {}
    exprs: dict[p.Variable, Any] = {}
    for name, axis in domains.axes.items():
        line = domains.line(name) if axis else None
        if line is None or all(low.plain_is_zero() for _, low in line.dim_min(0).get_pieces()):
            continue
        first, expr = sets.axis_base(kernel, name)
        if not first.plain_is_zero() and set(first.get_var_names(PARAM)) <= set(domains.parameters):
            texts[name] = f"{name} + {str(first).partition('[(')[2].rpartition(')]')[0]}"
            exprs[p.Variable(name)] = expr
    if not texts:
        return kernel
    sums = {variable: p.Sum((variable, first)) for variable, first in exprs.items()}
    substitute = lp.symbolic.SubstitutionMapper(sums.get)
    return sets.with_domains(
        kernel, [_moved(domain, texts) for domain in sets.domains(kernel)],
        instructions=[instruction.with_transformed_expressions(substitute) for instruction in kernel.instructions],
    )


def _moved(domain: isl.Set, texts: Mapping[str, str]) -> isl.Set:
    outer = [name for name in domain.get_var_names(PARAM) if name in texts]
    for name in outer:
        domain = domain.move_dims(SET, domain.dim(SET), PARAM, domain.get_var_names(PARAM).index(name), 1)
    names, parameters = domain.get_var_names(SET), domain.get_var_names(PARAM)
    used = {word for text in texts.values() for word in re.findall(r"[A-Za-z_]\w*", text)} - {"floor", *names}
    known = ", ".join(dict.fromkeys([*parameters, *sorted(used - set(texts))]))
    change = isl.MultiAff(
        f"[{known}] -> {{ [{', '.join(names)}] -> [{', '.join(texts.get(name, name) for name in names)}] }}"
    )
    domain = domain.align_params(change.get_space().params())
    domain = domain.preimage_multi_aff(change.align_params(domain.get_space()))
    for position, name in enumerate(names):
        domain = domain.set_dim_name(SET, position, name)
    for name in outer:
        domain = domain.move_dims(PARAM, domain.dim(PARAM), SET, domain.get_var_names(SET).index(name), 1)
    return domain


def grid_and_group(
    domains: Domains, callables: Mapping[Any, Any], instructions: frozenset[str]
) -> tuple[tuple[isl.PwAff, ...], tuple[int, ...]]:
    """Return the number of work-groups along each group axis and of work-items along each local axis."""
    functions = constantdict({
        name: known for name, known in callables.items() if not isinstance(known, lp.CallableKernel)
    })  # callees are inlined, so kernels are not needed; Loopy hashes all arguments, and kernels take long
    grid, local = domains.kernel.get_grid_sizes_for_insn_ids(instructions, functions, return_dict=False)
    lanes = tuple(_constant(sets.plain(extent), domains.assumptions) for extent in local)
    return tuple(_sorted(sets.plain(extent)) for extent in grid), lanes


def _sorted(extent: Any) -> Any:
    if not isinstance(extent, isl.PwAff):  # Loopy's order of parameters depends on Python's hash seed
        return extent
    names = sorted(extent.get_var_names(PARAM))
    aligned = extent.align_params(isl.Space.create_from_names(isl.DEFAULT_CONTEXT, set=[], params=names).params())
    return isl.PwAff(str(aligned))  # as it is read again from a document: isl may write another form than it reads


def _constant(extent: Any, assumptions: isl.Set) -> int:
    """Return the number that an extent has at all sizes that the assumptions admit."""
    if isinstance(extent, int):
        return extent
    admitted = extent.intersect_params(assumptions)
    if (most := admitted.max_val()).is_int() and most.eq(admitted.min_val()):
        return int(most.to_python())
    names = admitted.gist_params(admitted.domain().params()).drop_unused_params().get_var_names(PARAM)
    options, sizes = " ".join(f"-p {name}=4" for name in names), ", ".join(f"{name!r}: 4" for name in names)
    problem = f"the shape of the work-group depends on a size: an extent is {extent}"
    advice = f"give one value of the size, as in {options} or pm.count(..., sizes={{{sizes}}})"
    raise CountError(problem, advice, sizes=tuple(names))
