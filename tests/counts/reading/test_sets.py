"""Sets and functions of either Loopy become islpy's: by stand-ins of namedisl's, and by kernels of the Loopy here."""

from types import SimpleNamespace
from typing import Any

import islpy as isl
import loopy as lp
import pytest

from perfmodel.counts import count
from perfmodel.counts.reading import sets
from perfmodel.libraries import MAIN, installed
from tests.corpus.kernel import make

SET, PARAM = isl.dim_type.set, isl.dim_type.param


def named(thing: Any) -> Any:
    """An object that gives islpy's, as those of namedisl do."""
    return SimpleNamespace(as_isl=lambda: thing)


def kernel_with(domain: str, *names: str) -> Any:
    return SimpleNamespace(
        domains=[named(isl.Set(domain))], assumptions=named(isl.Set(domain).params().from_params()),
        all_variable_names=lambda: {*names}, get_inames_domain=lambda inames: named(isl.Set(domain)),
    )


@pytest.mark.parametrize("text", ["[n] -> { [i] : 0 <= i < n }", "[n] -> { [i] : 0 <= i < n or i = 2n }"])
def test_sets_stay_what_they_are(text):
    assert isl.Set(text).is_equal(sets.plain(named(isl.Set(text))))
    pieces = isl.Set(text).get_basic_sets()
    assert len(pieces) > 1 or isl.Set(text).is_equal(sets.plain(pieces[0]))


@pytest.mark.parametrize(("names", "parameters"), [(("i",), []), (("i", "n"), ["n"])])
def test_a_size_that_was_fixed_is_no_parameter_any_more(names, parameters):
    kernel = kernel_with("[n] -> { [i] : 0 <= i < n and n = 5 }", *names)
    for points in (*sets.domains(kernel), sets.inames_domain(kernel, ["i"]), sets.assumptions(kernel)):
        assert parameters == points.get_var_names(PARAM)
    (domain,) = sets.domains(kernel)
    assert 5 == domain.dim_max_val(0).to_python() + 1


def test_a_fixed_size_counts_like_a_number():
    unit = make("{ [i, j] : 0 <= i < n and 0 <= j < m }", "out[i, j] = 2.0*a[i, j]", assumes="n >= 1 and m >= 4")
    unit = lp.add_dtypes(unit, {"a": "float32"})
    unit = lp.split_iname(lp.fix_parameters(unit, m=12), "i", 16, outer_tag="g.0", inner_tag="l.0")
    counts = count(unit, subgroup_size=32)
    assert ("n",) == counts.parameters
    assert 12 * 37 == counts.operations(kind="mul")(n=37)


@pytest.mark.skipif(not installed("loopy").endswith(MAIN), reason="domains of the released Loopy are of one piece")
@pytest.mark.parametrize(("domain", "points"), [
    ("0 <= i < n or 2n <= i < 2n + 5", lambda n: n + 5),
    ("0 <= i < n and (i mod 3 = 0 or i mod 5 = 0)", lambda n: sum(i % 3 == 0 or i % 5 == 0 for i in range(n))),
])  # fmt: skip
def test_a_loop_over_a_union(domain, points):
    unit = make(f"[n] -> {{ [i] : {domain} }}", "out[i] = 2.0*a[i]", "a, out: 3*n + 5", assumes="n >= 1")
    operations = count(unit, subgroup_size=1).operations(kind="mul")
    for n in (1, 7, 31):
        assert points(n) == operations(n=n)
