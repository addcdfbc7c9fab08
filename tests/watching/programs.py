"""Programs with Loopy kernels that tests watch."""

import inspect

from tests.sparse import spmv

SPMV = '''
import os, signal, sys
import loopy as lp, numpy as np, pyopencl as cl, pyopencl.array as cla

context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)


@SPMV@

def two_launches():
    kernel = lp.make_kernel(
        "[n] -> { [i, j]: 0 <= i, j < n }",
        """
        halves[i] = x[i] / 2 {id=first}
        ... gbarrier {id=wait, dep=first}
        out[j] = halves[n - 1 - j] * halves[j] {dep=wait}
        """,
        [lp.GlobalArg("x, out", np.float64, shape="n"), lp.GlobalArg("halves", np.float64, shape="n"),
         lp.ValueArg("n", np.int32)],
        name="two_launches", assumptions="n >= 1", lang_version=(2018, 2))
    kernel = lp.split_iname(kernel, "i", 32, outer_tag="g.0", inner_tag="l.0")
    return lp.split_iname(kernel, "j", 32, outer_tag="g.0", inner_tag="l.0")


def matrix(n):
    random = np.random.default_rng(n)
    lengths = random.integers(0, 12, n)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    columns = random.integers(0, n, starts[-1]).astype(np.int32)
    return starts, columns, random.random(starts[-1])


def run(times, sizes=(1000, 4000)):
    product, pairs = spmv().executor(context), two_launches().executor(context)
    total = 0.0
    for n in sizes:
        starts, columns, values = (cla.to_device(queue, part) for part in matrix(n))
        x, y, halves = (cla.zeros(queue, n, np.float64) + 1 for _ in range(3))
        for _ in range(times):
            product(queue, starts=starts, columns=columns, values=values, x=x, y=y)
            pairs(queue, x=y, halves=halves, out=x)
            x = x / cla.max(x)
        total += float(x.get().sum())
    print(f"{total:.6f}")
'''.replace("@SPMV@", inspect.getsource(spmv))


def matrix(n: int):
    """The matrix of a run: starts of rows, columns and values."""
    names: dict[str, object] = {}
    exec(SPMV, names)
    return names["matrix"](n)
