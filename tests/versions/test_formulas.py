"""Changed formulas of kernels, and what is equal: formulas as functions, whatever their text and names."""

from dataclasses import replace

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import Count, KernelCounts, count
from perfmodel.errors import DocumentError
from perfmodel.versions import Formulas
from perfmodel.versions.formulas import Change, paired
from tests.corpus.kernel import make

ASSUMED = "n >= 32 and n mod 32 = 0"


def unit(text: str, dtype: type = np.float32, width: int = 32, assumed: str = ASSUMED) -> lp.TranslationUnit:
    """A kernel over a matrix with one row for each group axis and neighbouring work-items in a row."""
    made = make(f"{{[i, j{', k' if 'k' in text else ''}]: 0 <= i, j < n{' and 0 <= k < 8' if 'k' in text else ''}}}",
                text, "a, out: n, n; b: 8", dtype=dtype, assumes=assumed)  # fmt: skip
    made = lp.tag_inames(made, {"i": "g.1"})
    return lp.split_iname(made, "j", width, outer_tag="g.0", inner_tag="l.0")


def changed(old: lp.TranslationUnit, new: lp.TranslationUnit) -> set[str]:
    return set(map(str, Formulas.of(count(old)).changes(Formulas.of(count(new)))))


SUM = "out[i, j] = sum(k, b[k]*a[i, j])"


def prefetched() -> lp.TranslationUnit:
    return lp.add_prefetch(unit(SUM), "b", ["k"], fetch_outer_inames="i,j_outer", default_tag="l.auto")


@pytest.mark.parametrize(("old", "new"), [
    (SUM, "out[i, j] = sum(k, a[i, j]*b[k])"),
    ("out[i, j] = a[i, j] + b[0]", "out[i, j] = b[2 - 2] + a[0 + i, j + i - i]"),
    ("<> x = a[i, j] {id=x}\n<> y = b[0] {id=y}\nout[i, j] = x + y {dep=x:y}",
     "<> other = b[0] {id=p}\n<> x = a[i, j] {id=q}\nout[i, j] = x + other {dep=p:q}"),
], ids=["product", "index", "order and names"])  # fmt: skip
def test_harmless_changes_leave_equal_formulas(old: str, new: str) -> None:
    assert set() == changed(unit(old), unit(new))


def test_another_name_of_an_iname_is_no_change() -> None:
    assert set() == changed(unit(SUM), lp.rename_iname(unit(SUM), "k", "column"))


def test_another_name_of_a_temporary_is_no_change() -> None:
    old = Formulas.of(count(prefetched()))
    assert () == old.changes(Formulas.from_text(old.text.replace("b_fetch", "tile")))


def test_another_name_of_an_argument_is_said() -> None:
    old = Formulas.of(count(unit(SUM)))
    new = Formulas.from_text(old.text.replace("| a |", "| matrix |"))
    assert ["name of an argument: a -> matrix"] == list(map(str, old.changes(new)))


def test_a_lost_prefetch() -> None:
    """Each of n^2/32 groups fetched 8 cells, and n^2 work-items now load 8 cells each."""
    assert {
        "local memory: 32 B -> 0 B", "barriers, summed over work-items: n^2 -> 0",
        "loads of b: 1/4*n^2 with lane stride 1 -> 8*n^2 with lane stride 0",
        "loads of b_fetch (local): 8*n^2 -> 0", "stores to b_fetch (local): 1/4*n^2 -> 0",
    } == changed(prefetched(), unit(SUM))  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), [
    ("out[i, j] = a[j, i] + b[0]", {"lane stride of loads of a: 1 -> n"}),
    ("out[j, i] = a[i, j] + b[0]", {"lane stride of stores to out: 1 -> n"}),
    ("out[i, j] = a[i, j] + a[i, 0] + b[0]",
     {"float32 add: n^2 -> 2*n^2", "loads of a with lane stride 0: 0 -> n^2"}),
    ("out[i, j] = a[i, j] / b[0]", {"float32 add: n^2 -> 0", "float32 div: 0 -> n^2"}),
    ("out[i, j] = a[0, j] + b[0]", {"distinct cells of a that are loaded: n^2 -> n"}),
], ids=["strided load", "strided store", "added load", "division", "fewer cells"])  # fmt: skip
def test_slower_code_changes_formulas(text: str, expected: set[str]) -> None:
    found = changed(unit("out[i, j] = a[i, j] + b[0]"), unit(text))
    assert expected <= found


