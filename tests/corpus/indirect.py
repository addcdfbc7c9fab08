"""Indices, loop bounds and predicates that are data."""

from collections.abc import Callable, Mapping
from fractions import Fraction

import loopy as lp
import numpy as np

from .kernel import F32, I32, Arrays, CorpusKernel, at, line, make


def _indices(parameters: Mapping[str, int]) -> Arrays:
    n = parameters["n"]
    return {"ind": (np.arange(n, dtype=np.int32) * 5 + 2) % n}


def row_lengths(parameters: Mapping[str, int]) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    """Entries of each row of the sparse matrix: 0 to 4."""
    return (np.arange(parameters["n"], dtype=np.int32) * 3 + 1) % 5


def _sparse(parameters: Mapping[str, int]) -> Arrays:
    lengths = row_lengths(parameters)
    rows = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return {"rows": rows, "columns": (np.arange(rows[-1], dtype=np.int32) * 7) % parameters["n"]}


def _flags(parameters: Mapping[str, int]) -> Arrays:
    return {"flag": (np.arange(parameters["n"], dtype=np.int32) % 4 == 1).astype(np.int32)}


def _lengths(parameters: Mapping[str, int]) -> Arrays:
    return {"lengths": row_lengths(parameters)}


def _mean_row(loop: str) -> Callable[[Mapping[str, int]], Mapping[str, Fraction]]:
    def statistics(parameters: Mapping[str, int]) -> Mapping[str, Fraction]:
        return {loop: Fraction(int(row_lengths(parameters).sum()), parameters["n"])}

    return statistics


def _flagged(parameters: Mapping[str, int]) -> Mapping[str, Fraction]:
    return {"flag[i_inner + i_outer*16] > 0": Fraction(int(_flags(parameters)["flag"].sum()), parameters["n"])}


def csr_product(size: int = 16, assumes: str = "n>=1") -> lp.TranslationUnit:
    """The product of a sparse matrix and a vector; a work-item has a row."""
    return line(make(["{[i]: 0<=i<n}", "[first, last] -> {[j]: first<=j<last}"], """
            for i
                <> first = rows[i]
                <> last = rows[i+1]
                y[i] = sum(j, values[j]*x[columns[j]])
            end
        """, [lp.GlobalArg("values,x", F32, shape=None), lp.GlobalArg("y", F32, shape="n"),
        lp.GlobalArg("rows", I32, shape="n+1"), lp.GlobalArg("columns", I32, shape=None), ...], assumes=assumes),
        size=size)


KERNELS = (
    CorpusKernel("gather", lambda: line(make("{[i]: 0<=i<n}", "c[i] = 2*a[ind[i]]", [lp.GlobalArg("a", F32, shape="n"),
        ...], assumes="n>=1", dtypes={"ind": I32})), at(n=(16, 21)), _indices),
    CorpusKernel("scatter", lambda: line(make("{[i]: 0<=i<n}", "c[ind[i]] = a[i]", [lp.GlobalArg("c", F32, shape="n"),
        ...], assumes="n>=1", dtypes={"ind": I32, "a": F32})), at(n=(16, 21)), _indices),
    CorpusKernel("gather_through_temporary", lambda: line(make("{[i]: 0<=i<n}", """
            <> where = ind[i]
            c[i] = a[where] + a[where+1]
        """, "a: n+1; c: n", assumes="n>=1", dtypes={"ind": I32})), at(n=(16, 21)), _indices),
    CorpusKernel("gather_of_rows", lambda: line(line(make("{[i,j]: 0<=i<n and 0<=j<8}", "c[i, j] = a[ind[i], j]",
        [lp.GlobalArg("a", F32, shape="n,8"), ...], assumes="n>=1", dtypes={"ind": I32}), "i", 4, 1), "j", 8, 0),
        at(n=(8, 11)), _indices),
    CorpusKernel("csr_product", csr_product, at(n=(20, 35)), _sparse, statistics=_mean_row("j")),
    # What is outside of j is in its domain: the generated code tests that j runs at all.
    CorpusKernel("only_where_the_loop_runs", lambda: line(make(["{[i]: 0<=i<n}",
        "[first, last] -> {[j, k]: first<=j<last and 0<=k<2}"], """
            for i
                <> first = rows[i]
                <> last = rows[i+1]
                <> near[k] = x[k, i]
                y[i] = sum(j, values[j]*q[i] + near[0] + near[1])
            end
        """, [lp.GlobalArg("values", F32, shape=None), lp.GlobalArg("y,q", F32, shape="n"),
        lp.GlobalArg("x", F32, shape="2,n"), lp.GlobalArg("rows", I32, shape="n+1"), ...], assumes="n>=1")),
        at(n=(20,)), _sparse, statistics=_mean_row("j")),
    # The predicate reads an array: that load always happens, what it guards only sometimes.
    CorpusKernel("data_predicate", lambda: line(make("{[i]: 0<=i<n}", """
            if flag[i] > 0
                c[i] = a[i]*a[i] + 1
            else
                c[i] = 0
            end
        """, [lp.GlobalArg("a,c", F32, shape="n"), lp.GlobalArg("flag", I32, shape="n"), ...], assumes="n>=1",
        seq_dependencies=True)), at(n=(16, 24)), _flags, statistics=_flagged),
    CorpusKernel("data_if_expression", lambda: line(make("{[i]: 0<=i<n}", "c[i] = if(flag[i] > 0, a[i]*b[i], a[i]+1)",
        [lp.GlobalArg("a,b,c", F32, shape="n"), lp.GlobalArg("flag", I32, shape="n"), ...], assumes="n>=1")),
        at(n=(16, 24)), _flags, statistics=_flagged),
    CorpusKernel("data_trip_count", lambda: line(lp.assume(make(["{[i]: 0<=i<n}", "[length] -> {[j]: 0<=j<length}"], """
            for i
                <> length = lengths[i]
                y[i] = sum(j, a[i, j]*a[i, j])
            end
        """, "a: n, 5; y: n; int32 lengths: n", assumes="n>=1"), "n>=1")), at(n=(20, 35)), _lengths,
        statistics=_mean_row("j")),
)  # fmt: skip
