"""All that one work-item does: every act of every statement and barrier, in the runs of the loops around it."""

from __future__ import annotations

from perfmodel.counts.flow.paths import Term
from perfmodel.counts.flow.trips import Trips
from perfmodel.counts.flow.walkthrough import FOLLOWED, is_short
from perfmodel.counts.program.program import Act, Dataflow, DeviceKernel, Loop, Node, Run, Wait

Terms = dict[Term, int]


def work_of(dataflow: Dataflow, trips: Trips) -> Terms:
    """Return all acts of a work-item; short loops of constant trips are multiplied out, as a walk follows them."""
    terms: Terms = {}
    _block(trips.program.schedule, terms, dataflow, trips, runs=1, launched=False)
    return terms


def _block(
    nodes: tuple[Node, ...], terms: Terms, dataflow: Dataflow, trips: Trips, runs: int, launched: bool
) -> None:
    """Add what siblings do; their nest is followed ``runs`` times by a walk."""
    for node in nodes:
        if isinstance(node, Run):
            step = dataflow.by_name.get(node.instruction)
            for act, amount in () if step is None else step.acts:
                _add(terms, act, amount)
        elif isinstance(node, Wait):
            if launched:
                _add(terms, (node.scope, "barrier"), 1)
        elif isinstance(node, DeviceKernel):
            _block(node.body, terms, dataflow, trips, runs, launched=True)
        else:
            _loop(node, terms, dataflow, trips, runs, launched)


def _loop(node: Loop, terms: Terms, dataflow: Dataflow, trips: Trips, runs: int, launched: bool) -> None:
    """Add what a loop does: its body once, then that times the number of its trips, or as often as its nest runs."""
    before = dict(terms)
    span = trips.span(node.iname)
    times = span.trips if (short := is_short(span, runs, node.iname in dataflow.unrolled)) else FOLLOWED
    _block(node.body, terms, dataflow, trips, runs * times, launched)
    for (act, nest), amount in list(terms.items()):
        known = before.get((act, nest), 0)
        added = amount - known
        if added:
            terms[act, nest] = known + added * times if short else known
        if added and not short:
            terms[act, (node.iname, *nest)] = terms.get((act, (node.iname, *nest)), 0) + added
    for term in [term for term, amount in terms.items() if not amount]:
        del terms[term]


def _add(terms: Terms, act: Act, amount: int) -> None:
    terms[act, ()] = terms.get((act, ()), 0) + amount
