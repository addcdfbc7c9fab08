"""Follows one work-item through its schedule and keeps the longest path to every value.

A loop of few iterations is followed iteration by iteration; of any other, :data:`FOLLOWED`
iterations are followed, and what the last of them added is taken to be added by all the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from perfmodel.counts.flow.paths import START, Path, Stamp, Term, Value, bound, longer
from perfmodel.counts.flow.state import ACCESSED, FENCE, LATEST, WHOLE, WORK, Snapshot, State, path_in
from perfmodel.counts.flow.trips import Span, Trips
from perfmodel.counts.program.steps import SHARED, Act, Dataflow, Reading, Step, Writing
from perfmodel.counts.program.tree import DeviceKernel, Loop, Node, Run, Wait

FOLLOWED = 3  # iterations of a long loop; a recurrence over a greater distance is not seen
SHORT = 256  # runs of a body that are followed one by one where the trips are constant


@dataclass(frozen=True)
class Rules:
    """What a walk is to measure.

    Attributes
    ----------
    cost : callable
        The cost of an act.
    fenced : bool
        Whether a barrier holds back everything; else it holds back only accesses to memory.
    in_order : bool
        Whether each iteration of a loop that is not unrolled waits for the one before.
    """

    cost: Callable[[Act], float]
    fenced: bool = False
    in_order: bool = False


@dataclass(frozen=True)
class Arc:
    """A value that one statement stores and another, or a later run of the same, reads.

    Attributes
    ----------
    source, target : str
        The statements' identifiers.
    variable : str
        What is stored.
    carried : str
        The outermost loop whose iteration differs between the two, or "".
    path : tuple of Act
        From the value to the target's result.
    """

    source: str
    target: str
    variable: str
    carried: str
    path: tuple[Act, ...]


@dataclass(frozen=True)
class Growth:
    """What one iteration of a loop adds to the path to a cell of a variable."""

    loop: str
    variable: str
    terms: frozenset[tuple[Term, int]]


@dataclass
class Walkthrough:
    """A walk: what every variable holds, where in the loops it is, and what it has noted."""

    dataflow: Dataflow
    trips: Trips
    rules: Rules
    state: State = field(default_factory=State)
    shared: set[str] = field(default_factory=set)
    offsets: dict[str, tuple[bool, int]] = field(default_factory=dict)
    stamp: Stamp = ()
    runs: int = 1
    launched: bool = False
    arcs: dict[tuple[str, str, str, str], Arc] = field(default_factory=dict)
    growths: dict[Growth, int] = field(default_factory=dict)

    # {{{ the schedule

    def block(self, nodes: tuple[Node, ...]) -> None:
        """Follow siblings."""
        for node in nodes:
            if isinstance(node, Run):
                step = self.dataflow.by_name.get(node.instruction)
                if step is not None:
                    self.run(step)
            elif isinstance(node, Wait):
                self.wait(node.scope)
            elif isinstance(node, DeviceKernel):
                self.launch(node)
            else:
                self.loop(node)

    def launch(self, node: DeviceKernel) -> None:
        """Follow a work-item of a launch, which begins when all before it is done."""
        self.state.hold(self.state.path(LATEST))
        self.launched = True
        self.block(node.body)
        self.launched = False
        self.forget_lanes()

    def loop(self, node: Loop) -> None:
        """Follow a loop, all of it or the first iterations."""
        name, stamp, runs = node.iname, self.stamp, self.runs
        span = self.trips.span(name)
        unrolled = name in self.dataflow.unrolled
        if span is not None and (unrolled or runs * span.trips <= SHORT):
            self.runs = runs * span.trips
            self.follow_all(node, span, unrolled)
        else:
            self.runs = runs * FOLLOWED
            self.follow_some(node, 1 if span is None else span.step)
        self.stamp, self.runs = stamp, runs
        self.offsets.pop(name, None)  # a loop of no trips never had one
        self.state.leave(len(stamp))
        if self.rules.in_order and not unrolled:
            self.state.hold(self.state.path(LATEST))

    def follow_all(self, node: Loop, span: Span, unrolled: bool) -> None:
        """Follow every iteration of a loop."""
        before: Snapshot = {}
        for k in range(span.trips):
            if k == span.trips - 1:
                before = self.state.snapshot()
            self.iterate(node, k, (True, span.start + k * span.step), unrolled)
        if span.trips > 1:
            self.note_growth(node.iname, before, self.state.cells)

    def follow_some(self, node: Loop, step: int) -> None:
        """Follow the first iterations of a loop and prolong its paths by the others."""
        names = frozenset({node.iname})
        before: Snapshot = {}
        for k in range(FOLLOWED):
            before = self.state.snapshot(names)
            self.iterate(node, k, (False, k * step), False)
        after = self.state.snapshot(names)
        self.note_growth(node.iname, before, after)
        for variable, cells in after.items():
            self.state.cells[variable] = {
                cell: Value(self.prolonged(node.iname, value.path, path_in(before, variable, cell)), value.sources)
                for cell, value in cells.items()
            }

    def iterate(self, node: Loop, k: int, offset: tuple[bool, int], unrolled: bool) -> None:
        """Follow one iteration."""
        outer = self.stamp
        self.offsets[node.iname] = offset
        self.stamp = (*outer, (node.iname, k))
        if self.rules.in_order and not unrolled:
            self.state.hold(self.state.path(LATEST))
        self.block(node.body)
        self.stamp = outer

    def prolonged(self, loop: str, path: Path, earlier: Path | None) -> Path:
        """Return a path at the end of a loop of which only some iterations were followed."""
        growth = {} if earlier is None else path.since(earlier)
        if not growth:
            return path
        terms = Counter(path.terms)
        for (act, nest), amount in growth.items():
            terms[act, nest] -= FOLLOWED * amount
            terms[act, (loop, *nest)] += amount
        left = {term: amount for term, amount in terms.items() if amount}
        cost = sum(
            amount * self.rules.cost(act) * self.trips.value(nest) for (act, nest), amount in left.items()
        )
        return Path(left, cost)

    def note_growth(self, loop: str, before: Snapshot, after: Snapshot) -> None:
        """Note which variables' paths the last iteration prolonged, and in how many cells."""
        found = Counter[Growth]()
        for variable in after.keys() - WHOLE:
            for cell, value in after[variable].items():
                earlier = path_in(before, variable, cell)
                grown = {} if earlier is None else value.path.since(earlier)
                if grown:
                    found[Growth(loop, variable, frozenset(grown.items()))] += 1
        for growth, cells in found.items():
            self.growths[growth] = max(cells, self.growths.get(growth, 0))

    # }}}

    # {{{ barriers

    def wait(self, scope: str) -> None:
        """Meet a barrier: it waits for accesses to memory, or for everything.

        Between launches none is executed: the next launch waits by itself.
        """
        if not self.launched:
            return
        barrier, state = (scope, "barrier"), self.state
        before = state.path(LATEST) if self.rules.fenced else longer(state.path(FENCE), state.path(ACCESSED))
        after = self.extended(before, (barrier,))
        state.set(FENCE, after)
        state.set(ACCESSED, after)
        state.set(LATEST, longer(after, state.path(LATEST)))
        self.work(((barrier, 1),))
        self.forget_lanes()

    def forget_lanes(self) -> None:
        """Let other work-items see what is stored: a cell may be any that another one stored."""
        lanes = frozenset(self.dataflow.parallel)
        for variable in self.shared:
            self.state.blur(variable, lanes)

    # }}}

    # {{{ a statement

    def run(self, step: Step) -> None:
        """Execute a statement: its result is there when the last value it needs has arrived."""
        fence = self.state.path(FENCE)
        waits = self.rules.fenced or self.rules.in_order
        start, cost = (fence if waits else START), 0.0
        acts: tuple[Act, ...] = ()
        for reading in step.readings:
            path = self.read(step, reading)
            if waits or _is_load(reading):
                path = longer(fence, path)
            if _is_load(reading):
                self.state.reach(ACCESSED, self.extended(path, reading.path[:1]))
            added = sum(map(self.rules.cost, reading.path))
            if path.cost + added > start.cost + cost:
                start, acts, cost = path, reading.path, added
        result = self.extended(start, acts)
        self.state.reach(LATEST, result)
        for writing in step.writings:
            self.write(step, writing, result)
        self.work(step.acts)

    def read(self, step: Step, reading: Reading) -> Path:
        """Return the path to a value, and note which statements it may come from."""
        cell = bound(reading.cell, self.offsets)
        path = START
        for value in self.state.read(reading.variable, cell):
            path = longer(path, value.path)
            for source, stamp in value.sources.items():
                key = (source, step.name, reading.variable, _carried(stamp, self.stamp))
                if key not in self.arcs or len(self.arcs[key].path) < len(reading.path):
                    self.arcs[key] = Arc(*key, reading.path)
        return path

    def write(self, step: Step, writing: Writing, path: Path) -> None:
        """Store a result."""
        if writing.space in SHARED:
            self.shared.add(writing.variable)
            path = self.extended(longer(self.state.path(FENCE), path), ((writing.space, "store"),))
            self.state.reach(ACCESSED, path)
            self.state.reach(LATEST, path)
        value = Value(path, {step.name: self.stamp})
        self.state.write(writing.variable, bound(writing.cell, self.offsets), value, not step.guarded)

    def extended(self, path: Path, acts: tuple[Act, ...]) -> Path:
        """Return a path with acts at its end."""
        return path.plus([((act, ()), 1) for act in acts], sum(map(self.rules.cost, acts)))

    def work(self, acts: tuple[tuple[Act, int], ...]) -> None:
        """Add acts to all that the work-item does."""
        done = self.state.path(WORK)
        self.state.set(WORK, done.plus((((act, ()), amount) for act, amount in acts), 0.0))

    # }}}


def _is_load(reading: Reading) -> bool:
    """Whether a reading begins with an access to memory."""
    return bool(reading.path) and reading.path[0][0] in SHARED


def _carried(source: Stamp, target: Stamp) -> str:
    """Return the outermost loop, among those around both, whose iteration differs."""
    for (loop, then), (same, now) in zip(source, target, strict=False):
        if loop != same:
            return ""
        if then != now:
            return loop
    return ""
