"""The product of a sparse matrix in CSR and a vector, for tests of kernels whose loops and indices depend on data."""

import loopy as lp
import numpy as np


def spmv(name="spmv", group=16, kind="float64"):
    kernel = lp.make_kernel(
        ["[n] -> { [i]: 0 <= i < n }", "[length] -> { [k]: 0 <= k < length }"],
        """
        for i
            <> start = starts[i]
            <> length = starts[i + 1] - start
            y[i] = sum(k, values[start + k] * x[columns[start + k]])
        end
        """,
        [
            lp.GlobalArg("starts", np.int32, shape="n + 1"), lp.GlobalArg("columns", np.int32, shape="entries"),
            lp.GlobalArg("values", kind, shape="entries"), lp.GlobalArg("x, y", kind, shape="n"),
            lp.ValueArg("n, entries", np.int32),
        ],
        name=name, assumptions="n >= 1", lang_version=(2018, 2),
    )  # fmt: skip
    return lp.split_iname(kernel, "i", group, outer_tag="g.0", inner_tag="l.0")
