"""The softmax of each row of a matrix, in five variants."""

import loopy as lp
import numpy as np

WHOLE = ["{[i]: 0 <= i < m}", "{[j, k, l]: 0 <= j, k, l < n}"]
LINES = """
for i
    <> top = max(j, a[i, j]) {id=top}
    <> total = sum(k, exp(a[i, k] - top)) {id=total, dep=top}
    out[i, l] = exp(a[i, l] - top) / total {id=out, dep=total}
end
"""
ARGUMENTS = [lp.GlobalArg("a, out", np.float32, shape="m, n"), lp.ValueArg("m, n", np.int32)]


def softmax(lines=LINES, arguments=ARGUMENTS):
    return lp.make_kernel(
        WHOLE, lines, arguments, assumptions="m >= 1 and n >= 1 and m mod 64 = 0 and n mod 64 = 0",
        lang_version=(2018, 2))


def an_item_a_row(width):
    return lp.split_iname(softmax(), "i", width, outer_tag="g.0", inner_tag="l.0")


def columns_first():
    """The matrix is stored by columns, so that neighbouring work-items read neighbouring cells."""
    arguments = [lp.GlobalArg("a, out", np.float32, shape="m, n", order="F"), lp.ValueArg("m, n", np.int32)]
    return lp.split_iname(softmax(arguments=arguments), "i", 64, outer_tag="g.0", inner_tag="l.0")


def a_group_a_row(width):
    t_unit = lp.tag_inames(softmax(), {"i": "g.0"})
    for iname in ("j", "k"):
        t_unit = lp.split_reduction_inward(
            lp.split_iname(t_unit, iname, width, inner_tag="l.0"), f"{iname}_outer")
    t_unit = lp.split_iname(t_unit, "l", width, inner_tag="l.0")
    return lp.set_temporary_address_space(t_unit, {"top", "total"}, "local")  # one work-item writes, all read


def variants():
    return {
        "item 16": an_item_a_row(16), "item 64": an_item_a_row(64), "columns": columns_first(),
        "group 16": a_group_a_row(16), "group 64": a_group_a_row(64),
    }
