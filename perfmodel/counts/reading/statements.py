"""From a scheduled Loopy kernel to a Program: what instructions execute, by the domain at whose points they do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import replace
from functools import partial
from math import prod
from typing import Any, NamedTuple

import islpy as isl
import loopy as lp
from loopy.codegen.loop import get_slab_decomposition
from loopy.diagnostic import LoopyError
from loopy.kernel.instruction import CInstruction, MultiAssignmentBase
from loopy.match import parse_match
from loopy.symbolic import get_dependencies
from pytools.lex import ParseError

from perfmodel.counts.program.program import (
    Access,
    BarrierSite,
    Dataflow,
    DeviceKernel,
    Domain,
    Launch,
    Loop,
    Node,
    Operation,
    Place,
    Program,
    Run,
    Statement,
    Step,
    has_barrier,
    instructions_in,
)
from perfmodel.counts.reading.checks.refusals import refusal
from perfmodel.counts.reading.domains import Domains, Statistics
from perfmodel.counts.reading.events import Condition, Options, Scope
from perfmodel.counts.reading.expressions import Walk
from perfmodel.counts.reading.indexing import Indexing
from perfmodel.counts.reading.lanes import from_zero, grid_and_group
from perfmodel.counts.reading.schedule import PathWalk, opaque_step, schedule_tree, unrolled_inames
from perfmodel.counts.reading.target.declared import Declared, declaration
from perfmodel.counts.reading.target.vectorised import vectorised
from perfmodel.counts.reading.values import INT
from perfmodel.errors import PartError

Executed = tuple[Domain, Place, str]  # where the instances of a statement are, in sets and in the schedule


class Statements:
    """The operations, accesses and dataflow of one kernel, added launch by launch.

    Parameters
    ----------
    kernel : loopy.LoopKernel
        A scheduled kernel.
    callables : mapping
        The functions of its translation unit.
    domains : Domains
        The domains of the kernel.
    declared : mapping of str to mapping
        What the instructions do whose code is opaque.
    options : Options
        What to count beside the default.
    """

    def __init__(
        self, kernel: lp.LoopKernel, callables: Mapping[Any, Any], domains: Domains,
        declared: Declared, options: Options,
    ) -> None:
        self.kernel, self.callables, self.domains = kernel, callables, domains
        self.declared, self.options = declared, options
        self.indexing = Indexing(kernel, domains)
        self.launch, self.width = -1, 1  # the present launch, and its extent along local axis 0
        self.place: Place = ()  # where the walk is, and in which instruction; "" in a test
        self.instruction = ""
        self.found: dict[Executed, None] = {}
        self.operations: dict[Executed, dict[tuple[str, str], int]] = defaultdict(lambda: defaultdict(int))
        self.accesses: dict[Executed, list[Access]] = defaultdict(list)
        self.steps: list[Step] = []
        self.selected = instructions_within(kernel, options.within)
        self.tags: set[str] = set()  # of all accesses to memory

    def begin(self, launch: Launch) -> None:
        """Begin the next launch."""
        self.launch += 1
        self.width = launch.group_shape[0] if launch.group_shape else 1

    def collected(self) -> tuple[Statement, ...]:
        """Return what was added.

        Raises
        ------
        PartError
            An access tag was asked for that no access has.
        """
        for tag in self.options.access_tags:
            if tag not in self.tags:
                raise PartError("access_tags", tag, "is on no access", tuple(sorted(self.tags)), "access tags")
        return tuple(
            Statement(
                key[0],
                tuple(Operation(*kind, amount) for kind, amount in self.operations[key].items()),
                tuple(self.accesses[key]), *key[1:],
            )
            for key in self.found
        )

    def counts_some(self, node: Node) -> bool:
        """Whether an instruction below a node of the schedule is to be counted."""
        return self.selected is None or not self.selected.isdisjoint(instructions_in(node))

    def add_test(
        self, test: Any, inames: Iterable[str], place: Place, passed: Iterable[Any] = (), shared: bool = False
    ) -> None:
        """Add the evaluation of a test in a nest of inames, where the tests before it hold.

        ``shared`` says that instructions may share it or not.
        """
        self.place, self.instruction = place, ""
        options = Options(include_index_arithmetic=self.options.include_index_arithmetic)
        walk = Walk(self.kernel, self.callables, options)
        walk.rec(test, Scope(INT, in_test=True))
        self._record(
            walk, inames, tuple((before, True) for before in passed), partial(self.domains.at_test, shared=shared)
        )

    def add_instruction(self, identifier: str, place: Place) -> None:
        """Add the execution of an instruction, unless it is not to be counted."""
        self.place, self.instruction = place, identifier
        if self.selected is not None and identifier not in self.selected:
            return
        instruction = self.kernel.id_to_insn[identifier]
        conditions = tuple((test, True) for test in sorted(instruction.predicates, key=str))
        if isinstance(instruction, CInstruction):
            self._add_opaque(instruction, conditions)
        elif isinstance(instruction, MultiAssignmentBase):
            for part, (vector, where) in enumerate(vectorised(self.domains, self.launch, instruction)):
                walk = PathWalk(self.kernel, self.callables, self.options, vector)
                walk.assignment(instruction)
                self._record(walk, instruction.within_inames, (*conditions, *where), self.domains.domain)
                if part == 0:
                    self.steps.append(walk.step(instruction))

    def executed(self, domain: Domain) -> Executed:
        """Return where the walk is, and in which instances; statements keep this order."""
        key = (domain, self.place, self.instruction)
        self.found.setdefault(key)
        return key

    def _add_opaque(self, instruction: CInstruction, conditions: tuple[Condition, ...]) -> None:
        found = declaration(self.kernel, instruction, self.declared, conditions)
        domain = self.domains.domain(self.launch, instruction.within_inames, conditions)
        for key, amount in found.operations.items():
            self.operations[self.executed(domain)][key] += amount
        assumed = f"the accesses of the C instruction '{instruction.id}' are assumed"
        reached = domain if found.exact else replace(domain, exact=False, reasons=(*domain.reasons, assumed))
        for event in () if self.options.access_tags else found.accesses:  # which bear no tags
            self.accesses[self.executed(reached)].append(self.indexing.access(event, domain, self.width))
        self.steps.append(opaque_step(self.kernel, instruction, found))

    def _record(
        self, walk: Walk, inames: Iterable[str], conditions: tuple[Condition, ...], where: Callable[..., Domain],
    ) -> None:
        """Add what a walk found; a vectorised access, or an operation on no lane's value, is executed once.

        ``where`` gives the domain in a launch, in a nest of inames and under conditions.
        """
        names = frozenset(inames)
        once = names - {walk.vector_iname}
        for event in walk.operations:
            around = names if event.per_lane else once
            domain = where(self.launch, around, (*conditions, *event.conditions))
            self.operations[self.executed(domain)][event.dtype, event.kind] += event.amount
        for reached in walk.accesses:
            self.tags |= reached.tags
            if self.options.access_tags and not reached.tags.intersection(self.options.access_tags):
                continue
            domain = where(self.launch, once, (*conditions, *reached.conditions))
            self.accesses[self.executed(domain)].append(self.indexing.access(reached, domain, self.width))


def instructions_within(kernel: lp.LoopKernel, within: str) -> frozenset[str] | None:
    """Return the identifiers of the instructions that Loopy's match expression selects; None for all of them.

    Raises
    ------
    PartError
        It is no match expression, or it selects none.
    """
    if not within:
        return None
    identifiers = tuple(instruction.id for instruction in kernel.instructions)
    try:
        match = parse_match(within)
    except (LoopyError, ParseError) as error:
        reason = " ".join(str(error).split())
        raise PartError("within", within, f"is no match expression of Loopy's ({reason})", identifiers) from error
    found = frozenset(instruction.id for instruction in kernel.instructions if match(kernel, instruction))
    if not found:
        raise PartError("within", within, "matches no instruction", identifiers)
    return found


SET = isl.dim_type.set
Loops = tuple[str, ...]  # sequential inames, outermost first
Tests = frozenset[Any]  # predicates


class _Block(NamedTuple):
    """Siblings in the schedule, with the tests that each requires and the inames that it uses.

    They are in these loops, at this place in the launch; None on the host.
    """

    nodes: tuple[Node, ...]
    required: tuple[Tests, ...]
    inames: tuple[frozenset[str], ...]
    loops: Loops
    around: Place | None


def extract(
    t_unit: lp.TranslationUnit, statistics: Statistics, declared: Declared, options: Options
) -> Program:
    """Return what the scheduled kernel executes.

    Parameters
    ----------
    t_unit : loopy.TranslationUnit
        Linearized, with one entry point.
    statistics : mapping of str to Fraction
        Mean trip counts and probabilities.
    declared : mapping of str to mapping
        What the instructions do whose code is opaque.
    options : Options
        What to count beside the default.

    Raises
    ------
    IncompleteKernelError
        Loopy finds the kernel wrong, for example because a hardware axis is left out.
    """
    try:
        return _Extraction(t_unit, statistics, declared, options).program()
    except LoopyError as error:
        raise refusal(t_unit, error) from error


class _Extraction:
    """Walks the schedule of one kernel and collects launches, statements and barriers."""

    def __init__(
        self, t_unit: lp.TranslationUnit, statistics: Statistics, declared: Declared,
        options: Options,
    ) -> None:
        (entry,) = t_unit.entrypoints
        self.kernel = t_unit[entry]
        self.callables = t_unit.callables_table
        self.domains = Domains(self.kernel, statistics)
        moved = from_zero(self.domains)
        if moved is not self.kernel:
            self.kernel, self.domains = moved, Domains(moved, statistics)
        self.statements = Statements(self.kernel, self.callables, self.domains, declared, options)
        self.launches: list[Launch] = []
        self.barriers: list[BarrierSite] = []
        self.guarded = any(instruction.predicates for instruction in self.kernel.instructions)
        self.on_host: tuple[Condition, ...] = ()  # around the present launch
        self.copies = 1  # of the present device kernel's body, one for each slab of its hardware axes

    def program(self) -> Program:
        schedule = schedule_tree(self.kernel)
        self.walk_block(schedule, (), frozenset(), None)
        self.domains.refuse_unknown()
        hardware = sorted(name for name, axis in self.domains.axes.items() if axis)
        return Program(
            self.kernel.name, self.domains.parameters, self.domains.assumptions,
            tuple(self.launches), self.statements.collected(), tuple(self.barriers), schedule,
            Dataflow(tuple(self.statements.steps), unrolled_inames(self.kernel), tuple(hardware)),
        )

    def walk_device(self, node: DeviceKernel, loops: Loops, tested: Tests) -> None:
        grid, group = grid_and_group(self.domains, self.callables, frozenset(instructions_in(node)))
        self.on_host = tuple((test, True) for test in sorted(tested, key=repr))
        repeats = self.domains.domain(len(self.launches), loops, self.on_host).points
        self.launches.append(Launch(node.name, group, grid, repeats))
        self.statements.begin(self.launches[-1])
        self.copies = self.slabs(node)
        self.walk_block(node.body, loops, tested, ())

    def walk_block(self, nodes: tuple[Node, ...], loops: Loops, tested: Tests, around: Place | None) -> None:
        """Walk the body of a loop or of a launch, which some tests are around."""
        inner = {name for name, axis in self.domains.axes.items() if around is None or not axis} - {*loops}
        required = tuple(self.required(node, inner) for node in nodes)
        inames = tuple(map(self.inames_in, nodes)) if any(required) else (frozenset[str](),) * len(nodes)
        block = _Block(nodes, required, inames, loops, around)
        self.walk_siblings(block, range(len(nodes)), tested)

    def walk_siblings(self, block: _Block, positions: range, tested: Tests) -> None:
        """Walk siblings as Loopy writes them: the longest group that shares a test is put under one ``if``.

        Inside of the group the same goes on with what its members share. Loopy makes groups of what shares a check of
        bounds too. Such a group may end where lanes of other inames begin, and cut one that shares a test.
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
        """Walk one of the siblings."""
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
        """Return the predicates of all instructions below that can be tested outside of the inames ``inner``."""
        if not self.guarded or has_barrier(node):
            return frozenset()
        shared = frozenset.intersection(*(self.kernel.id_to_insn[key].predicates for key in instructions_in(node)))
        return frozenset(test for test in shared if get_dependencies(test).isdisjoint(inner))

    def add_tests(self, block: _Block, group: range, made: Tests, tested: Tests, unsure: Tests) -> None:
        """Add the tests of the ``if`` around a group, which Loopy sorts by their representation and joins by ``&&``.

        Each is evaluated where those around the ``if``, and those to the left of it, hold.
        """
        if not made or block.around is None:
            return
        if not any(self.statements.counts_some(block.nodes[position]) for position in group):
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
        """Return the inames of the instructions below a node."""
        return frozenset(name for key in instructions_in(node) for name in self.kernel.id_to_insn[key].within_inames)

    def add_barrier(self, scope: str, siblings: tuple[Node, ...], loops: Loops) -> None:
        """Record a barrier, which each group meets in each iteration of the loops around it."""
        launch = len(self.launches) - 1
        around = {
            name
            for node in siblings for identifier in instructions_in(node)
            for name in self.kernel.id_to_insn[identifier].within_inames
            if self.domains.axes[name].startswith("g")
        }
        alone = self.domains.domain(launch, loops, self.on_host)
        points, axes = alone.points, alone.axes
        joint = self.domains.domain(launch, {*loops, *around}, self.on_host)
        if loops and around and not _independent(joint.points, alone.points):
            points, axes = joint.points, joint.axes
        factor = alone.factor * self.copies
        self.barriers.append(BarrierSite(launch, scope, points, axes, factor, alone.exact, alone.reasons))

    def slabs(self, node: DeviceKernel) -> int:
        """Return how often Loopy repeats a device kernel's code: slabs have guards of their own, barriers have none."""
        increments = self.kernel.iname_slab_increments
        around = {name for key in instructions_in(node) for name in self.kernel.id_to_insn[key].within_inames}
        cut = [name for name in around if self.domains.axes[name] and any(increments.get(name, ()))]
        return prod(len(get_slab_decomposition(self.kernel, name)) for name in cut)


def _independent(joint: isl.Set, alone: isl.Set) -> bool:
    """Whether the group axes of ``joint`` do not restrict the loops: it is a product."""
    names = alone.get_var_names(SET)
    loops = joint
    groups = joint
    for index in reversed(range(joint.dim(SET))):
        if joint.get_dim_name(SET, index) in names:
            groups = groups.eliminate(SET, index, 1)
        else:
            loops = loops.eliminate(SET, index, 1)
    return bool(loops.intersect(groups).is_subset(joint))
