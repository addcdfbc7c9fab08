"""From a scheduled Loopy kernel to a :class:`~perfmodel.counts.program.program.Program`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import islpy as isl
import loopy as lp
from loopy.diagnostic import LoopyError
from loopy.kernel.instruction import BarrierInstruction, CInstruction, MultiAssignmentBase
from loopy.symbolic import get_dependencies

from perfmodel.counts.program.program import (
    Access,
    BarrierSite,
    Domain,
    Launch,
    Operation,
    Program,
    Statement,
)
from perfmodel.counts.program.steps import Dataflow, Step
from perfmodel.counts.program.tree import (
    DeviceKernel,
    Loop,
    Node,
    Run,
    Wait,
    has_barrier,
    instructions_in,
)
from perfmodel.counts.reading.accesses import vector_iname
from perfmodel.counts.reading.dependences import PathWalk, opaque_step, unrolled_inames
from perfmodel.counts.reading.domains import Domains, Statistics
from perfmodel.counts.reading.events import Condition, Options, Scope
from perfmodel.counts.reading.expressions import Walk
from perfmodel.counts.reading.grid import grid_and_group
from perfmodel.counts.reading.indexing import Indexing
from perfmodel.counts.reading.schedule import schedule_tree
from perfmodel.counts.reading.values import INT
from perfmodel.errors import IncompleteKernelError, NotCountableError

SET = isl.dim_type.set
Declared = Mapping[str, Mapping[tuple[str, str], int]]


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
    declared : mapping of str to mapping of (str, str) to int
        Operations by type and kind of the instructions whose code is opaque.

    Raises
    ------
    IncompleteKernelError
        Loopy finds the kernel wrong, for example because a hardware axis is left out.
    """
    try:
        return _Extraction(t_unit, statistics, declared, options).program()
    except LoopyError as error:
        raise IncompleteKernelError(str(error)) from error


