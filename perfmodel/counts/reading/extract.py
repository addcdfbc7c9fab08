"""From a scheduled Loopy kernel to a :class:`~perfmodel.counts.program.program.Program`."""

from __future__ import annotations

from math import prod
from typing import Any

import islpy as isl
import loopy as lp
from loopy.codegen.loop import get_slab_decomposition
from loopy.diagnostic import LoopyError
from loopy.symbolic import get_dependencies

from perfmodel.counts.program.program import BarrierSite, Launch, Place, Program
from perfmodel.counts.program.steps import Dataflow
from perfmodel.counts.program.tree import DeviceKernel, Loop, Node, Run, Wait, has_barrier, instructions_in
from perfmodel.counts.reading.checks.refusals import refusal
from perfmodel.counts.reading.dependences import unrolled_inames
from perfmodel.counts.reading.domains import Domains, Statistics
from perfmodel.counts.reading.events import Options
from perfmodel.counts.reading.grid import from_zero, grid_and_group
from perfmodel.counts.reading.schedule import schedule_tree
from perfmodel.counts.reading.statements import Statements
from perfmodel.counts.reading.target.declared import Declared

SET = isl.dim_type.set
Loops = tuple[str, ...]  # sequential inames, outermost first


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
        self.copies = 1  # of the present device kernel's body, one for each slab of its hardware axes

    def program(self) -> Program:
        schedule = schedule_tree(self.kernel)
        self.walk_host(schedule, ())
        self.domains.refuse_unknown()
        hardware = sorted(name for name, axis in self.domains.axes.items() if axis)
        return Program(
            self.kernel.name, self.domains.parameters, self.domains.assumptions,
            tuple(self.launches), self.statements.collected(), tuple(self.barriers), schedule,
            Dataflow(tuple(self.statements.steps), unrolled_inames(self.kernel), tuple(hardware)),
        )

    def walk_host(self, nodes: tuple[Node, ...], loops: Loops) -> None:
        for node in nodes:
            if isinstance(node, Loop):
                self.walk_host(node.body, (*loops, node.iname))
            elif isinstance(node, DeviceKernel):
                self.walk_device(node, loops)

    def walk_device(self, node: DeviceKernel, loops: Loops) -> None:
        grid, group = grid_and_group(self.domains, self.callables, frozenset(instructions_in(node)))
        repeats = self.domains.domain(len(self.launches), loops).points
        self.launches.append(Launch(node.name, group, grid, repeats))
        self.statements.begin(self.launches[-1])
        self.copies = self.slabs(node)
        self.walk_block(node.body, loops, frozenset(), ())

    def walk_block(self, nodes: tuple[Node, ...], loops: Loops, tested: frozenset[Any], around: Place) -> None:
        """Walk siblings; a test that consecutive siblings share is evaluated once for them."""
        running: frozenset[Any] = frozenset()
        for k, node in enumerate(nodes):
            required = self.shared_predicates(node, loops) - tested
            made = required - running if self.statements.counts_some(node) else frozenset()
            for test in sorted(made, key=str):
                self.statements.add_test(test, self.inames_at(node, loops), (*around, 2 * k - 1))
            running = (running & required) | made
            if isinstance(node, Loop):
                self.walk_block(node.body, (*loops, node.iname), tested | required, (*around, 2 * k, node.iname))
            elif isinstance(node, Run):
                self.statements.add_instruction(node.instruction, (*around, 2 * k))
            elif isinstance(node, Wait):
                self.add_barrier(node.scope, nodes, loops)

    def shared_predicates(self, node: Node, loops: Loops) -> frozenset[Any]:
        """Return the predicates of all instructions below that can be tested at this level."""
        if not self.guarded or isinstance(node, Wait) or has_barrier(node):
            return frozenset()
        shared: frozenset[Any] | None = None
        for identifier in instructions_in(node):
            predicates = self.kernel.id_to_insn[identifier].predicates
            shared = predicates if shared is None else shared & predicates
        if not shared:
            return frozenset()
        inner = {
            name for name in self.kernel.all_inames()
            if not self.domains.axes[name] and name not in loops
        }
        return frozenset(test for test in shared if not get_dependencies(test) & inner)

    def inames_at(self, node: Node, loops: Loops) -> set[str]:
        """Return the inames around a node, those of the hardware axes too."""
        first = self.kernel.id_to_insn[next(instructions_in(node))]
        return {name for name in first.within_inames if self.domains.axes[name] or name in loops}

    def add_barrier(self, scope: str, siblings: tuple[Node, ...], loops: Loops) -> None:
        """Record a barrier, which each group meets in each iteration of the loops around it."""
        launch = len(self.launches) - 1
        around = {
            name
            for node in siblings for identifier in instructions_in(node)
            for name in self.kernel.id_to_insn[identifier].within_inames
            if self.domains.axes[name].startswith("g")
        }
        alone = self.domains.domain(launch, loops)
        points, axes = alone.points, alone.axes
        joint = self.domains.domain(launch, {*loops, *around})
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
