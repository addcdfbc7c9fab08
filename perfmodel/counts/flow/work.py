"""All operations of one work-item. This needs no walk: their number does not depend on dependences.

Input: a program's schedule, dataflow and trip counts. Output: the amount of each operation in each loop nest.
"""

from __future__ import annotations

from perfmodel.counts.flow.paths import Term
from perfmodel.counts.flow.trips import Trips
from perfmodel.counts.flow.walk import FOLLOWED, is_short
from perfmodel.counts.program.program import Dataflow, DeviceKernel, Loop, Node, Run, Wait, instructions_in

Terms = dict[Term, int]


def work_of(dataflow: Dataflow, trips: Trips) -> Terms:
    """Return all operations of a work-item; short loops of constant trips are multiplied out, as in a walk."""
    terms: Terms = {}
    _block(trips.program.schedule, terms, dataflow, trips, runs=1, launched=False)
    return terms


def _block(nodes: tuple[Node, ...], terms: Terms, dataflow: Dataflow, trips: Trips, runs: int, launched: bool) -> None:
    """Add the operations of sibling nodes, whose loops a walk executes ``runs`` times."""
    for node in nodes:
        if isinstance(node, Run):
            step = dataflow.by_name.get(node.instruction)
            for operation, amount in () if step is None else step.operations:
                terms[operation, ()] = terms.get((operation, ()), 0) + amount
        elif isinstance(node, Wait):
            if launched:
                barrier = (node.scope, "barrier"), ()
                terms[barrier] = terms.get(barrier, 0) + 1
        elif isinstance(node, DeviceKernel):
            _block(node.body, terms, dataflow, trips, runs, launched=True)
        else:
            _loop(node, terms, dataflow, trips, runs, launched)


def _loop(node: Loop, terms: Terms, dataflow: Dataflow, trips: Trips, runs: int, launched: bool) -> None:
    """Add one execution of a loop body, then multiply what it added by the trips or move it into the loop's nest."""
    before = dict(terms)
    span = trips.span(node.iname)
    times = span.trips if (short := is_short(span, runs, node.iname in dataflow.unrolled)) else FOLLOWED
    _block(node.body, terms, dataflow, trips, runs * times, launched)
    for (operation, nest), amount in list(terms.items()):
        earlier = before.get((operation, nest), 0)
        added = amount - earlier
        if added:
            terms[operation, nest] = earlier + added * times if short else earlier
        if added and not short:
            terms[operation, (node.iname, *nest)] = terms.get((operation, (node.iname, *nest)), 0) + added
    for term in [term for term, amount in terms.items() if not amount]:
        del terms[term]


def before_access(dataflow: Dataflow, trips: Trips) -> Terms:
    """Return the operations of a work-item before its first access to global memory, summed over launches.

    A launch without such an access adds all its operations. The statement with the access adds its operations only if
    it does not load: a compiler moves a load as far up as possible, and a store comes last.
    """
    return _before_access(trips.program.schedule, dataflow, trips, launched=False)[0]


def _before_access(nodes: tuple[Node, ...], dataflow: Dataflow, trips: Trips, launched: bool) -> tuple[Terms, bool]:
    """Return the operations of sibling nodes before the access, and whether one of the nodes has the access."""
    terms: Terms = {}
    for node in nodes:
        accesses, added = False, dict[Term, int]()
        if isinstance(node, DeviceKernel):
            added = _before_access(node.body, dataflow, trips, launched=True)[0]
        elif isinstance(node, Loop) and not launched:
            inside = _before_access(node.body, dataflow, trips, launched=False)[0]
            added = {(operation, (node.iname, *nest)): amount for (operation, nest), amount in inside.items()}
        elif isinstance(node, Loop) and _has_access(node, dataflow):
            added, accesses = _before_access(node.body, dataflow, trips, launched=True)
        else:
            accesses = _has_access(node, dataflow)
            _block((node,), added, dataflow, trips, runs=1, launched=launched)
            if accesses:
                loads = (("global", "load"), ()) in added
                added = {} if loads else {term: n for term, n in added.items() if term[0] != ("global", "store")}
        for term, amount in added.items():
            terms[term] = terms.get(term, 0) + amount
        if accesses:
            return terms, True
    return terms, False


def _has_access(node: Node, dataflow: Dataflow) -> bool:
    steps = (dataflow.by_name.get(name) for name in instructions_in(node))
    kinds = (kind for step in steps if step for kind, _ in step.operations)
    return any(where == "global" and kind != "barrier" for where, kind in kinds)
