"""A space of kernels whose predicted times are known by hand, for the tests of hooks.

The n work-items of ``build(group, terms)`` add `terms` numbers each, in groups of `group`; the model prices an addition
at 1e-12 s and nothing else: n*terms*1e-12 s.
"""

import loopy as lp

from tests.corpus.kernel import make
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
    t_unit = make("{[i]: 0 <= i < n}", f"out[i] = a[i]{' + a[i]' * terms}", "out, a: n; int32 n",
                  assumes="n >= 1 and n mod 64 = 0", name="summed")  # fmt: skip
    return lp.split_iname(t_unit, "i", group, outer_tag="g.0", inner_tag="l.0")
