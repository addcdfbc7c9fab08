"""A sparse matrix in CSR times a vector: a work-item for each row, in groups of two sizes."""

import loopy as lp
import numpy as np

MEAN, BAND = 12.5, 1000


def product(width):
    t_unit = lp.make_kernel(
        ["{[i]: 0 <= i < n}", "{[j]: start <= j < stop}"],
        """
        for i
            <> start = row[i]
            <> stop = row[i+1]
            y[i] = sum(j, a[j]*x[column[j]])
        end
        """,
        [
            lp.GlobalArg("row", np.int32, shape="n+1"), lp.GlobalArg("column", np.int32, shape="nnz"),
            lp.GlobalArg("a", np.float32, shape="nnz"), lp.GlobalArg("x, y", np.float32, shape="n"),
            lp.ValueArg("n, nnz", np.int32),
        ],
        assumptions="n >= 1 and n mod 64 = 0", lang_version=(2018, 2))
    return lp.split_iname(t_unit, "i", width, outer_tag="g.0", inner_tag="l.0")


def variants():
    return {f"rows {width}": product(width) for width in (16, 64)}


def arguments(n, nnz):
    random = np.random.default_rng(0)
    row = np.linspace(0, nnz, n + 1).astype(np.int32)
    near = np.repeat(np.arange(n), np.diff(row)) + random.integers(-BAND // 2, BAND // 2, nnz)
    return {"row": row, "column": np.clip(near, 0, n - 1).astype(np.int32)}
