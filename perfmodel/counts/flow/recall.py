"""What the body of a loop does, recalled for iterations in which it does alike.

A body is walked once from paths with unknown begins (:class:`~perfmodel.counts.flow.paths.Begin`). Each path after
it is a begin and the acts that follow. That holds for every state of the same cells where the begins lead to the same
choices of the longest paths.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from perfmodel.counts.flow.execution import Cells, CellValue, State
from perfmodel.counts.flow.paths import START, Begin, Choices, Path, costlier


@dataclass(frozen=True)
class Body:
    """The body of a loop.

    Attributes
    ----------
    executions : int
        Executions of statements in one iteration, as far as they are followed.
    touched, changed : tuple of str
        The variables of which it reads or changes cells, and those of which it changes cells.
    inames : tuple of str
        The inames on which cells of these variables depend.
    """

    executions: int
    touched: tuple[str, ...]
    changed: tuple[str, ...]
    inames: tuple[str, ...]


def outset(state: State, body: Body) -> tuple[Hashable, list[Path]]:
    """Return what a body finds but for the paths' acts and costs, and the different paths."""
    paths: list[Path] = []
    numbers = {id(START): -1}

    def number(path: Path) -> int:
        if id(path) not in numbers:
            numbers[id(path)] = len(paths)
            paths.append(path)
        return numbers[id(path)]

    held = [
        (name in state.loose, *[
            (cell, number(value.path), *value.sources.items()) for cell, value in state.cells.get(name, {}).items()
        ])
        for name in body.touched
    ]  # fmt: skip
    whole = [(name, number(path)) for name, path in state.paths.items()]
    return (*held, *whole), paths


def with_unknown_begins(state: State, body: Body, paths: Sequence[Path]) -> tuple[State, Choices]:
    """Return what a body finds in a state where all paths are begins, and where choices between these are noted."""
    choices = Choices()
    begins = {
        id(path): Path({}, path.cost, Begin(k, path.all_terms, path.cost, choices)) for k, path in enumerate(paths)
    }
    begins[id(START)] = START
    unknown = State(paths={name: begins[id(path)] for name, path in state.paths.items()})
    unknown.loose |= state.loose.intersection(body.touched)
    for name in body.touched:
        if name in state.cells:
            cells = state.cells[name].items()
            unknown.replace(name, {cell: CellValue(begins[id(value.path)], value.sources) for cell, value in cells})
    return unknown, choices


@dataclass(frozen=True)
class Recalled:
    """What a body makes of a state, in paths that begin with those that it finds."""

    cells: Mapping[str, Cells]
    paths: Mapping[str, Path]
    loose: frozenset[str]
    choices: Choices

    @classmethod
    def of(cls, state: State, body: Body, choices: Choices) -> Recalled:
        """Return the outcome of a walk from unknown begins that ended in a state."""
        cells = {name: state.cells[name] for name in body.changed if name in state.cells}
        return cls(cells, state.paths, frozenset(state.loose), choices)

    def holds(self, begins: Sequence[Path]) -> bool:
        """Whether a walk that begins with these paths makes the same choices."""
        costs = [*[path.cost for path in begins], 0]
        for (chosen, other, more), margin in self.choices.margins.items():
            difference = costs[chosen] - costs[other]
            if difference < margin or (more and difference == margin):
                return False
        kept = self.choices.kept.items()
        return all((begins[k].amount(term) + amount != 0) == present for (k, term, amount), present in kept)

    def apply(self, state: State, begins: Sequence[Path]) -> None:
        """Change a state as the body does that finds these paths in it."""
        self._pass_on([*begins, START])
        made: dict[int, Path] = {}

        def path_of(path: Path) -> Path:
            if path.begin is None:
                return path
            if id(path) not in made:
                begin, cost = begins[path.begin.number], path.cost - path.begin.cost
                made[id(path)] = begin.plus(path.terms.items(), cost) if path.terms else begin
            return made[id(path)]

        for name, cells in self.cells.items():
            state.replace(name, {cell: CellValue(path_of(value.path), value.sources) for cell, value in cells.items()})
        state.paths.update({name: path_of(path) for name, path in self.paths.items()})
        state.loose |= self.loose

    def _pass_on(self, begins: Sequence[Path]) -> None:
        """Note the choices where these paths have unknown begins themselves."""
        for (chosen, other, more), margin in self.choices.margins.items():
            if begins[chosen].begin is not begins[other].begin:
                if more:
                    costlier(begins[chosen], begins[other], 0, margin)
                else:
                    costlier(begins[other], begins[chosen], margin)
        for k, term, amount in self.choices.kept:
            path = begins[k]
            if path.begin is not None:
                path.begin.has(term, path.terms.get(term, 0) + amount)
