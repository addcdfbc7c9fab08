"""Accesses as isl maps, against cells and strides worked out by hand."""

import islpy as isl
import loopy as lp
import numpy as np
import pymbolic.primitives as p
import pytest

from perfmodel.counts import count
from perfmodel.counts.reading.domains import Domains
from perfmodel.counts.reading.indexing import Indexing
from perfmodel.counts.reading.values import AccessEvent
from perfmodel.libraries import with_main

ROW, J, N = p.Variable("i"), p.Variable("j"), p.Variable("n")
SQUARE = "{ [i, j]: 0 <= i, j < n }", "out[i, j] = a[i, j]"


def access_of(kernel, array, *indices, direction="load"):
    domains = Domains(kernel, {})
    domain = domains.domain(0, {"i", "j"})
    return Indexing(kernel, domains).access(AccessEvent(array, indices, direction, ()), domain, 1), domain


def test_a_flat_index_is_two_axes_where_its_range_fits(scheduled) -> None:
    # a[n*i + j] with 0 <= j < n: row i, column j
    kernel = scheduled(
        "{ [i, j]: 0 <= i, j < n }", "out[i, j] = a[n*i + j]", lp.GlobalArg("a", np.float32, shape=("n*n",))
    )
    access, domain = access_of(kernel, "a", N * ROW + J)
    assert access.cells_exact
    assert ["[n] -> { n }", "{ 1 }"] == [str(stride) for stride in access.strides]
    assert access.cells.intersect_domain(domain.points).is_equal(
        isl.Map("[n] -> { [i, j] -> [i, j] : n >= 1 and 0 <= i < n and 0 <= j < n }")
    )


def test_a_flat_index_that_overlaps_the_next_row_is_not_exact(scheduled) -> None:
    # a[n*i + 2*j]: 2*j reaches 2*n - 2, so that two (i, j) may be one cell
    kernel = scheduled(
        "{ [i, j]: 0 <= i, j < n }", "out[i, j] = a[n*i + 2*j]", lp.GlobalArg("a", np.float32, shape=("n*n + n",))
    )
    access, _ = access_of(kernel, "a", N * ROW + 2 * J)
    assert not access.cells_exact


def test_a_flat_index_that_runs_backwards_is_two_axes(scheduled) -> None:
    # n*i + n - 1 - j: row i, column n - 1 - j; and n*i - 1 - j: row i - 1, the same column
    kernel = scheduled(
        "{ [i, j]: 0 <= i, j < n }", "out[i, j] = a[n*i + n - 1 - j]", lp.GlobalArg("a", np.float32, shape=("n*n",))
    )
    for constant, row in ((N - 1, "i"), (-1, "i - 1")):
        access, domain = access_of(kernel, "a", N * ROW + constant - J)
        assert access.cells_exact
        assert access.cells.intersect_domain(domain.points).is_equal(
            isl.Map(f"[n] -> {{ [i, j] -> [{row}, n - 1 - j] : n >= 1 and 0 <= i < n and 0 <= j < n }}")
        )


@pytest.mark.xfail(with_main(), reason="Loopy's main branch fails at a shape of None")
def test_an_extent_that_is_left_open() -> None:
    # the cells k to n - 1 are loaded and stored; the array's shape is not known
    arguments = [lp.GlobalArg("a", np.int32, shape=(None,)), lp.ValueArg("k, n", np.int32)]
    unit = lp.make_kernel("{ [i]: k <= i < n }", "a[i] = a[i] + 1", arguments, lang_version=(2018, 2))
    counts = count(unit, cache=False)
    assert (68, 34) == (counts.accesses()(k=3, n=37), counts.footprint("a")(k=3, n=37))
    assert counts.footprint("a").exact


def test_separate_arrays_whose_offsets_the_caller_gives(scheduled) -> None:
    # a_s0[i + a_s0_offset] + a_s1[i + a_s1_offset]: two rows of n cells
    kernel = scheduled(
        "{ [i, j]: 0 <= i, j < n }", "out[i] = a[0, i] + a[1, i] + j",
        lp.GlobalArg("a", np.float64, shape="2, n", dim_tags="sep,C", offset=lp.auto),
    )
    access, _ = access_of(kernel, "a", 1, ROW)
    assert ("float64", 1, "{ 0 }") == (access.dtype, access.unit_axis, str(access.offset))
    assert [f"{{ {2**40} }}", "{ 1 }"] == [str(stride) for stride in access.strides]  # no line holds cells of both


