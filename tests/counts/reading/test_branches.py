"""Of the arms of a branch one runs: the most that all arms can execute, and whether that is exact."""

import random
from fractions import Fraction
from itertools import product

import islpy as isl
import loopy as lp
import pymbolic.primitives as p
import pytest

from perfmodel.counts import count
from perfmodel.counts.program.program import Domain
from perfmodel.counts.reading.branches import Arm, shares
from tests.corpus.kernel import make

NAMES = "abcd"
C, D = "a[i] > 0.5", "b[i] > 0.7"


def made(*lines: str, tag: str | None = None) -> lp.TranslationUnit:
    unit = make(["{[i]: 0 <= i < n}", "{[j]: 0 <= j < 4}"][:1 + ("sum(j" in "".join(lines))], "\n".join(lines),
                "float64 a, b, out, two: n", assumes="n >= 8 and n mod 8 = 0", seq_dependencies=True)  # fmt: skip
    return unit if tag is None else lp.split_iname(unit, "i", 8, inner_tag=tag)


def adds(unit: lp.TranslationUnit, statistics: dict[str, float] | None = None) -> str:
    return str(count(unit, statistics=statistics).operations(kind="add")).partition(" (")[0]


@pytest.mark.parametrize(("text", "statistics", "expected"), [
    (f"b[i] + 1 if {C} else b[i] + 2", {}, "n"), (f"b[i] + 1 if {C} else b[i] + 2", {C: 0.3}, "n"),
    (f"b[i] + 1 + b[i] if {C} else b[i] + 2", {}, "<= 2*n"), (f"b[i] + 1 if {C} else b[i]", {}, "<= n"),
    (f"(b[i] + 1 if {D} else b[i] + 3) if {C} else b[i] + 2", {}, "n"),
    (f"(b[i] + 1 if {D} else b[i] + 3) if {C} else b[i] + 2", {C: 0.3}, "n"),
    (f"(b[i] + 1 + b[i] if {D} else b[i]) if {C} else b[i] + 2", {D: 0.5}, "n"),
    (f"(b[i] + 1 + b[i] if {D} else b[i]) if {C} else b[i] + 2", {D: 0.75}, "<= 3/2*n"),
    (f"(b[i] + 1 + b[i] if {D} else b[i]) if {C} else b[i] + 2", {C: 0.25}, "<= 5/4*n"),
    (f"b[i] + 1 if {C} or {D} else b[i] + 2", {}, "n"), (f"b[i] + 1 if {C} and {D} else b[i] + 2", {}, "n"),
    (f"b[i] + 1 + b[i] if {C} or {D} else b[i]", {C: 0.5, D: 0.5}, "3/2*n"),
    (f"b[i] + 1 if {C} or {D} else b[i]/3 + 1 + a[i]", {f"{C} or {D}": 0.25}, "7/4*n"),
    (f"b[i] + 1 + b[i] if {C} and {D} else b[i]", {f"{C} and {D}": 0.25}, "1/2*n"),
    (f"b[i] + 1 if not ({C} or {D}) else b[i] + 2", {}, "n"),
    (f"(b[i] + 1 if {C} else b[i]) * (b[i] if {C} else b[i] + 2)", {}, "n"),
    (f"(b[i] + 1 if {C} else b[i]) * (b[i] + 3 if {C} else b[i])", {}, "<= 2*n"),
    (f"(b[i] + 1 if {C} else b[i] + 2) + 1", {}, "2*n"), (f"b[i] + 1 if i > 3 and {C} else b[i]", {}, "<= n - 4"),
])  # fmt: skip
def test_expressions(text, statistics, expected):
    assert expected == adds(made(f"out[i] = ({text})"), statistics)


def test_tests_of_which_the_data_are_written_between():
    twice = ("out[i] = b[i] + 1 {if=a[i] > 0.5}", "two[i] = b[i] + 2 {if=not (a[i] > 0.5)}")
    one = made("for i", *twice, "end")
    other = made("for i", twice[0], "a[i] = 2*b[i]", twice[1], "end")
    assert ("n", "<= 2*n") == (adds(one), adds(other))


def test_arms_with_loops_of_their_own_are_added():
    unit = made("for i", "if a[i] > 0.5", "out[i] = b[i] + 1", "else", "two[i] = sum(j, b[j])", "end", "end")
    bound = count(unit).operations(kind="add")
    assert not bound.exact
    assert 4*8 <= bound(n=8) <= 5*8 + 8


def test_many_tests_end():
    chain = "b[i]"
    for k in range(40):
        chain = f"(b[i] + {k + 1} if a[i] > {k}.5 else {chain})"
    assert "<= n" == adds(made(f"out[i] = {chain}"))
    tangled = " + ".join(f"(b[i]*{k + 2} if a[i] > {k}.5 or b[i] > {k}.25 else b[i]/{k + 2})" for k in range(20))
    counts = count(made(f"out[i] = {tangled}"))
    assert 20 * 8 >= counts.operations(kind="mul")(n=8) >= 20 * 8 - 8


@pytest.mark.parametrize("seed", range(30))
def test_shares_at_random(seed):
    drawn = random.Random(seed)

    def test(depth: int):
        kind = drawn.randrange(4) if depth else 0
        children = tuple(test(depth - 1) for _ in range(2))if kind else ()
        if kind == 1:
            return p.LogicalNot(children[0])
        return p.Variable(drawn.choice(NAMES)) if not kind else (p.LogicalAnd, p.LogicalOr)[kind - 2](children)

    points = isl.Set("{ [i] : 0 <= i < 9 }")
    arms = {
        Arm(Domain(0, points, ("",)), tuple((test(2), drawn.random() < 0.5) for _ in range(drawn.randint(1, 3)))):
        Fraction(drawn.randint(1, 9), drawn.randint(1, 3)) for _ in range(drawn.randint(1, 6))
    }  # fmt: skip

    def holds(expr, at):
        text = str(expr)
        return bool(eval(text, {}, at))

    totals = [
        sum(weight for arm, weight in arms.items() if all(holds(test, at) == truth for test, truth in arm.tests))
        for values in product((False, True), repeat=len(NAMES)) for at in [dict(zip(NAMES, values, strict=True))]
    ]  # fmt: skip
    found = shares(arms)
    bound = sum(found[arm][0] * weight for arm, weight in arms.items())
    assert bound == max(totals)
    if all(exact for _, exact in found.values()):
        assert min(totals) == max(totals)
    elif len({id(arm) for arm in arms}) == 1:
        assert min(totals) < max(totals)