class _Extraction:
    """Collects the statements of one kernel while its schedule is walked."""

    def __init__(
        self, t_unit: lp.TranslationUnit, statistics: Statistics, declared: Declared,
        options: Options,
    ) -> None:
        (entry,) = t_unit.entrypoints
        self.kernel = t_unit[entry]
        self.callables = t_unit.callables_table
        self.domains = Domains(self.kernel, statistics)
        self.indexing = Indexing(self.kernel, self.domains)
        self.declared = declared
        self.options = options
        self.launches: list[Launch] = []
        self.barriers: list[BarrierSite] = []
        self.operations: dict[Domain, dict[tuple[str, str], int]] = defaultdict(
            lambda: defaultdict(int)
        )
        self.accesses: dict[Domain, list[Access]] = defaultdict(list)
        self.steps: list[Step] = []

    def program(self) -> Program:
        schedule = schedule_tree(self.kernel)
        self.walk_host(schedule, ())
        statements = tuple(
            Statement(
                domain,
                tuple(Operation(d, k, n) for (d, k), n in self.operations[domain].items()),
                tuple(self.accesses[domain]),
            )
            for domain in dict.fromkeys([*self.operations, *self.accesses])
        )
        return Program(
            self.kernel.name, self.domains.parameters, self.domains.assumptions,
            tuple(self.launches), statements, tuple(self.barriers), schedule,
            Dataflow(
                tuple(self.steps), unrolled_inames(self.kernel),
                tuple(sorted(name for name, axis in self.domains.axes.items() if axis)),
            ),
        )

    # {{{ the schedule

    def walk_host(self, nodes: tuple[Node, ...], loops: tuple[str, ...]) -> None:
        for node in nodes:
            if isinstance(node, Loop):
                self.walk_host(node.body, (*loops, node.iname))
            elif isinstance(node, DeviceKernel):
                self.walk_device(node, loops)

    def walk_device(self, node: DeviceKernel, loops: tuple[str, ...]) -> None:
        instructions = frozenset(instructions_in(node))
        grid, local = grid_and_group(self.domains, self.callables, instructions)
        repeats = self.domains.domain(len(self.launches), loops).points
        self.launches.append(
            Launch(node.name, local, grid, repeats)
        )
        self.walk_block(node.body, loops, frozenset())

    def walk_block(
        self, nodes: tuple[Node, ...], loops: tuple[str, ...], implemented: frozenset[Any]
    ) -> None:
        """Walk siblings; a test that consecutive siblings share is evaluated once for them."""
        running: frozenset[Any] = frozenset()
        for node in nodes:
            required = self.shared_predicates(node, loops) - implemented
            for test in sorted(required - running, key=str):
                self.evaluate_test(test, node, loops)
            running = required
            if isinstance(node, Loop):
                self.walk_block(node.body, (*loops, node.iname), implemented | required)
            elif isinstance(node, Run):
                self.run(node.instruction)
            elif isinstance(node, Wait):
                self.wait(node.scope, nodes, loops)

    def shared_predicates(self, node: Node, loops: tuple[str, ...]) -> frozenset[Any]:
        """The predicates of all instructions below that can be tested at this level."""
        if isinstance(node, Wait) or has_barrier(node):
            return frozenset()
        shared: frozenset[Any] | None = None
        for identifier in instructions_in(node):
            predicates = self.kernel.id_to_insn[identifier].predicates
            shared = predicates if shared is None else shared & predicates
        inner = {
            name for name in self.kernel.all_inames()
            if not self.domains.axes[name] and name not in loops
        }
        return frozenset(t for t in shared or () if not get_dependencies(t) & inner)

    # }}}

    # {{{ what is executed

    def evaluate_test(self, test: Any, node: Node, loops: tuple[str, ...]) -> None:
        first = self.kernel.id_to_insn[next(instructions_in(node))]
        options = Options(include_index_arithmetic=self.options.include_index_arithmetic)
        walk = Walk(self.kernel, self.callables, options)
        walk.rec(test, Scope(INT, in_test=True))
        inames = {n for n in first.within_inames if self.domains.axes[n] or n in loops}
        self.record(walk, inames, ())

    def run(self, identifier: str) -> None:
        instruction = self.kernel.id_to_insn[identifier]
        if isinstance(instruction, CInstruction):
            self.run_opaque(instruction)
            return
        if isinstance(instruction, BarrierInstruction) or not isinstance(
            instruction, MultiAssignmentBase
        ):
            return
        vector = vector_iname(self.kernel, instruction)
        walk = PathWalk(self.kernel, self.callables, self.options, vector)
        walk.assignment(instruction)
        self.steps.append(walk.step(instruction))
        conditions = tuple((test, True) for test in sorted(instruction.predicates, key=str))
        self.record(walk, instruction.within_inames, conditions, vector)

    def run_opaque(self, instruction: CInstruction) -> None:
        if instruction.id not in self.declared:
            raise NotCountableError(
                f"the C instruction '{instruction.id}'", "its code is opaque to Loopy",
                "declare the operations of one execution, as in "
                f"count(..., declared={{'{instruction.id}': {{('float32', 'add'): 2}}}}), or {{}}",
            )
        launch = len(self.launches) - 1
        tests = tuple((test, True) for test in sorted(instruction.predicates, key=str))
        domain = self.domains.domain(launch, instruction.within_inames, tests)
        for key, amount in self.declared[instruction.id].items():
            self.operations[domain][key] += amount
        self.steps.append(opaque_step(self.kernel, instruction, self.declared[instruction.id]))

    def record(
        self, walk: Walk, inames: Iterable[str], conditions: tuple[Condition, ...],
        vector: str = "",
    ) -> None:
        launch = len(self.launches) - 1
        names = frozenset(inames)
        width = self.launches[launch].group_shape[:1]
        for event in walk.operations:
            around = names if event.per_lane else names - {vector}
            domain = self.domains.domain(launch, around, (*conditions, *event.conditions))
            self.operations[domain][event.dtype, event.kind] += event.amount
        for reached in walk.accesses:
            tests = (*conditions, *reached.conditions)
            domain = self.domains.domain(launch, names - {vector}, tests)
            self.accesses[domain].append(
                self.indexing.access(reached, domain, width[0] if width else 1)
            )

    def wait(self, scope: str, siblings: tuple[Node, ...], loops: tuple[str, ...]) -> None:
        """Record a barrier met once for each group and each iteration of the loops around it."""
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
        self.barriers.append(
            BarrierSite(launch, scope, points, axes, alone.factor, alone.exact)
        )

    # }}}


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