GATHER = """
for g, l, k
    <> box = {box} {{id=box}}
    acc = acc + a[{at}] {{id=add, dep=box}}
end
"""


def gather(box="list[g, k]", at="box, l", code=GATHER, domain="0 <= g < n and 0 <= l < 64 and 0 <= k < 5", **tags):
    t_unit = lp.make_kernel(
        f"{{[g, l, k]: {domain}}}",
        "for g, l\n<> acc = 0.0f {id=zero}\nend\n" + code.format(box=box, at=at).replace("dep=box", "dep=box:zero")
        + "for g, l\nout[g, l] = acc {dep=add}\nend",
        [
            lp.GlobalArg("a", np.float32, shape="n, 128"), lp.GlobalArg("list", np.int32, shape="n, 64"),
            lp.GlobalArg("out", np.float32, shape="n, 64"), lp.ValueArg("n", np.int32),
        ],
        assumptions="n >= 1", lang_version=(2018, 2),
    )  # fmt: skip
    return lp.tag_inames(t_unit, tags or {"g": "g.0", "l": "l.0"})


def access_to_a(*arguments, **options):
    (row,) = (r for r in count(gather(*arguments, **options), subgroup_size=32).access_table if r.array == "a")
    return row


@pytest.mark.parametrize(("at", "stride"), [("box, k", 0), ("box, l", 1), ("box, 2*l + k", 2), ("box, 3*k + 1", 0)])
def test_lanes_share_the_box_and_its_place_alone_depends_on_data(at, stride):
    row = access_to_a(at=at)
    assert (False, stride) == (row.indirect, row.stride())
    assert 5 * 64 * 7 == row.count(n=7)
    assert (7 * 128, False) == (row.footprint(n=7), row.footprint.exact)  # any cell of a


def test_each_row_of_a_group_has_a_box_of_its_own():
    unit = lp.split_iname(gather(l="l.0"), "g", 4, outer_tag="g.0", inner_tag="l.1")
    assert [1] == [row.stride() for row in count(unit, subgroup_size=32).access_table if row.array == "a"]


@pytest.mark.parametrize("box", ["list[g, l]", "list[g, k] + l", "list[g, k] % (l + 1)"])
def test_a_box_of_each_lane_is_indirect(box):
    assert access_to_a(box).indirect


INLINE = "for g, l, k\n    acc = acc + a[{at}] {{id=add, dep=zero}}\nend\n"


@pytest.mark.parametrize(("at", "stride"), [
    ("list[g, k], l", 1), ("list[g, k], k", 0), ("list[g, k + 1] + k, 2*l + k", 2), ("list[g, list[g, k]], l", 1),
])  # fmt: skip
def test_the_index_of_a_box_needs_no_scalar(at, stride):
    row = access_to_a(at=at, code=INLINE)
    assert (False, stride) == (row.indirect, row.stride())


@pytest.mark.parametrize("at", ["list[g, l], k", "list[g, k]*l, k", "list[g, k] // 2, l", "g, list[g, l]"])
def test_an_index_of_each_lane_is_indirect_without_a_scalar_too(at):
    assert access_to_a(at=at, code=INLINE).indirect


def test_an_index_from_an_array_that_the_kernel_writes_is_indirect():
    code = INLINE.replace("acc =", "list[g, l] = l {{id=new, nosync=add}}\nacc =")
    code = code.replace("dep=zero", "nosync=new, dep=zero")
    assert access_to_a(at="list[g, k], l", code=code).indirect


def test_what_is_made_of_shared_scalars_is_shared():
    code = GATHER.replace(
        "<> box = {box} {{id=box}}", "<> one = list[g, k] {{id=one}}\n<> box = one + k {{id=box,dep=one}}"
    )
    assert not access_to_a(code=code).indirect
    assert access_to_a(code=code.replace("one + k", "one + l")).indirect


def test_outside_of_the_loop_that_writes_it_a_scalar_may_differ():
    # lane l leaves the loop over k after l + 1 turns, with list[g, l]
    code = GATHER.replace("acc =", "end\nfor g, l\nacc =")
    assert access_to_a(code=code, domain="0 <= g < n and 0 <= l < 64 and 0 <= k <= l").indirect


def test_a_write_under_a_condition_is_not_shared():
    code = GATHER.replace("{{id=box}}", "{{id=box, if=l > 3}}")
    assert access_to_a(code=code).indirect
