"""Collects what the instructions of a kernel execute, by the domain at whose points they are executed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import loopy as lp
from loopy.kernel.instruction import CInstruction, MultiAssignmentBase

from perfmodel.counts.program.program import Access, Domain, Launch, Operation, Statement
from perfmodel.counts.program.steps import Step
from perfmodel.counts.reading.accesses import vector_iname
from perfmodel.counts.reading.dependences import PathWalk, opaque_step
from perfmodel.counts.reading.domains import Domains
from perfmodel.counts.reading.events import Condition, Options, Scope
from perfmodel.counts.reading.expressions import Walk
from perfmodel.counts.reading.indexing import Indexing
from perfmodel.counts.reading.target.declared import Declared, declaration
from perfmodel.counts.reading.values import INT


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
        self.operations: dict[Domain, dict[tuple[str, str], int]] = defaultdict(lambda: defaultdict(int))
        self.accesses: dict[Domain, list[Access]] = defaultdict(list)
        self.steps: list[Step] = []

    def begin(self, launch: Launch) -> None:
        """Begin the next launch."""
        self.launch += 1
        self.width = launch.group_shape[0] if launch.group_shape else 1

    def collected(self) -> tuple[Statement, ...]:
        """Return what was added."""
        return tuple(
            Statement(
                domain,
                tuple(Operation(*key, amount) for key, amount in self.operations[domain].items()),
                tuple(self.accesses[domain]),
            )
            for domain in dict.fromkeys([*self.operations, *self.accesses])
        )

    def add_test(self, test: Any, inames: Iterable[str]) -> None:
        """Add the evaluation of a test in a nest of inames."""
        options = Options(include_index_arithmetic=self.options.include_index_arithmetic)
        walk = Walk(self.kernel, self.callables, options)
        walk.rec(test, Scope(INT, in_test=True))
        self._record(walk, inames, ())

    def add_instruction(self, identifier: str) -> None:
        """Add the execution of an instruction."""
        instruction = self.kernel.id_to_insn[identifier]
        conditions = tuple((test, True) for test in sorted(instruction.predicates, key=str))
        if isinstance(instruction, CInstruction):
            self._add_opaque(instruction, conditions)
        elif isinstance(instruction, MultiAssignmentBase):
            vector = vector_iname(self.kernel, instruction)
            walk = PathWalk(self.kernel, self.callables, self.options, vector)
            walk.assignment(instruction)
            self.steps.append(walk.step(instruction))
            self._record(walk, instruction.within_inames, conditions)

    def _add_opaque(self, instruction: CInstruction, conditions: tuple[Condition, ...]) -> None:
        found = declaration(self.kernel, instruction, self.declared, conditions)
        domain = self.domains.domain(self.launch, instruction.within_inames, conditions)
        for key, amount in found.operations.items():
            self.operations[domain][key] += amount
        reached = domain if found.exact else replace(domain, exact=False)
        for event in found.accesses:
            self.accesses[reached].append(self.indexing.access(event, domain, self.width))
        self.steps.append(opaque_step(self.kernel, instruction, found))

    def _record(self, walk: Walk, inames: Iterable[str], conditions: tuple[Condition, ...]) -> None:
        """Add what a walk found; a vectorised access, or an operation on no lane's value, is executed once."""
        names = frozenset(inames)
        once = names - {walk.vector_iname}
        for event in walk.operations:
            around = names if event.per_lane else once
            domain = self.domains.domain(self.launch, around, (*conditions, *event.conditions))
            self.operations[domain][event.dtype, event.kind] += event.amount
        for reached in walk.accesses:
            domain = self.domains.domain(self.launch, once, (*conditions, *reached.conditions))
            self.accesses[domain].append(self.indexing.access(reached, domain, self.width))
