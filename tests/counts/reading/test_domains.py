"""Domains of executed instances, against sets written by hand."""

import islpy as isl
import loopy as lp
import numpy as np
import pymbolic.primitives as p
import pytest
from loopy.diagnostic import ExpressionToAffineConversionError

from perfmodel.counts import count
from perfmodel.counts.reading.domains import Domains, affine_form, pw_aff
from perfmodel.errors import StatisticsNeededError
from tests import oracle
from tests.corpus.kernel import make
from tests.oracle.compare import compare

ROW, N = p.Variable("i"), p.Variable("n")
@pytest.mark.parametrize("test", ["0.5*i < 1", "i/2 < 1", "i < 3 and 0.5*i < 1", "i < 2.5"])
def test_a_fraction_in_a_test_makes_a_bound(test: str) -> None:
    """Against the execution: Loopy's own set of 0.5*i < 1 is that of 0*i < 1."""
    arguments = [lp.GlobalArg("a, out", np.float32, shape="n"), lp.ValueArg("n", np.int32)]
    unit = make("{ [i]: 0 <= i < n }", f"out[i] = a[i] if {test} else 2*a[i]", arguments)
    counts = count(unit, cache=False)
    assert [] == compare(oracle.execute(unit, {"n": 21}), counts, {"n": 21})
    assert not counts.operations("float32", "mul").exact


def test_an_offset_that_nothing_else_names_is_in_no_set() -> None:
    """Each argument's offset is in no set; one that an index, a test, a shape or a stride names too stays."""
    names = "abcdef"
    unit = make("{ [i]: 0 <= i < n }", "out[i] = a[i] + b[i + b_at] + (c[i] if i < c_at else d[i]) + e[i] + f[i, 0]",
                [*(lp.GlobalArg(name, np.float32, shape=None, strides=(1,), offset=f"{name}_at") for name in "abcd"),
                 lp.GlobalArg("e", np.float32, shape=(lp.symbolic.parse("n + e_at"),), offset="e_at"),
                 lp.GlobalArg("f", np.float32, strides=(lp.symbolic.parse("f_at"), 1), shape=None, offset="f_at"),
                 lp.GlobalArg("out", np.float32, shape=("n",)), lp.ValueArg("n", np.int32),
                 *(lp.ValueArg(f"{name}_at", np.int32) for name in names)],
                assumes=isl.BasicSet("[n, d_at] -> { : n >= 1 and d_at >= 2 }"))  # fmt: skip
    domains = Domains(lp.linearize(lp.preprocess_program(unit)).default_entrypoint, {})
    kept = ["b_at", "c_at", "d_at", "e_at", "f_at", "n"]
    assert kept == domains.domain(0, ["i"]).points.get_var_names(isl.dim_type.param)
    assert tuple(kept) == domains.parameters


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 2, 1, 3)])
def test_a_loop_whose_bound_stands_anywhere_before_it_is_counted(order) -> None:
    """Where another domain stands between, Loopy does not find that of the loop that bounds a loop."""
    domains = ["{[i]: 0 <= i < n}", "{[s]: 0 <= s < 5}", "{[q]: 0 <= q < 3}", "[s] -> {[t]: 0 <= t <= s}"]
    unit = make([domains[k] for k in order], """
        for i
            <> x = 0.0f
            for s, t
                x = x + a[i]
            end
            for q
                x = x*a[i]
            end
            out[i] = x
        end
        """, "a, out: n", assumes="n >= 1", seq_dependencies=True)  # fmt: skip
    counts = count(unit, cache=False)
    assert (15 * 7, 3 * 7) == tuple(counts.operations("float32", kind)(n=7) for kind in ("add", "mul"))


def bounded_by_scalars(low: object, high: object, types: str = "int64", more: str = "") -> lp.TranslationUnit:
    """A reduction whose loop's bounds are scalars that instructions write, as Pytato writes them."""
    unit = make(["{ [i] : 0 <= i < n }", "[low, high] -> { [j] : low <= j < high }"],
                [f"low = {low} {{id=bound1, inames=i}}", f"high = {high} {{id=bound2, inames=i{more}}}",
                 "out[i] = sum(j, a[i, j]) {id=sum, dep=bound*, inames=i}"],
                [lp.GlobalArg("out", "float32", shape="n"), lp.GlobalArg("a", "float32", shape="n, 8"),
                 lp.GlobalArg("size", "int32", shape="n"), lp.ValueArg("n", "int32"),
                 *(lp.TemporaryVariable(name, types, shape=()) for name in ("low", "high"))], assumes="n >= 1",
                seq_dependencies=True)  # fmt: skip
    return lp.split_iname(unit, "i", 4, outer_tag="g.0", inner_tag="l.0")


@pytest.mark.parametrize("types", ["int32", "int64"])
@pytest.mark.parametrize(("low", "high"), [(0, 6), (2, 8), (3, 3), (5, 6)])
def test_a_loop_between_scalars_that_are_written_once_by_a_number_is_exact(low, high, types):
    unit = bounded_by_scalars(low, high, types)
    counts = count(unit, subgroup_size=4, cache=False)
    for n in (4, 7):
        assert n * (high - low) == counts.accesses(array="a")(n=n)
        assert () == tuple(compare(oracle.execute(unit, {"n": n}, 4), counts, {"n": n}))
    assert counts.accesses(array="a").exact


@pytest.mark.parametrize(("high", "more"), [("size[i]", ""), (5, ", if=size[i] > 2")])
def test_a_loop_between_other_scalars_depends_on_data(high, more):
    with pytest.raises(StatisticsNeededError, match="'j'"):
        count(bounded_by_scalars(0, high, more=more), subgroup_size=4, cache=False)


ROW, J, N = p.Variable("i"), p.Variable("j"), p.Variable("n")
SPACE = isl.Set("[n] -> { [i, j] }").get_space()


def test_coefficients_are_collected() -> None:
    # 3*(i + 2*j) - j + 4 = 3*i + 5*j + 4
    assert {"i": 3, "j": 5, "": 4} == affine_form(3 * (ROW + 2 * J) - J + 4)


@pytest.mark.parametrize("expr", [ROW * J, ROW * N, ROW // 2, ROW % 2, p.Subscript(p.Variable("a"), (ROW,)), 0.5])
def test_what_is_not_affine_with_integers_has_no_form(expr: object) -> None:
    assert affine_form(expr) is None


def test_a_product_of_inames_is_refused() -> None:
    with pytest.raises(ExpressionToAffineConversionError):
        pw_aff(SPACE, ROW * J)
