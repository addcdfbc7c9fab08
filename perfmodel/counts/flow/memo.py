"""The effect of a loop body on the state of a walk, kept for later iterations.

Input: the state before an iteration. Output: the state after it, without executing the body again.

The body is executed once with a :class:`~perfmodel.counts.flow.paths.Prefix` in place of each path. Every path after it
is then a prefix and the operations that the body appends. This holds for each iteration that finds the same cells, and
in which the lengths of the prefixes lead to the same choices of longest paths. Without this a walk through nested
loops would execute each body once for every iteration of all loops around it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from perfmodel.counts.flow.execution import Cells, CellValue, State
from perfmodel.counts.flow.paths import START, Choices, Path, Prefix, costlier


@dataclass(frozen=True)
class Body:
    """The body of a loop."""

    executions: int  # statements that the walk executes in one iteration
    touched: tuple[str, ...]  # the variables that it reads or writes, and those that it writes
    changed: tuple[str, ...]
    inames: tuple[str, ...]  # the inames on which indices of these variables depend


def cache_key(state: State, body: Body) -> tuple[Hashable, list[Path]]:
    """Return the state before a body with its paths replaced by numbers, and these paths."""
    paths: list[Path] = []
    numbers = {id(START): -1}

    def number(path: Path) -> int:
        if id(path) not in numbers:
            numbers[id(path)] = len(paths)
            paths.append(path)
        return numbers[id(path)]

    cells = [
        (name in state.ambiguous, *[
            (cell, number(value.path), *value.sources.items()) for cell, value in state.cells.get(name, {}).items()
        ])
        for name in body.touched
    ]  # fmt: skip
    longest = [(name, number(path)) for name, path in state.paths.items()]
    return (*cells, *longest), paths


def with_prefixes(state: State, body: Body, paths: Sequence[Path]) -> tuple[State, Choices]:
    """Return the state before a body with prefixes in place of its paths, and the record of choices between these."""
    choices = Choices()
    prefixes = {
        id(path): Path({}, path.cost, Prefix(k, path.all_terms, path.cost, choices)) for k, path in enumerate(paths)
    }
    prefixes[id(START)] = START
    result = State(paths={name: prefixes[id(path)] for name, path in state.paths.items()})
    result.ambiguous |= state.ambiguous.intersection(body.touched)
    for name in body.touched:
        if name in state.cells:
            cells = state.cells[name].items()
            result.replace(name, {cell: CellValue(prefixes[id(value.path)], value.sources) for cell, value in cells})
    return result, choices


@dataclass(frozen=True)
class Effect:
    """The state after a body, in paths that start with prefixes."""

    cells: Mapping[str, Cells]
    paths: Mapping[str, Path]
    ambiguous: frozenset[str]
    choices: Choices

    @classmethod
    def of(cls, state: State, body: Body, choices: Choices) -> Effect:
        """Return the effect of a body that was executed from :func:`with_prefixes` and ended in a state."""
        cells = {name: state.cells[name] for name in body.changed if name in state.cells}
        return cls(cells, state.paths, frozenset(state.ambiguous), choices)

    def holds(self, paths: Sequence[Path]) -> bool:
        """Return whether a walk with these paths as prefixes makes the same choices."""
        costs = [*[path.cost for path in paths], 0]
        for (chosen, other, strict), margin in self.choices.margins.items():
            difference = costs[chosen] - costs[other]
            if difference < margin or (strict and difference == margin):
                return False
        kept = self.choices.kept.items()
        return all((paths[k].amount(term) + amount != 0) == present for (k, term, amount), present in kept)

    def apply(self, state: State, paths: Sequence[Path]) -> None:
        """Change a state as the body does, with these paths as prefixes."""
        self._record_choices([*paths, START])
        made: dict[int, Path] = {}

        def path_of(path: Path) -> Path:
            if path.prefix is None:
                return path
            if id(path) not in made:
                before, cost = paths[path.prefix.number], path.cost - path.prefix.cost
                made[id(path)] = before.plus(path.terms.items(), cost) if path.terms else before
            return made[id(path)]

        for name, cells in self.cells.items():
            state.replace(name, {cell: CellValue(path_of(value.path), value.sources) for cell, value in cells.items()})
        state.paths.update({name: path_of(path) for name, path in self.paths.items()})
        state.ambiguous |= self.ambiguous

    def _record_choices(self, paths: Sequence[Path]) -> None:
        """Record the choices again in the enclosing body, where these paths have prefixes themselves."""
        for (chosen, other, strict), margin in self.choices.margins.items():
            if paths[chosen].prefix is not paths[other].prefix:
                if strict:
                    costlier(paths[chosen], paths[other], 0, margin)
                else:
                    costlier(paths[other], paths[chosen], margin)
        for k, term, amount in self.choices.kept:
            path = paths[k]
            if path.prefix is not None:
                path.prefix.contains(term, path.terms.get(term, 0) + amount)
