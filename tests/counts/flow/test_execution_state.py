"""What variables hold, by hand."""

from __future__ import annotations

import pytest

from perfmodel.counts.flow.execution import ACCESSED, FENCE, LATEST, CellValue, State, may_be_equal
from perfmodel.counts.flow.paths import START, Path
from perfmodel.counts.program.program import Cell

I0, I1 = (0, (("i", 1),)), (1, (("i", 1),))
ONE, TWO = Path({}, 1.0), Path({}, 2.0)


def test_paths_of_the_whole_only_grow() -> None:
    state = State()
    assert START == state.path(LATEST)
    state.reach(LATEST, TWO)
    state.reach(LATEST, ONE)
    assert TWO == state.path(LATEST)
    state.paths[LATEST] = ONE
    state.hold(ONE)
    assert [ONE] * 3 == [state.path(name) for name in (LATEST, FENCE, ACCESSED)]


def test_a_sure_store_replaces_and_an_unsure_one_merges() -> None:
    state = State()
    state.write("a", (I0,), CellValue(TWO), surely=True)
    state.write("a", (I0,), CellValue(ONE), surely=False)
    assert [TWO] == [value.path for value in state.read("a", (I0,))]
    state.write("a", (I0,), CellValue(ONE), surely=True)
    assert [ONE] == [value.path for value in state.read("a", (I0,))]


def test_a_store_to_a_cell_that_is_not_known_may_leave_the_old_value() -> None:
    state = State()
    state.write("a", (None,), CellValue(TWO), surely=True)
    state.write("a", (None,), CellValue(ONE), surely=True)
    assert [TWO] == [value.path for value in state.read("a", (I0,))]


def test_a_read_finds_every_cell_that_it_may_be() -> None:
    state = State()
    state.write("a", (I0,), CellValue(ONE), surely=True)
    state.write("a", (I1,), CellValue(TWO), surely=True)
    assert [ONE] == [value.path for value in state.read("a", (I0,))]
    assert [ONE, TWO] == [value.path for value in state.read("a", (None,))]
    assert [] == list(state.read("b", ()))


def test_a_read_at_constants_finds_that_cell_unless_others_may_be_it() -> None:
    first, second = ((0, ()),), ((1, ()),)
    state = State()
    state.write("a", first, CellValue(ONE), surely=True)
    state.write("a", second, CellValue(TWO), surely=True)
    assert [TWO] == [value.path for value in state.read("a", second)]
    assert [] == state.read("a", ((2, ()),))
    assert [ONE, TWO] == [value.path for value in state.read("a", ())]  # a C instruction names no cell
    state.write("a", (None,), CellValue(ONE), surely=True)
    assert [TWO, ONE] == [value.path for value in state.read("a", second)]


def test_a_read_looks_only_at_cells_whose_first_index_may_be_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[tuple[Cell, Cell]] = []

    def noted(left: Cell, right: Cell) -> bool:
        looked.append((left, right))
        return may_be_equal(left, right)

    monkeypatch.setattr("perfmodel.counts.flow.execution.may_be_equal", noted)
    state, n = State(), (0, (("n", 1),))
    paths = [Path({}, float(k)) for k in range(200)]
    for k, path in enumerate(paths):
        state.write("a", ((k, ()), None), CellValue(path), surely=True)
    state.write("a", (n, None), CellValue(ONE), surely=True)
    assert [paths[7], ONE] == [value.path for value in state.read("a", ((7, ()), I0))]
    assert 2 == len(looked)
    state.write("a", (None, I0), CellValue(TWO), surely=True)  # what is stored later is found too, in order
    assert [paths[7], ONE, TWO] == [value.path for value in state.read("a", ((7, ()), I0))]
    assert [*paths, ONE, TWO] == [value.path for value in state.read("a", (None, I0))]
    assert [*paths, ONE, TWO] == [value.path for value in state.read("a", (n, I0))]


def test_blurred_cells_are_one() -> None:
    state = State()
    state.write("a", (I0,), CellValue(ONE), surely=True)
    state.write("a", (I1,), CellValue(TWO), surely=True)
    state.blur(frozenset({"a", "never stored"}), frozenset({"i"}))
    assert {"a": {(None,): CellValue(TWO)}} == state.cells


def test_a_snapshot_stays_as_it_was() -> None:
    state = State()
    state.write("a", (I0,), CellValue(ONE), surely=True)
    before = state.snapshot(("a", "never stored"))
    state.write("a", (I0,), CellValue(TWO), surely=True)
    assert {"a": {(I0,): CellValue(ONE)}} == before
    assert {(None,): CellValue(TWO)} == state.snapshot(("a",), frozenset({"i"}))["a"]
