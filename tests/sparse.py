"""The product of a sparse matrix in CSR and a vector, for tests of kernels whose loops and indices depend on data."""

import loopy as lp

from tests.corpus.kernel import make


def spmv(name="spmv", group=16, kind="float64"):
    kernel = make(["[n] -> { [i]: 0 <= i < n }", "[length] -> { [k]: 0 <= k < length }"], """
        for i
            <> start = starts[i]
            <> length = starts[i + 1] - start
            y[i] = sum(k, values[start + k] * x[columns[start + k]])
        end
        """, "int32 starts: n + 1; int32 columns: entries; values: entries; x, y: n; int32 entries",
        dtype=kind, name=name, assumes="n >= 1")  # fmt: skip
    return lp.split_iname(kernel, "i", group, outer_tag="g.0", inner_tag="l.0")