def test_another_type() -> None:
    assert {
        "type of add operations: float32 -> float64", "type of a: float32 -> float64", "type of b: float32 -> float64",
        "type of out: float32 -> float64",
    } == changed(unit("out[i, j] = a[i, j] + b[0]"), unit("out[i, j] = a[i, j] + b[0]", np.float64))  # fmt: skip


def test_another_layout_of_an_array_without_lanes() -> None:
    """One work-item computes everything, so that no lane stride shows the layout of a, or the longer rows of out."""
    def sequential(axes: str, row: str) -> lp.TranslationUnit:
        a = lp.GlobalArg("a", np.float32, shape="n, n", dim_tags=axes)
        out = lp.GlobalArg("out", np.float32, shape=f"n, {row}")
        return lp.make_kernel("{[i, j]: 0 <= i, j < n}", "out[i, j] = 2*a[i, j]", [a, out, ...], assumptions=ASSUMED,
                              lang_version=(2018, 2))  # fmt: skip

    assert {
        "distance of neighbours along axis 0 of a: n -> 1", "distance of neighbours along axis 1 of a: 1 -> n",
        "distance of neighbours along axis 0 of out: n -> n + 2",
    } == changed(sequential("N1,N0", "n"), sequential("N0,N1", "n + 2"))  # fmt: skip


def test_smaller_groups() -> None:
    assert {"group size: 32 -> 16", "work-groups: 1/32*n^2 -> 1/16*n^2"} == changed(unit(SUM), unit(SUM, width=16))


@pytest.mark.parametrize(("assumed", "expected"), [("n >= 1 and n mod 32 = 0", 0), ("n >= 64 and n mod 32 = 0", 1)])
def test_assumptions_are_compared_as_sets(assumed: str, expected: int) -> None:
    found = changed(unit(SUM), unit(SUM, assumed=assumed))
    assert expected == len(found)
    assert all(change.startswith("assumed sizes: ") for change in found)


def test_formulas_are_read_from_their_text() -> None:
    found = Formulas.of(count(prefetched()))
    again = Formulas.from_text(found.text)
    assert (found.text, ()) == (again.text, found.changes(again))
    assert () == again.changes(found)


def test_a_bound_and_a_count_without_formula_are_read_from_their_text() -> None:
    found = Formulas.of(count(unit(SUM)))
    bound = replace(found.rows[0], count=Count.from_text("[n] -> { n }", "[n] -> { : n > 0 }", exact=False))
    again = Formulas.from_text(replace(found, rows=(bound,)).text)
    assert not again.rows[0].count.exact


@pytest.mark.parametrize("text", ["", "hello", "# counts of k\nsizes: n\n", "cut"])
def test_damaged_texts(text: str) -> None:
    whole = Formulas.of(count(unit(SUM))).text
    with pytest.raises(DocumentError):
        Formulas.from_text(whole[: len(whole) // 2 + 3] if text == "cut" else text)


def test_kernels_are_paired_by_name_then_by_similarity() -> None:
    one, other = (Formulas.of(count(unit(text))) for text in (SUM, "out[i, j] = a[j, i]"))
    assert {"a": "a", "new": "b"} == paired({"a": one, "b": other}, {"a": other, "new": other})
    assert {"a": "a"} == paired({"a": one, "b": one}, {"a": one, "far": other})
    assert {"y": "x"} == paired({"x": one}, {"y": other})


def test_a_long_formula_is_shown_without_its_middle() -> None:
    long, other = " + ".join(f"{k}*n" for k in range(100)), " + ".join(f"{k}*n" for k in range(1, 100))
    text = str(Change("loads of u", "n^2", long))
    assert text.startswith("loads of u: n^2 -> 0*n + 1*n + ")
    assert text.endswith(" + 99*n")
    assert "..." in text
    assert len(text) < 200
    same = str(Change("loads of u", f"{long} + n + {long}", f"{long} + m + {long}"))
    assert "+ n +" in same  # what differs is in the middle
    assert "+ m +" in same
    assert str(Change("loads of u", other, long)) != str(Change("loads of u", long, other))


def test_saved_counts_have_equal_formulas() -> None:
    counts = count(prefetched())
    assert () == Formulas.of(counts).changes(Formulas.of(KernelCounts.from_json(counts.to_json())))


def test_numbered_kernels_of_recordings_are_paired_by_similarity() -> None:
    one, other = (Formulas.of(count(unit(text))) for text in (SUM, "out[i, j] = a[j, i]"))
    assert {"k": "k #2", "k #2": "k"} == paired({"k": one, "k #2": other}, {"k": other, "k #2": one})
    assert {"k": "k", "k #2": "k #2"} == paired({"k": one, "k #2": other}, {"k": one, "k #2": other})
