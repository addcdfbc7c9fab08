"""Schedules as trees, and loops without an end."""

import re
import sys

import islpy as isl
import loopy as lp
import numpy as np
import pytest
from loopy.diagnostic import LoopyError, TypeInferenceFailure

from perfmodel.counts import count
from perfmodel.counts.reading.schedule import refusal, refusals, refuse_unbounded
from perfmodel.errors import CountError, KernelError


@pytest.mark.parametrize(("domain", "inames"), [
    ("[n] -> { [i] : 0 <= i }", ("i",)), ("[n] -> { [i] : i < n }", ("i",)),
    ("[n] -> { [i, j] : 0 <= i < n and j <= i }", ("j",)), ("[n] -> { [i, j, k] : 0 <= i < n and j = k }", ("j", "k")),
    ("{ [i] }", ("i",)),
])  # fmt: skip
def test_loops_without_an_end(domain, inames):
    with pytest.raises(CountError, match="a lower and an upper bound") as caught:
        refuse_unbounded([isl.BasicSet("[n] -> { [h] : 0 <= h < n }"), isl.BasicSet(domain)])
    assert inames == caught.value.inames
    assert str(caught.value).startswith(f"the loop over {', '.join(inames)} has no bound in its domain ")


def test_a_loop_that_another_domain_bounds_ends():
    """Loopy's main branch leaves the iname of a sequential scan in the domain of the loop that takes its place."""
    refuse_unbounded([isl.Set("[n] -> { [i, j] : 0 <= i < n and 0 <= j <= i }"), isl.Set("[i] -> { [s, j] : s = i }")])


def test_a_callee_that_loopy_makes_two_versions_of_is_inlined_twice() -> None:
    callee = lp.make_function("{ [i]: 0 <= i < 4 }", "y[i] = i*i", name="squares", lang_version=(2018, 2))
    caller = lp.make_kernel(
        "{ [i, j]: 0 <= i, j < 4 }", "[i]: a[2*i] = squares()\n[j]: b[7 - j] = squares()",
        [lp.GlobalArg("a,b", np.int32, shape=(8,))], lang_version=(2018, 2),
    )
    counts = count(lp.merge([caller, callee]), cache=False)
    assert (4, 4) == (counts.accesses(array="a")(), counts.accesses(array="b")())


SIZED = lp.GlobalArg("c", np.float32, shape="n")
SIXTEEN = "{[i, j]: 0 <= i, j < 16}"


def make(code, *arguments, domain=SIXTEEN):
    arrays = [lp.GlobalArg("a, out", np.float32, shape=16), lp.GlobalArg("b", np.float32, shape=(16, 16)), *arguments]
    return lp.make_kernel(
        domain, code, [*arrays, lp.ValueArg("n", np.int32)], lang_version=(2018, 2), silenced_warnings=["*"]
    )


def tagged(tags, code, *arguments, domain=SIXTEEN):
    return lp.tag_inames(make(code, *arguments, domain=domain), tags)


def reversed_order():
    return lp.prioritize_loops(lp.prioritize_loops(make("b[i, j] = 1"), "i,j"), "j,i")


def without_a_common_nest():
    return make(
        ["b[i, j] = 1 {inames=i:j,id=u}", "out[i] = 1 {inames=i:k,id=v}", "a[j] = 1 {inames=j:k,id=w}"],
        domain=["{[i]: 0 <= i < 16}", "{[j]: 0 <= j < 16}", "{[k]: 0 <= k < 16}"],
    )


