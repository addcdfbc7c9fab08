"""Eight points of a stencil around a cell, tiled in many ways, of which half cannot be built or are too large."""

import loopy as lp
import numpy as np


def kernel(width, height, tile):
    t_unit = lp.make_kernel(
        "{[i, j]: 0 <= i, j < n}",
        """out[i+1, j+1] = (a[i, j] + a[i, j+1] + a[i, j+2] + a[i+1, j] + a[i+1, j+2] + a[i+2, j] + a[i+2, j+1]
                            + a[i+2, j+2]) / 8 - a[i+1, j+1]""",
        [lp.GlobalArg("a, out", np.float32, shape="n+2, n+2"), lp.ValueArg("n", np.int32)],
        assumptions="n >= 1 and n mod 128 = 0", lang_version=(2018, 2))
    t_unit = lp.split_iname(t_unit, "i", height, outer_tag="g.1", inner_tag="l.1")
    t_unit = lp.split_iname(t_unit, "j", width, outer_tag="g.0", inner_tag="l.0")
    if tile == "local":
        return lp.add_prefetch(t_unit, "a", ["i_inner", "j_inner"], default_tag="l.auto")
    if tile == "of b":  # which is no array
        return lp.add_prefetch(t_unit, "b", ["i_inner", "j_inner"], default_tag="l.auto")
    return t_unit


def space():
    return {"width": (16, 32, 128), "height": (2, 4, 128), "tile": ("none", "local", "of b")}
