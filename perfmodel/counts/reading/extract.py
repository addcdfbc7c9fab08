"""From a scheduled Loopy kernel to a :class:`~perfmodel.counts.program.program.Program`."""

from __future__ import annotations

from collections.abc import Set
from math import prod
from typing import Any, NamedTuple

import islpy as isl
import loopy as lp
from loopy.codegen.loop import get_slab_decomposition
from loopy.diagnostic import LoopyError
from loopy.symbolic import get_dependencies

from perfmodel.counts.program.program import BarrierSite, Launch, Place, Program
from perfmodel.counts.program.steps import Dataflow
from perfmodel.counts.program.tree import DeviceKernel, Loop, Node, Run, has_barrier, instructions_in
from perfmodel.counts.reading.checks.refusals import refusal
from perfmodel.counts.reading.dependences import unrolled_inames
from perfmodel.counts.reading.domains import Domains, Statistics
from perfmodel.counts.reading.events import Condition, Options
from perfmodel.counts.reading.grid import from_zero, grid_and_group
from perfmodel.counts.reading.schedule import schedule_tree
from perfmodel.counts.reading.statements import Statements
from perfmodel.counts.reading.target.declared import Declared

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
