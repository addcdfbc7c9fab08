"""Naive matrix product: each work-item forms one inner product from global memory.

Stevens and Kloeckner, section 4.1.
"""

from __future__ import annotations

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder, WorkGroup, assume


def build(work_group: WorkGroup = (16, 16)) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        "{[i, j, k]: 0 <= i, j, k < n}",
        "c[i, j] = sum(k, a[i, k]*b[k, j])",
        [
            lp.GlobalArg("a, b, c", np.float32, shape="n, n"),
            lp.ValueArg("n", np.int32),
        ],
        assumptions=assume(n=work_group),
        name="matmul_naive",
        lang_version=(2018, 2),
    )
    t_unit = lp.split_iname(t_unit, "i", work_group[1], outer_tag="g.1", inner_tag="l.1")
    return lp.split_iname(t_unit, "j", work_group[0], outer_tag="g.0", inner_tag="l.0")


KERNEL = KernelClass(
    name="matmul_naive",
    group="matmul",
    build=build,
    sizes=Ladder(lambda e: ({"n": 2**e},), start=5),
    reference=lambda arguments, **_: {"c": arguments["a"] @ arguments["b"]},
    dimensions=2,
    tags=("paper",),
)
