"""What instructions and tests add to the domains at whose points they are executed, by hand."""

from __future__ import annotations

import islpy as isl
import loopy as lp
import pymbolic.primitives as p
import pytest

from perfmodel.counts.program.program import Launch, Operation
from perfmodel.counts.reading.domains import Domains
from perfmodel.counts.reading.statements import Declared, Statements
from perfmodel.counts.reading.values import Options
from tests.counts.reading.test_expressions_accesses import vector_kernel

LAUNCH = Launch("kernel", (), (), isl.Set("{ [] }"))
VECTOR, VECTORS = "{ [i]: 0 <= i < n }", "{ [i, j]: 0 <= i < n and 0 <= j < 3 }"


def statements(kernel: lp.LoopKernel, declared: Declared | None = None) -> Statements:
    found = Statements(kernel, {}, Domains(kernel, {}), declared or {}, Options())
    found.begin_launch(LAUNCH)
    return found


def test_each_instruction_is_a_statement(scheduled) -> None:
    found = statements(scheduled(VECTORS, "b[i] = 2*a[i] {id=one}\nc[i] = 3*a[i] + 1 {id=two}\nd[j] = e[j] {id=three}"))
    for name in ("one", "two", "three"):
        found.add_instruction(name, ())
    (first, second, third), _ = found.collected()
    assert (Operation("float32", "mul", 1),) == first.operations
    assert {Operation("float32", "mul", 1), Operation("float32", "add", 1)} == set(second.operations)
    assert () == third.operations
    assert ["a load", "c store"] == [f"{one.array} {one.direction}" for one in second.accesses]
    assert [("i",), ("i",), ("j",)] == [one.domain.names for one in (first, second, third)]
    assert ["one", "two", "three"] == [step.name for step in found.steps]


def test_a_branch_is_a_domain_of_its_own(scheduled) -> None:
    found = statements(scheduled(VECTOR, "b[i] = a[i]*a[i] if i < 4 else c[i] {id=one}"))
    found.add_instruction("one", ())
    points = {
        tuple(f"{access.array} {access.direction}" for access in one.accesses): one.domain.points
        for one in found.collected()[0]
    }
    assert points["a load", "a load"].is_equal(isl.Set("[n] -> { [i] : 0 <= i < n and i < 4 and n >= 1 }"))
    assert points["c load",].is_equal(isl.Set("[n] -> { [i] : 4 <= i < n and n >= 1 }"))
    assert points["b store",].is_equal(isl.Set("[n] -> { [i] : 0 <= i < n and n >= 1 }"))


def test_a_test_is_evaluated_at_the_given_inames(scheduled) -> None:
    found = statements(scheduled(VECTOR, "b[i] = a[i]"))
    # a[i]*a[i] > 1: two loads and a product of floats; the comparison is a decision
    element = p.Subscript(p.Variable("a"), (p.Variable("i"),))
    found.add_test(p.Comparison(p.Product((element, element)), ">", 1), {"i"}, ())
    (statement,), (decision,) = found.collected()
    assert (Operation("float32", "compare", 1),) == decision.operations
    assert ("i",) == statement.domain.names
    assert (Operation("float32", "mul", 1),) == statement.operations
    assert ["a", "a"] == [access.array for access in statement.accesses]
    assert [] == found.steps


@pytest.mark.filterwarnings("ignore::loopy.diagnostic.LoopyWarning")
def test_a_vector_is_one_access_and_an_operation_for_each_lane() -> None:
    kernel = vector_kernel("out[i, v] = 2*a[i, v]")
    found = statements(kernel)
    found.add_instruction(kernel.instructions[0].id, ())
    assert {("i", "v"): (1, 0), ("i",): (0, 2)} == {
        tuple(sorted(one.domain.names)): (len(one.operations), len(one.accesses)) for one in found.collected()[0]
    }
