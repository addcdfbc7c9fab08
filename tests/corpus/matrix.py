"""Matrix products and their like."""

import loopy as lp

from .kernel import F32, F64, CorpusKernel, at, line, make, plane

PRODUCT = "c[i, j] = sum(k, a[i, k]*b[k, j])"
CUBE = "{[i,j,k]: 0<=i,j,k<n}"


def _product(assumes: str = "n>=1", dtype: type = F32) -> lp.TranslationUnit:
    return make(CUBE, PRODUCT, assumes=assumes, dtypes={"a,b": dtype})


def tiled(assumes: str, size: int) -> lp.TranslationUnit:
    unit = plane(_product(assumes), size=(size, size))
    unit = lp.split_iname(unit, "k", size)
    outer = "i_outer,j_outer,k_outer"
    unit = lp.add_prefetch(unit, "a", ["i_inner", "k_inner"], fetch_outer_inames=outer, default_tag="l.auto")
    return lp.add_prefetch(unit, "b", ["k_inner", "j_inner"], fetch_outer_inames=outer, default_tag="l.auto")


def matmul_register_tiled() -> lp.TranslationUnit:
    """Each work-item computes 2x2 results: ilp in i, unrolled in j."""
    unit = _product("n>=16 and n mod 16 = 0")
    unit = lp.split_iname(unit, "i", 16, outer_tag="g.1")
    unit = lp.split_iname(unit, "i_inner", 2, outer_tag="l.1", inner_tag="ilp")
    unit = lp.split_iname(unit, "j", 16, outer_tag="g.0")
    unit = lp.split_iname(unit, "j_inner", 8, outer_tag="ilp", inner_tag="l.0")
    unit = lp.split_iname(unit, "k", 4, inner_tag="unr")
    outer = "i_outer,j_outer,k_outer"
    unit = lp.add_prefetch(unit, "a", ["i_inner_inner", "i_inner_outer", "k_inner"], fetch_outer_inames=outer,
        default_tag="l.auto")
    return lp.add_prefetch(unit, "b", ["k_inner", "j_inner_inner", "j_inner_outer"], fetch_outer_inames=outer,
        default_tag="l.auto")


KERNELS = (
    CorpusKernel("matmul_naive", lambda: plane(_product()), at(n=(8, 13, 1))),
    # l.0 on the row: both matrices of that axis are read with stride n.
    CorpusKernel("matmul_naive_rows_fast", lambda: plane(_product(), slow="j", fast="i"), at(n=(8, 11))),
    CorpusKernel("matmul_naive_float64", lambda: plane(_product(dtype=F64), size=(4, 16)), at(n=(16, 9))),
    CorpusKernel("matmul_tiled", lambda: tiled("n>=8 and n mod 8 = 0", 8), at(n=(8, 16, 24)), realistic=True),
    CorpusKernel("matmul_tiled_remainder", lambda: tiled("n>=1", 8), at(n=(8, 13, 3)), realistic=True),
    CorpusKernel("matmul_tiled_16", lambda: tiled("n>=16 and n mod 16 = 0", 16), at(n=(16, 32))),
    CorpusKernel("matmul_split_unprefetched", lambda: lp.split_iname(plane(_product()), "k", 5), at(n=(5, 12))),
    # Only a row panel of a is prefetched, along the loop.
    CorpusKernel("matmul_one_prefetch", lambda: lp.add_prefetch(lp.split_iname(
        plane(_product("n>=8 and n mod 8 = 0")), "k", 8), "a", ["i_inner", "k_inner"],
        fetch_outer_inames="i_outer,j_outer,k_outer", default_tag="l.auto"), at(n=(8, 16))),
    CorpusKernel("matmul_register_tiled", matmul_register_tiled, at(n=(16, 32))),
    CorpusKernel("matmul_skinny", lambda: plane(make("{[i,j,k]: 0<=i<m and 0<=j<n and 0<=k<l}", PRODUCT,
        assumes="m,n,l>=1", dtypes={"a,b": F32}), size=(16, 4)), at(m=(19, 32), n=(3, 8), l=(2, 5)), realistic=True),
    CorpusKernel("matmul_transposed", lambda: plane(make(CUBE, "c[i, j] = sum(k, a[k, i]*b[j, k])", assumes="n>=1",
        dtypes={"a,b": F32})), at(n=(8, 10))),
    # Batched, over three axes of groups and of work-items.
    CorpusKernel("matmul_three_dimensional", lambda: line(line(line(make("{[e,i,j,k]: 0<=e<b and 0<=i,j,k<n}",
        "c[e, i, j] = sum(k, a[e, i, k]*d[e, k, j])", assumes="n,b>=1", dtypes={"a,d": F32}), "e", 2, 2), "i", 4, 1),
        "j", 4, 0), at(b=(2, 3), n=(4, 6))),
    CorpusKernel("matrix_vector", lambda: line(make("{[i,k]: 0<=i<n and 0<=k<m}", "y[i] = sum(k, a[i, k]*x[k])",
        assumes="n,m>=1", dtypes={"a,x": F32})), at(n=(16, 21), m=(4, 7))),
    CorpusKernel("rank_one_update", lambda: plane(make("{[i,j]: 0<=i,j<n}", "c[i, j] = c[i, j] + alpha*x[i]*y[j]",
        [lp.ValueArg("alpha", F32), ...], assumes="n>=1", dtypes={"c,x,y": F32})), at(n=(8, 19))),
)  # fmt: skip
