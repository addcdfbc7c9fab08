"""Accesses of single instructions to memory, listed by hand in the order of evaluation."""

from __future__ import annotations

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts.reading.expressions import Walk
from perfmodel.counts.reading.instructions import vector_iname
from perfmodel.counts.reading.schedule import schedule
from tests.counts.reading.test_expressions import walked


@pytest.mark.parametrize(("code", "expected"), [
    ("out[i] = a[i]*a[i] + b[0]", ["a load", "a load", "b load", "out store"]),
    ("out[i] = out[i] + 1", ["out load", "out store"]),
    ("out[i] = n*a[i] + i", ["a load", "out store"]),  # neither arguments passed by value nor inames lie in memory
    ("out[i] = a[where[i]]", ["where load", "a load", "out store"]),  # the index first
    ("out[where[i]] = a[i]", ["a load", "where load", "out store"]),
    ("out[i] = 3", ["out store"]),
    ("<> t = a[i]", ["a load"]),  # a private scalar is a register
])  # fmt: skip
def test_order_of_accesses(code: str, expected: list[str]) -> None:
    walk = walked(code, where=np.int32)
    assert expected == [f"{event.array} {event.direction}" for event in walk.accesses]


def vector_kernel(code: str) -> lp.LoopKernel:
    unit = lp.make_kernel(
        "{ [i, v]: 0 <= i < n and 0 <= v < 4 }", code,
        [lp.GlobalArg("a, out", np.float32, shape="n, 4"), lp.GlobalArg("b", np.float32, shape="4*n"), ...],
        lang_version=(2018, 2), assumptions="n >= 1",
    )  # fmt: skip
    unit = lp.tag_array_axes(unit, "a, out", "C, vec")
    return schedule(lp.tag_inames(unit, {"v": "vec"})).default_entrypoint


@pytest.mark.filterwarnings("ignore::loopy.diagnostic.LoopyWarning")
def test_an_assignment_of_vectors_is_one_access_each() -> None:
    kernel = vector_kernel("out[i, v] = 2*a[i, v]")
    (instruction,) = kernel.instructions
    assert "v" == vector_iname(kernel, instruction)
    walk = Walk(kernel, {}, vector_iname="v")
    walk.assignment(instruction)
    assert [("a", 1), ("out", 1)] == [(event.array, event.vector_axis) for event in walk.accesses]
    assert [True] == [event.per_lane for event in walk.operations]


@pytest.mark.filterwarnings("ignore::loopy.diagnostic.LoopyWarning")
def test_what_cannot_be_a_vector_is_unrolled() -> None:
    kernel = vector_kernel("out[i, v] = b[4*i + v]")
    assert "" == vector_iname(kernel, kernel.instructions[0])
