"""C instructions: what is declared about them is counted, and what is not declared is no exact count."""

import loopy as lp
import pytest

from perfmodel.counts import KernelCounts, count
from perfmodel.errors import CountError
from tests import oracle
from tests.corpus.kernel import make

MUL = {("float32", "mul"): 1}
ACCESSES = {"loads": {"a[i, 0]": 1, "a[i, 1]": 1}, "stores": {"out[i]": 1}}


def kernel(statement: object) -> lp.TranslationUnit:
    unit = make("{ [i]: 0 <= i < n }", [statement], "a: n, 2; out: n", assumes="n >= 1")
    return lp.split_iname(unit, "i", 16, outer_tag="g.0", inner_tag="l.0")


def opaque() -> lp.TranslationUnit:
    code = "out[i] = a[2*i]*a[2*i + 1];"
    return kernel(lp.CInstruction("i", code, read_variables=frozenset({"a", "i"}), assignees=("out[i]",), id="code"))


def declared(given: dict) -> KernelCounts:
    return count(opaque(), declared={"code": given}, cache=False)


def test_declared_accesses_are_those_of_the_same_assignment() -> None:
    plain = count(kernel("out[i] = a[i, 0]*a[i, 1]"), cache=False)
    counts = declared({"operations": MUL, **ACCESSES})
    assert [(row.array, str(row.stride), str(row.count), str(row.footprint)) for row in plain.access_table] == [
        (row.array, str(row.stride), str(row.count), str(row.footprint)) for row in counts.access_table
    ]
    executed = oracle.execute(kernel("out[i] = a[i, 0]*a[i, 1]"), {"n": 37})
    assert executed.operations["float32", "mul"] == counts.operations("float32", "mul")(n=37)
    assert executed.accesses["global", "load", "a", "float32", 32] == counts.accesses(array="a")(n=37)
    assert counts.accesses().exact


@pytest.mark.parametrize("code", ["", " \n", "// nothing\n", "/* nothing\n; */ ;"])
@pytest.mark.parametrize("given", [None, {}, {"loads": {}, "stores": {}}, {"operations": {("float32", "mul"): 0}}])
def test_empty_code_counts_as_nothing(code: str, given: dict | None) -> None:
    idle = lp.CInstruction(
        (), code, read_variables=frozenset({"a", "out"}), within_inames=frozenset(), within_inames_is_final=True,
        id="idle", depends_on=frozenset({"work"}),
    )
    unit = make("{ [i]: 0 <= i < n }", ["out[i] = 2*a[i] {id=work}", idle], "a, out: n", assumes="n >= 1")
    counts = count(unit, declared=None if given is None else {"idle": given}, cache=False)
    assert [("n", True)] * 3 == [
        (str(found), found.exact)
        for found in (counts.operations(), counts.accesses(array="a"), counts.accesses(array="out"))
    ]
    with pytest.raises(CountError, match="is empty, so it executes nothing"):
        count(unit, declared={"idle": {"operations": MUL}}, cache=False)


def test_without_indices_an_access_is_indirect() -> None:
    counts = declared({"operations": MUL, "loads": {"a": 2}, "stores": {"out": 1}})
    loads = counts.accesses(array="a")
    assert (74, True) == (loads(n=37), loads.exact)
    assert all(row.indirect for row in counts.access_table)
    assert not counts.footprint("a").exact


def test_declared_to_access_nothing() -> None:
    counts = declared({"operations": MUL, "loads": {}, "stores": {}})
    assert (0, True) == (counts.accesses()(), counts.accesses().exact)


@pytest.mark.parametrize(("given", "message"), [
    ({"loads": {"b": 1}}, "is not an array in memory; the arrays are a, out"),
    ({"loads": {"a[i]": 1}}, "has 1 indices; give 2"),
    ({"load": {"a": 1}}, "give a mapping with 'operations', 'loads' and 'stores'"), (7, "it is 7; give"),
    ({"operations": MUL}, "has no 'loads' and no 'stores'; add both"),
])
def test_a_declaration_that_does_not_fit_is_refused(given, message) -> None:
    with pytest.raises(CountError, match=message):
        declared(given)


@pytest.mark.parametrize(("given", "said"), [
    ({"loads": [1]}, "its loads are [1], not a mapping"),
    ({"operations": {("float32", "mul"): -1}}, "is declared -1 times"),
    ({"operations": {("float32", "mul"): True}}, "is declared True times"),
    ({"operations": {"float32": 1}}, "is not a type and kind"), ({"loads": {"a[i, 0]": 0.5}}, "is declared 0.5 times"),
    ({"loads": {"a[i, 0]": 10**9}}, "at most 10000 are allowed"),
    ({"loads": {"a[i, 0]]": 1}}, "Loopy cannot read the access"),
    ({"loads": {"x" * 100_000: 1}}, "Loopy cannot read the access"),
])  # fmt: skip
def test_what_cannot_be_declared_is_said(given, said) -> None:
    with pytest.raises(CountError) as caught:
        declared(given)
    assert said in str(caught.value)
