"""Matrix products and their like."""

from __future__ import annotations

import loopy as lp

from .kernel import F32, F64, CorpusKernel, at, line, make, plane

PRODUCT = "c[i, j] = sum(k, a[i, k]*b[k, j])"
CUBE = "{[i,j,k]: 0<=i,j,k<n}"


def _product(assumes: str = "n>=1", dtype: type = F32) -> lp.TranslationUnit:
    return make(CUBE, PRODUCT, assumes=assumes, dtypes={"a,b": dtype})


def matmul_naive() -> lp.TranslationUnit:
    return plane(_product())


def matmul_naive_rows_fast() -> lp.TranslationUnit:
    """l.0 on the row: both matrices of that axis are read with stride n."""
    return plane(_product(), slow="j", fast="i")


def matmul_naive_float64() -> lp.TranslationUnit:
    return plane(_product(dtype=F64), size=(4, 16))


def _tiled(assumes: str, size: int) -> lp.TranslationUnit:
    unit = plane(_product(assumes), size=(size, size))
    unit = lp.split_iname(unit, "k", size)
    outer = "i_outer,j_outer,k_outer"
    unit = lp.add_prefetch(unit, "a", ["i_inner", "k_inner"], fetch_outer_inames=outer, default_tag="l.auto")
    return lp.add_prefetch(unit, "b", ["k_inner", "j_inner"], fetch_outer_inames=outer, default_tag="l.auto")


def matmul_tiled() -> lp.TranslationUnit:
    return _tiled("n>=8 and n mod 8 = 0", 8)


def matmul_tiled_remainder() -> lp.TranslationUnit:
    return _tiled("n>=1", 8)


def matmul_tiled_16() -> lp.TranslationUnit:
    return _tiled("n>=16 and n mod 16 = 0", 16)


def matmul_split_unprefetched() -> lp.TranslationUnit:
    return lp.split_iname(plane(_product()), "k", 5)


def matmul_one_prefetch() -> lp.TranslationUnit:
    """Only a row panel of a is prefetched, along the loop."""
    unit = lp.split_iname(plane(_product("n>=8 and n mod 8 = 0")), "k", 8)
    return lp.add_prefetch(
        unit, "a", ["i_inner", "k_inner"], fetch_outer_inames="i_outer,j_outer,k_outer", default_tag="l.auto"
    )


def matmul_register_tiled() -> lp.TranslationUnit:
    """Each work-item computes 2x2 results: ilp in i, unrolled in j."""
    unit = _product("n>=16 and n mod 16 = 0")
    unit = lp.split_iname(unit, "i", 16, outer_tag="g.1")
    unit = lp.split_iname(unit, "i_inner", 2, outer_tag="l.1", inner_tag="ilp")
    unit = lp.split_iname(unit, "j", 16, outer_tag="g.0")
    unit = lp.split_iname(unit, "j_inner", 8, outer_tag="ilp", inner_tag="l.0")
    unit = lp.split_iname(unit, "k", 4, inner_tag="unr")
    outer = "i_outer,j_outer,k_outer"
    unit = lp.add_prefetch(
        unit, "a", ["i_inner_inner", "i_inner_outer", "k_inner"], fetch_outer_inames=outer, default_tag="l.auto"
    )
    return lp.add_prefetch(
        unit, "b", ["k_inner", "j_inner_inner", "j_inner_outer"], fetch_outer_inames=outer, default_tag="l.auto"
    )


def matmul_skinny() -> lp.TranslationUnit:
    unit = make("{[i,j,k]: 0<=i<m and 0<=j<n and 0<=k<l}", PRODUCT, assumes="m,n,l>=1", dtypes={"a,b": F32})
    return plane(unit, size=(16, 4))


def matmul_transposed() -> lp.TranslationUnit:
    unit = make(CUBE, "c[i, j] = sum(k, a[k, i]*b[j, k])", assumes="n>=1", dtypes={"a,b": F32})
    return plane(unit)


def matrix_vector() -> lp.TranslationUnit:
    unit = make("{[i,k]: 0<=i<n and 0<=k<m}", "y[i] = sum(k, a[i, k]*x[k])", assumes="n,m>=1", dtypes={"a,x": F32})
    return line(unit)


def rank_one_update() -> lp.TranslationUnit:
    unit = make(
        "{[i,j]: 0<=i,j<n}",
        "c[i, j] = c[i, j] + alpha*x[i]*y[j]",
        [lp.ValueArg("alpha", F32), ...],
        assumes="n>=1",
        dtypes={"c,x,y": F32},
    )
    return plane(unit)


def matmul_three_dimensional() -> lp.TranslationUnit:
    """Batched, over three axes of groups and of work-items."""
    unit = make(
        "{[e,i,j,k]: 0<=e<b and 0<=i,j,k<n}",
        "c[e, i, j] = sum(k, a[e, i, k]*d[e, k, j])",
        assumes="n,b>=1",
        dtypes={"a,d": F32},
    )
    return line(line(line(unit, "e", 2, 2), "i", 4, 1), "j", 4, 0)


KERNELS = (
    CorpusKernel("matmul_naive", matmul_naive, at(n=(8, 13, 1))),
    CorpusKernel("matmul_naive_rows_fast", matmul_naive_rows_fast, at(n=(8, 11))),
    CorpusKernel("matmul_naive_float64", matmul_naive_float64, at(n=(16, 9))),
    CorpusKernel("matmul_tiled", matmul_tiled, at(n=(8, 16, 24)), realistic=True),
    CorpusKernel("matmul_tiled_remainder", matmul_tiled_remainder, at(n=(8, 13, 3)), realistic=True),
    CorpusKernel("matmul_tiled_16", matmul_tiled_16, at(n=(16, 32))),
    CorpusKernel("matmul_split_unprefetched", matmul_split_unprefetched, at(n=(5, 12))),
    CorpusKernel("matmul_one_prefetch", matmul_one_prefetch, at(n=(8, 16))),
    CorpusKernel("matmul_register_tiled", matmul_register_tiled, at(n=(16, 32))),
    CorpusKernel("matmul_skinny", matmul_skinny, at(m=(19, 32), n=(3, 8), l=(2, 5)), realistic=True),
    CorpusKernel("matmul_transposed", matmul_transposed, at(n=(8, 10))),
    CorpusKernel("matmul_three_dimensional", matmul_three_dimensional, at(b=(2, 3), n=(4, 6))),
    CorpusKernel("matrix_vector", matrix_vector, at(n=(16, 21), m=(4, 7))),
    CorpusKernel("rank_one_update", rank_one_update, at(n=(8, 19))),
)
