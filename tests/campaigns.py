"""A small campaign: one class in two variants at three sizes, in a few runs."""

import loopy as lp

from perfmodel.kernels import KernelClass, Ladder
from perfmodel.measuring import Campaign, measure
from tests.corpus.kernel import make
from tests.machine import device

TINY = Campaign(
    "tiny", visits=1, most_visits=1, apart_s=0.0, runs=6, dropped=2, shapes=1, over_launch=0.0, groups_per_unit=1,
    longest_s=60.0, timeout_s=600.0,
)  # fmt: skip
"""No run is too long for it, also where others use the machine."""


def build(factor: int = 2, work_group=(64,)) -> lp.TranslationUnit:
    t_unit = make("{[i]: 0 <= i < n}", f"out[i] = {factor}*a[i]", "out, a: n", assumes="n >= 1 and n mod 64 = 0",
                  name="scale")  # fmt: skip
    return lp.split_iname(t_unit, "i", 64, outer_tag="g.0", inner_tag="l.0")


def reference(arguments, factor, **variant):
    return {"out": factor * arguments["a"]}


SCALE = KernelClass(
    name="scale", group="vector", build=build, variants=({"factor": 2}, {"factor": 3}),
    sizes=Ladder(lambda e: ({"n": 2**e},), start=8, rungs=3), reference=reference, tags=("overhead",),
)


def measured(tmp_path, *kernels, campaign=TINY, progress=None):
    return measure(kernels, device(), tmp_path, progress, campaign)
