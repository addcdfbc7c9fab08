"""Operations and accesses of single instructions, counted by hand from the C code."""

from __future__ import annotations

from collections import Counter

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts.reading.instructions import PathWalk
from perfmodel.counts.reading.schedule import schedule
from perfmodel.counts.reading.values import Options


def walked(code: str, options: Options | None = None, **types: type) -> PathWalk:
    unit = lp.make_kernel("{ [i]: 0 <= i < n }", code, lang_version=(2018, 2), assumptions="n >= 1")
    names = [argument.name for argument in unit.default_entrypoint.args if argument.dtype is None]
    unit = schedule(lp.add_dtypes(unit, {name: types.get(name, np.float32) for name in names if name != "n"}))
    kernel = unit.default_entrypoint
    walk = PathWalk(kernel, unit.callables_table, options or Options())
    walk.assignment(kernel.instructions[0])
    return walk


def amounts(walk: PathWalk) -> dict[tuple[str, str], int]:
    total = Counter[tuple[str, str]]()
    for event in walk.operations:
        total[event.dtype, event.kind] += event.amount
    return dict(total)


@pytest.mark.parametrize(("code", "expected"), [
    ("out[i] = a[i] + b[i] - c[i]", {("float32", "add"): 2}),
    ("out[i] = -a[i]", {}),  # a factor -1 is free
    ("out[i] = 1.0*a[i]", {("float32", "mul"): 1}),  # 1.0f * a[i] in the generated code
    ("out[i] = 2*i", {("float32", "mul"): 1}),  # 2.0f * i
    ("out[i] = (i + 1)*a[i]", {("float32", "add"): 1, ("float32", "mul"): 1}),  # (i + 1.0f) * a[i]
    ("out[i] = 10.0*(i - 5.0)", {("float32", "add"): 1, ("float32", "mul"): 1}),
    ("out[i] = i*n", {("int32", "mul"): 1}),  # a stored value is not an index
    ("out[i] = n*n*a[i]", {("int32", "mul"): 1, ("float32", "mul"): 1}),  # n * n * a[i] is (n * n) * a[i]
    # (double) i / (double) 2.0 < n
    ("out[i] = a[i] if i/2 < n else 0", {("float64", "div"): 1, ("float64", "compare"): 1, ("float32", "select"): 1}),
    # i + 0.5f < n
    ("out[i] = a[i] if i + 0.5 < n else 0", {("float32", kind): 1 for kind in ("add", "compare", "select")}),
    ("out[i] = a[i]**2", {("float32", "mul"): 1}),
    ("out[i] = a[i]**3", {("float32", "pow"): 1}),
    ("out[i] = a[i] / b[i]", {("float32", "div"): 1}),
    ("out[i] = a[2*i + 1]", {}),  # index arithmetic
    ("out[i] = fmax(a[i], b[i])", {("float32", "minmax"): 1}),
    ("out[i] = rsqrt(a[i])", {("float32", "rsqrt"): 1}),
])
def test_operations(code: str, expected: dict[tuple[str, str], int]) -> None:
    assert expected == amounts(walked(code))


def test_the_place_of_an_element_is_free() -> None:
    walk = walked("out[i] = indexof(a[2*i])", out=np.int32)  # 2 * i in the generated code
    assert {} == amounts(walk)
    assert ["store"] == [event.direction for event in walk.accesses]


def test_an_atomic_store_compares_the_old_value() -> None:
    directions = [
        sorted(event.direction for event in walked(code).accesses if event.array == "out")
        for code in ("out[i] = a[i] {atomic=init}", "out[i] = out[i] + a[i] {atomic}")
    ]
    assert [["load", "store"]] * 2 == directions


def test_a_branch_has_its_condition() -> None:
    walk = walked("out[i] = a[i] + b[i] if i < 4 else c[i]")
    truths = {event.array: [truth for _, truth in event.conditions] for event in walk.accesses}
    assert {"a": [True], "b": [True], "c": [False], "out": []} == truths
    truths_by_kind = {event.kind: tuple(truth for _, truth in event.conditions) for event in walk.operations}
    assert {"add": (True,), "select": ()} == truths_by_kind


def test_the_second_operand_of_and_is_evaluated_where_the_first_holds() -> None:
    walk = walked("out[i] = 1 if a[i] > 0 and b[i] > 0 else 0")
    assert {"a": 0, "b": 1, "out": 0} == {event.array: len(event.conditions) for event in walk.accesses}


def test_paths_to_the_result() -> None:
    # a*b + c: the product and the sum stand above a and b, the sum above c
    walk = walked("out[i] = a[i]*b[i] + c[i]")
    load, mul, add = ("global", "load"), ("float32", "mul"), ("float32", "add")
    assert {"a": [load, mul, add], "b": [load, mul, add], "c": [load, add]} == {
        name: path for name, _, path in walk.leaves
    }
