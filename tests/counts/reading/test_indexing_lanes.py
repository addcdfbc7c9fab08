"""Distances between neighbouring lanes, worked out by hand."""

from __future__ import annotations

import islpy as isl
import loopy as lp
import numpy as np
import pymbolic.primitives as p
import pytest

from perfmodel.counts import count
from perfmodel.counts.program.program import Domain
from perfmodel.counts.reading.indexing import Lanes, Layout, quasi_polynomial

LANE, K, N = p.Variable("l"), p.Variable("k"), p.Variable("n")
DOMAIN = Domain(0, isl.Set("[n] -> { [l, k] : 0 <= l < 32 and 0 <= k < n }"), ("l.0", ""))
LANES = Lanes(DOMAIN, 32, ("n",))


def found(*indices, layout):
    return [(str(stride.distance), stride.along_unit_axis) for stride in LANES.strides(indices, Layout(layout))]


def test_neighbours_in_a_vector() -> None:
    assert [("{ 1 }", 1)] == found(LANE + K, layout=(1,))
    assert [("{ 3 }", 3)] == found(K - 3 * LANE, layout=(1,))  # the absolute value
    assert [("{ 0 }", 0)] == found(2 * K, layout=(1,))


def test_rows_of_a_matrix() -> None:
    # a[l, k] with rows of n cells: lanes are n cells apart, and not along the unit axis
    assert [("[n] -> { n }", None)] == found(LANE, K, layout=(N, 1))
    # a[l, l]: one row and one column further
    assert [("[n] -> { (1 + n) }", None)] == found(LANE, LANE, layout=(N, 1))


def test_lanes_that_share_a_cell() -> None:
    # l // 2: lanes 0, 2, 4, ... have their neighbour in the same cell, lanes 1, 3, ... one cell ahead
    strides = LANES.strides((p.FloorDiv(LANE, 2),), Layout((1,)))
    by_distance = {str(stride.distance): stride.within for stride in strides}
    assert {"{ 0 }", "{ 1 }"} == set(by_distance)
    lanes = {
        distance: sorted(
            k for k in range(32)
            if not where.intersect(isl.Set(f"[n] -> {{ [{k}, k] : 0 <= k < n }}")).is_empty()
        )
        for distance, where in by_distance.items()
    }
    # lane 31 is the last one: it takes the distance to lane 30, which is in its cell
    assert [*range(0, 32, 2), 31] == lanes["{ 0 }"]
    assert list(range(1, 31, 2)) == lanes["{ 1 }"]


def test_products_of_parameters() -> None:
    assert isl.PwQPolynomial("[m, n] -> { (3*m*n + 1) }").plain_is_equal(
        quasi_polynomial(3 * p.Variable("m") * N + 1, ("m", "n"))
    )


# {{{ scalars that all work-items of a group share

GATHER = """
for g, l, k
    <> box = {box} {{id=box}}
    acc = acc + a[{at}] {{id=add, dep=box}}
end
"""


def gather(box="list[g, k]", at="box, l", code=GATHER, domain="0 <= g < n and 0 <= l < 64 and 0 <= k < 5"):
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
    return lp.tag_inames(t_unit, "g:g.0, l:l.0")


def access_to_a(*arguments, **options):
    (row,) = (r for r in count(gather(*arguments, **options), subgroup_size=32).access_table if r.array == "a")
    return row


@pytest.mark.parametrize(("at", "stride"), [("box, k", 0), ("box, l", 1), ("box, 2*l + k", 2), ("box, 3*k + 1", 0)])
def test_lanes_share_the_box_and_its_place_alone_depends_on_data(at, stride):
    row = access_to_a(at=at)
    assert (False, stride) == (row.indirect, row.stride())
    assert 5 * 64 * 7 == row.count(n=7)
    assert (7 * 128, False) == (row.footprint(n=7), row.footprint.exact)  # any cell of a


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


# }}}
