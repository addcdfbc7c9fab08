"""Accesses beyond the cells that the code declares, by strides and by linear indices."""

import re

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts.points.set_counter import BudgetSpentError
from perfmodel.counts.reading import schedule as scheduling
from perfmodel.counts.reading.schedule import refuse_outside, schedule
from perfmodel.errors import KernelError
from tests.corpus.kernel import make

ROWS, COLUMNS = 8, 16
STORE_BY_DATA = ("t[order[i], j] = a[g, i, j] {id=w}", "out[g, j, i] = t[i, j] {dep=w}")


def through(space="local", code=("t[i, j] = a[g, i, j] {id=w}", "out[g, j, i] = t[i, j] {dep=w}"), **temporary):
    """A kernel that goes through an 8 x 16 temporary, in groups of so many lanes (or in loops)."""
    temporary = {"shape": (ROWS, COLUMNS), "address_space": getattr(lp.AddressSpace, space.upper()), **temporary}
    kernel = make(f"[n] -> {{[g, i, j]: 0 <= g < n and 0 <= i < {ROWS} and 0 <= j < {COLUMNS}}}", list(code),
                  [lp.GlobalArg("a", np.float32, shape=f"n, {ROWS}, {COLUMNS}"),
                   lp.GlobalArg("out", np.float32, shape=f"n, {COLUMNS}, {ROWS}"),
                   lp.GlobalArg("order", np.int32, shape=ROWS), lp.ValueArg("n", np.int32),
                   lp.TemporaryVariable("t", np.float32, **temporary)], assumes="n >= 1")  # fmt: skip
    return lp.tag_inames(kernel, "g:g.0,i:l.1,j:l.0" if space == "local" else "g:g.0")


def declared(kernel):
    """Cells that the generated code declares for t."""
    (found,) = re.findall(r"float t\[([^\]]*)\];", lp.generate_code_v2(kernel).device_code())
    return eval(found)


def highest(kernel):
    """The largest cell of t at which the generated code stores, of the lanes or of the loops."""
    (found,) = re.findall(r"\n *t\[([^\]]*)\] = ", lp.generate_code_v2(kernel).device_code())
    index = eval(f"lambda i, j, lid: {found}")
    return max(index(i, j, (j, i).__getitem__) for i in range(ROWS) for j in range(COLUMNS))


@pytest.mark.parametrize("space", ["local", "private"])
@pytest.mark.parametrize(("layout", "inside"), [
    ({}, True), ({"strides": (17, 1)}, False), ({"strides": (16, 1)}, True), ({"strides": (1, 8)}, True),
    ({"strides": (1, 9)}, False), ({"strides": (17, 1), "storage_shape": (ROWS, 17)}, True),
    ({"strides": (17, 1), "shape": (ROWS, 17)}, True),
])  # fmt: skip
def test_strides_reach_past_what_is_declared(space, layout, inside):
    kernel = through(space, **layout)
    assert inside == (highest(kernel) < declared(kernel))
    if inside:
        refuse_outside(schedule(kernel))
    else:
        with pytest.raises(KernelError, match=r"^'t\[.*\]' in instruction 'w' lies outside .* 128 cells of the array"):
            refuse_outside(schedule(kernel))


@pytest.mark.parametrize(("cells", "offset", "inside"), [
    (ROWS * 17, 0, True), (ROWS * 17 + 5, 5, True), (ROWS * 17, 5, False), (ROWS * 17 - 2, 0, False),
])
def test_what_another_array_stores_ends_where_that_one_does(cells, offset, inside):
    kernel = through(strides=(17, 1), base_storage="whole", offset=4*offset)  # [B]
    entry = kernel.default_entrypoint
    whole = lp.TemporaryVariable("whole", np.int8, shape=(4*cells,), address_space=lp.AddressSpace.LOCAL)
    kernel = kernel.with_kernel(entry.copy(temporary_variables={**entry.temporary_variables, "whole": whole}))
    assert inside == (highest(kernel) + offset < cells)
    if inside:
        refuse_outside(schedule(kernel))
    else:
        with pytest.raises(KernelError, match=f" {cells - offset} cells of the array; give"):
            refuse_outside(schedule(kernel))


@pytest.mark.filterwarnings("ignore:LinearSubscript is deprecated:DeprecationWarning")
@pytest.mark.parametrize(("index", "inside"), [("16*i + j", True), ("16*i + j + 1", False), ("127 - 16*i - j", True)])
def test_linear_indices(index, inside):
    kernel = through("private", (f"t[[{index}]] = a[g, i, j] {{id=w}}", "out[g, j, i] = t[i, j] {dep=w}"))
    if inside:
        refuse_outside(schedule(kernel))
    else:
        with pytest.raises(KernelError, match=r"^'t\[.*\+ 1\]' in instruction 'w'"):
            refuse_outside(schedule(kernel))


@pytest.mark.parametrize(("guard", "largest"), [("i < 7", 117), ("j < 15", 133), ("17*i + j < 128", 127)])
def test_a_guard_keeps_accesses_inside(guard, largest):
    cells = [17*i + j for i in range(ROWS) for j in range(COLUMNS) if eval(guard, {"i": i, "j": j})]
    assert largest == max(cells)
    code = (f"if {guard}", "  t[i, j] = a[g, i, j] {id=w}", "end", "out[g, 0, 0] = t[0, 0] {dep=w,inames=g}")
    kernel = schedule(through("private", code, strides=(17, 1)))
    if largest < ROWS * COLUMNS:
        refuse_outside(kernel)
    else:
        with pytest.raises(KernelError, match="in instruction 'w'"):
            refuse_outside(kernel)


def test_what_isl_cannot_decide_passes(monkeypatch):
    kernel = schedule(through(strides=(17, 1)))

    def spent(*_):
        raise BudgetSpentError

    with monkeypatch.context() as patch:
        patch.setattr(scheduling, "check_bounds", spent)
        refuse_outside(kernel)
    refuse_outside(schedule(through("private", STORE_BY_DATA, strides=(16, 1))))
