"""A space of kernels whose predicted times are known by hand, for the tests of hooks.

The n work-items of ``build(group, terms)`` add `terms` numbers each, in groups of `group`; the model prices an addition
at 1e-12 s and nothing else: n*terms*1e-12 s.
"""

import loopy as lp
import numpy as np

from tests.priced import MODEL

SPACE = {"group": (64, 32), "terms": (4, 1, 2)}
SIZES = {"n": 4096}
FILE = """
from tests.hooks.spaces import build as made


def build(group, terms=1):
    return made(group, terms)
"""
__all__ = ["FILE", "MODEL", "SIZES", "SPACE", "build"]


def build(group: int, terms: int = 1) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        "{[i]: 0 <= i < n}",
        f"out[i] = a[i]{' + a[i]' * terms}",
        [lp.GlobalArg("out, a", np.float32, shape="n"), lp.ValueArg("n", np.int32)],
        assumptions="n >= 1 and n mod 64 = 0",
        lang_version=(2018, 2),
        name="summed",
    )
    return lp.split_iname(t_unit, "i", group, outer_tag="g.0", inner_tag="l.0")
