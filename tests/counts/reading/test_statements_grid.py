"""Grids and groups, against the launch of OpenCL written by hand."""

import islpy as isl
import loopy as lp
import numpy as np
import pytest
from constantdict import constantdict

from perfmodel.counts import count
from perfmodel.counts.reading.domains import Domains
from perfmodel.counts.reading.schedule import schedule
from perfmodel.counts.reading.statements import grid_and_group
from perfmodel.errors import AssumptionError, CountError, PerfModelWarning, SizeError
from tests import oracle
from tests.corpus import kernels
from tests.corpus.kernel import make
from tests.oracle.compare import compare

VECTOR = "{ [i]: 0 <= i < n }", "out[i] = a[i]"


def grid_of(kernel):
    return grid_and_group(Domains(kernel, {}), constantdict(), frozenset(kernel.id_to_insn))


def test_a_group_whose_shape_depends_on_a_size_is_refused(scheduled) -> None:
    kernel = lp.tag_inames(scheduled(*VECTOR), {"i": "l.0"})
    with pytest.raises(CountError, match=r"-p n=4 or pm.count\(..., sizes={'n': 4}\)") as raised:
        grid_of(kernel)
    assert ("n",) == raised.value.sizes
    assert ((), (12,)) == grid_of(lp.assume(kernel, "n = 12"))


def rows_of(extent: str) -> lp.TranslationUnit:
    """A group for each row of an n x m array, with a work-item for each of the first cells."""
    kernel = make(f"[n, m, k] -> {{ [row, i]: 0 <= row < n and 0 <= i < {extent} }}",
                  "out[row, i] = 2*a[row, i] + a[row, 0]", "a, out: n, m + k", assumes="k >= 0")  # fmt: skip
    return lp.tag_inames(kernel, {"row": "g.0", "i": "l.0"})


@pytest.mark.parametrize(("extent", "lanes", "fixed"), [
    ("m", 6, "m = 6"), ("m + k", 9, "k = 3, m = 6"), ("floor((m + 7)/8)", 1, "m = 6"),
])  # fmt: skip
def test_sizes_that_the_shape_of_a_group_depends_on_are_fixed(extent, lanes, fixed) -> None:
    """Against the execution of the generated code. The other sizes stay free."""
    unit, at = rows_of(extent), {"n": 7, "m": 6, "k": 3}
    with pytest.warns(PerfModelWarning, match=f"these counts hold for {fixed} only"):
        counts = count(unit, subgroup_size=4, sizes={**at, "n": [7, 8, 9], "m": [6, 6]}, cache=False)
    assert (lanes,) == counts.launch.group_shape
    assert [] == compare(oracle.execute(unit, at, 4), counts, at)
    assert 9 * lanes == counts.operations(kind="mul")(**{**at, "n": 9})
    with pytest.raises(AssumptionError):
        counts.work_groups()(**{**at, "m": 20})


@pytest.mark.parametrize("sizes", [{}, {"n": 7, "k": 3}, {"n": 7, "k": 3, "m": [5, 6]}])
def test_the_shape_of_a_group_needs_one_value_of_a_size(sizes) -> None:
    with pytest.raises(CountError, match=r"depends on a size: .*; give one value of the size, as in -p m=4 or"):
        count(rows_of("m"), sizes=sizes)
    with pytest.raises(SizeError, match=r"'m' is 2\.5"):
        count(rows_of("m"), sizes={"m": 2.5})


def test_parameters_of_a_grid_are_sorted() -> None:
    """Loopy's own search for static bounds gives them in an order that depends on Python's hash seed."""
    (guarded,) = (kernel for kernel in kernels() if kernel.name == "different_guards")
    (extent,), _ = grid_of(schedule(guarded.build()).default_entrypoint)
    assert ["m", "n"] == list(extent.get_var_names(isl.dim_type.param))


SIZES = {"n": 37, "k": 5}


@pytest.mark.parametrize(("domains", "code", "tags"), [
    (["{ [i]: 1 <= i < 17 }", "{ [j]: 0 <= j < 16 }"], ["b[i] = 2*a[i]", "c[j] = 3*a[j]"], "i:l.0, j:l.0"),
    (["{ [i]: 3 <= i < 35 }"], ["out[i] = 2*a[i]"], "i:l.0"),
    (["{ [i]: k <= i < n }"], ["out[i] = 2*a[i] + 1.5*i"], "i:g.0"),
    (["{ [i, j]: k <= i < n and 2 <= j < 12 }"], ["out[i + j] = a[i]*j + (2.5 + j)"], "i:g.0, j:l.0"),
    (["{ [i]: 1 <= i < 13 }", "[i] -> { [j]: i <= j < n }"], ["out[i] = sum(j, 2*a[j])"], "i:l.0"),
    (["{ [i, j]: 0 <= i < 16 and 0 <= j < 8 and i >= j + 4 }"], ["out[i + 16*j] = 2*a[j]"], "i:l.0, j:l.1"),
    (["{ [i, j]: 0 <= i < n and k <= j < k + 16 }"], ["out[i + j] = 2*a[j]"], "i:g.0, j:l.0"),
])  # fmt: skip
def test_ids_of_inames_that_do_not_begin_at_0(domains, code, tags) -> None:
    """Against the execution of the generated code, which adds the first value to the id."""
    unit = lp.make_kernel(
        [domain.replace("[i] ->", "[i, n, k] ->") if "->" in domain else f"[n, k] -> {domain}" for domain in domains],
        code, [lp.GlobalArg("a, b, c, out", np.float32, shape="n + k + 200"), lp.ValueArg("n, k", np.int32)],
        assumptions="n >= 13 and n >= k and k >= 0", lang_version=(2018, 2), seq_dependencies=True,
    )
    unit = lp.tag_inames(unit, tags)
    counts = count(unit, subgroup_size=8, cache=False)
    assert counts.idle_lanes().exact
    assert [] == compare(oracle.execute(unit, SIZES, 8), counts, SIZES)


@pytest.mark.parametrize("k", [1, 5, 8])
def test_a_first_lane_with_a_floor(k) -> None:
    """Lanes 0 .. 23 are i = k//2 .. k//2 + 23: three sub-groups of 8, each with an i whose remainder is below 3."""
    kernel = make("{ [i]: floor(k/2) <= i < floor(k/2) + 24 }", "out[i] = 2*a[i] {if=i%8<3}", "a, out: k + 80",
                  assumes="k >= 1")  # fmt: skip
    kernel = lp.tag_inames(kernel, "i:l.0")
    counts = count(kernel, subgroup_size=8, cache=False)
    assert 3 == counts.accesses(array="a", granularity="subgroup")(k=k)
    executed = oracle.execute(kernel, {"k": k}, 8)
    assert [] == compare(executed, counts, {"k": k}, sections=("operations", "launch", "idle", "accesses", "footprint"))
