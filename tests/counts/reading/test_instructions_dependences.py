"""Statements as steps: what they read, and the acts between a value and the result, by hand."""

import loopy as lp
import pytest

from tests.counts.flow.small_kernels import ADD, FLOAT, LOAD, MUL, STORE, at, flow_of, in_lanes, kernel


def test_sums_are_added_from_left_to_right() -> None:
    code = "out[i] = a[i] + a[i+1] + a[i+2] + a[i+3]*a[i+4]"
    (step,) = flow_of(in_lanes(kernel("{[i]: 0 <= i < n}", code))).dataflow.steps
    assert [3, 3, 2, 1, 1] == [reading.path.count(ADD) for reading in step.reads]
    assert [0, 0, 0, 1, 1] == [reading.path.count(MUL) for reading in step.reads]


def test_products_joined_to_sums() -> None:
    flow = flow_of(
        in_lanes(kernel("{[i]: 0 <= i < n}", "out[i] = a[i]*b[i] + c[i]*d[i] + e[i]")), group_multiply_add=True
    )
    (step,) = flow.dataflow.steps
    paths = {reading.variable: [kind for _, kind in reading.path[1:]] for reading in step.reads}
    both = ["madd", "madd"]  # e + a*b + c*d
    assert {"a": both, "b": both, "c": both, "d": both, "e": ["madd"]} == paths
    assert {LOAD: 5, ("float32", "madd"): 2, STORE: 1} == at(flow.work, n=100)


def test_of_nothing_but_products_the_first_is_not_joined() -> None:
    unit = in_lanes(kernel("{[i]: 0 <= i < n}", "out[i] = a[i]*b[i] + c[i]*d[i]"))
    flow = flow_of(unit, group_multiply_add=True)
    assert {LOAD: 4, MUL: 1, ("float32", "madd"): 1, STORE: 1} == at(flow.work, n=100)
    assert {LOAD: 1, MUL: 1, ("float32", "madd"): 1, STORE: 1} == at(flow.depth, n=100)


def test_declared_operations_of_c_code_wait_for_one_another() -> None:
    unit = lp.make_kernel(
        "{[i]: 0 <= i < n}",
        [lp.CInstruction("i", "y = 2*x + 1;", assignees=("y",), read_variables=frozenset({"x"}), id="code",
                         within_inames=frozenset({"i"})),
         "x = a[i] {id=load}", "out[i] = y {dep=code}"],
        [lp.GlobalArg("a, out", FLOAT, shape="n"), lp.TemporaryVariable("x", FLOAT),
         lp.TemporaryVariable("y", FLOAT), ...],
        assumptions="n >= 1", lang_version=(2018, 2), seq_dependencies=False,
    )  # fmt: skip
    unit = lp.add_dependency(unit, "id:code", "id:load")
    flow = flow_of(in_lanes(unit), declared={"code": {"operations": {MUL: 1, ADD: 1}}})
    assert {LOAD: 1, MUL: 1, ADD: 1, STORE: 1} == at(flow.depth, n=64)


@pytest.mark.parametrize(("product", "multiplied"), [
    ("a[i]*(b[i]*c[i])", {"a": [2], "b": [2], "c": [1]}),  # a * b * c
    ("a[i]*b[i]**2", {"a": [2], "b": [1, 2]}),  # a * b * b
    ("a[i]*(b[i]*c[i])**2", {"a": [4], "b": [2, 4], "c": [1, 3]}),  # a * b * c * b * c
    ("a[i]*(b[i]/c[i])", {"a": [1], "b": [1], "c": [1]}),  # a * (b / c)
])
def test_products_are_multiplied_from_left_to_right_as_they_are_printed(product, multiplied) -> None:
    (step,) = flow_of(in_lanes(kernel("{[i]: 0 <= i < n}", f"out[i] = {product}"))).dataflow.steps
    found = {name: sorted(r.path.count(MUL) for r in step.reads if r.variable == name) for name in multiplied}
    assert multiplied == found


def test_a_loop_of_one_iteration_is_none() -> None:
    """Loopy writes none for it; one of two iterations is a loop, and so is one that may run once."""
    for bounds, name, once in (("0 <= j < 1", "j", True), ("n <= j <= n", "j", True), ("0 <= j < 2", "j", False),
                               ("0 <= j < n", "j", False), ("0 <= j < 1", "k", True)):  # fmt: skip
        domain = f"{{[i, {name}]: 0 <= i < n and {bounds.replace('j', name)}}}"
        unit = in_lanes(kernel(domain, f"out[i] = a[i] + {name}"))
        assert once == (name in flow_of(unit).dataflow.unrolled)
        code = lp.generate_code_v2(unit).device_code()
        assert once == (f"for (int {name}" not in code)
