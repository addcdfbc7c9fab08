"""Distances between neighbouring lanes, worked out by hand."""

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count

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
