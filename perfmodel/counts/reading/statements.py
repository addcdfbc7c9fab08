"""Collects what the instructions of a kernel execute, by the domain at whose points they are executed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import loopy as lp
from loopy.diagnostic import LoopyError
from loopy.kernel.instruction import CInstruction, MultiAssignmentBase
from loopy.match import parse_match
from pytools.lex import ParseError

from perfmodel.counts.program.program import Access, Domain, Launch, Operation, Place, Statement
from perfmodel.counts.program.steps import Step
from perfmodel.counts.program.tree import Node, instructions_in
from perfmodel.counts.reading.dependences import PathWalk, opaque_step
from perfmodel.counts.reading.domains import Domains
from perfmodel.counts.reading.events import Condition, Options, Scope
from perfmodel.counts.reading.expressions import Walk
from perfmodel.counts.reading.indexing import Indexing
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