#: By name: the kernel, what its reason holds, and what its advice holds.
KERNELS = {
    "out of bounds": (
        lambda: make("out[i] = a[i + 1]"),
        r"'a\[i \+ 1\]' in instruction 'insn' accesses out-of-bounds", "the assumptions",
    ),
    "a cycle": (
        lambda: make(["<> t = 1.0 {id=set,dep=use}", "out[i] = t {id=use,dep=set}"]),
        "the dependences of (set, use|use, set) form a cycle", "remove a dependence",
    ),
    "contradicting priorities": (reversed_order, "required order of loops or instructions has a cycle", "prioritize"),
    "no common nest": (without_a_common_nest, "does not have a schedulable iname nesting", "duplicate_inames"),
    "a dead end": (
        lambda: make(
            ["a[i] = 1 {groups=g,id=x}", "out[i] = 1 {conflicts=g,id=y,dep=x}", "b[i, i] = 1 {groups=g,dep=y}"]
        ),
        "no order of its loops and instructions was found", "duplicate_inames",
    ),
    "an undeclared name": (lambda: make("out[i] = a[i] + q[i]"), "nothing is called 'q'", "declare it"),
    "an unknown function": (lambda: make("out[i] = frob(a[i])"), "Unknown function 'frob'", "register_callable"),
    "two writers": (
        lambda: make(["out[i] = 1 {id=one}", "out[i] = 2 {id=two}"]),
        "No dependency relationship found between '(one|two)'", r"with \{dep=\.\.\.\}",
    ),
    "a missing barrier": (
        lambda: tagged("i:g.0", ["a[i] = 1 {id=one}", "out[i] = a[15 - i] {dep=one}"]),
        r"for variable 'a'\) requires synchronization by a global barrier", "add that barrier",
    ),
    "a private value of another launch": (
        lambda: tagged("i:g.0", ["<> t = a[i] {id=w}", "... gbarrier {id=g,dep=w}", "out[i] = t {dep=g}"]),
        "'t' gets used in subkernel", "writes the variable first",
    ),
    "a temporary never written": (
        lambda: make("out[i] = t[i]", lp.TemporaryVariable("t", np.float32, 16)),
        "'t' is never written", "writes it first",
    ),
    "one axis twice": (lambda: tagged("i:l.0,j:l.0", "b[i, j] = 1"), "multiple inames tagged 'l.0'", "other axes"),
    "an axis left out": (
        lambda: tagged("i:g.0,j:g.1", ["<> t = a[i] {id=w}", "b[i, j] = t {dep=w}"]),
        "'w' does not use all group hw axes", "add_inames_for",
    ),
    "an axis that is skipped": (lambda: tagged("i:l.0,j:l.2", "b[i, j] = 1"), "axis 1 unused", "number the axes"),
    "lanes that data bounds": (
        lambda: tagged("i:g.0", ["<> m = 16 {id=m}", "a[i] = 1 {dep=m}"], domain="{[i]: 0 <= i < m and i < 16}"),
        "data-dependent parameter 'm'", "let sizes bound it",
    ),
    "unrolled to a size": (
        lambda: tagged("i:unr", "c[i] = 1", SIZED, domain="[n] -> {[i]: 0 <= i < n}"),
        "no constant length", "split_iname",
    ),
    "a size of no argument": (
        lambda: make("q[i] = 1", lp.GlobalArg("q", np.float32, shape="m")),
        "depends on non-argument", "an integer argument",
    ),
    "an index too few": (lambda: make("out[i] = b[i]"), "wrong number of indices", "one index for each axis"),
    "a fractional index": (lambda: make("out[1.5*i] = 1"), "Non-integral array indices", "use integers"),
}  # fmt: skip


@pytest.mark.parametrize("name", KERNELS)
def test_the_reason_and_the_advice_fit(name, capsys):
    build, reason, advice = KERNELS[name]
    kernel = build()
    capsys.readouterr()
    with pytest.raises(KernelError) as error:
        count(kernel, check=True, cache=False)
    assert re.search(f"^Loopy cannot build the kernel: .*{reason}.*; .*{advice}", str(error.value))
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 500
    assert "type" not in str(error.value)
    assert ("", "") == capsys.readouterr()


UNIT = make("out[i] = 1")


def test_an_unknown_refusal_is_loopys_first_line_without_advice_of_ours():
    found = refusal(UNIT, LoopyError("\n  the moon is full  \nKERNEL: ...\nINSTRUCTIONS: ..."))
    assert str(found).endswith("the moon is full; change the kernel until loopy.generate_code_v2 accepts it.")
    assert refusal(UNIT, KeyError("x")).problem.endswith(": KeyError 'x'")
    assert refusal(UNIT, AssertionError()).problem.endswith(": AssertionError")


def test_types_are_asked_for_only_where_they_are_missing():
    untyped = lp.make_kernel("{[i]: 0 <= i < 16}", "out[i] = a[i]", lang_version=(2018, 2))
    assert ("a", "out") == refusal(untyped, TypeInferenceFailure("a")).names
    typed = refusal(UNIT, TypeInferenceFailure("nothing known about result of operation on 'x' and 'y'"))
    assert "add_dtypes" in typed.advice


def test_what_is_printed_and_asked_reaches_nobody(capsys):
    def failing():
        sys.stdout.write("the whole kernel")
        input("Enter:")

    stdin = sys.stdin
    with pytest.raises(KernelError, match=r"no order of its loops and instructions was found; let all"):
        run(failing)
    assert ("", "") == capsys.readouterr()
    assert stdin is sys.stdin


def run(function):
    with refusals(UNIT):
        function()
