"""Access patterns: lane strides, several accesses that share lines, cyclic and divided indices, layouts."""

from collections.abc import Callable

import loopy as lp

from .kernel import F32, F64, I8, I32, NONE, CorpusKernel, at, line, make, plane


def _strided(statement: str, shape: str, dtype: type = F32) -> Callable[[], lp.TranslationUnit]:
    def build() -> lp.TranslationUnit:
        return line(make("{[i]: 0<=i<n}", statement, [lp.GlobalArg("a", dtype, shape=shape), ...], assumes="n>=1"))

    return build


_SIZES = at(n=(16, 32, 21))

KERNELS = (
    CorpusKernel("copy_stride_1_unguarded", lambda: line(make("{[i]: 0<=i<n}", "b[i] = a[i]",
        assumes="n>=16 and n mod 16 = 0", dtypes={"a": F32})), at(n=(16, 48))),
    CorpusKernel("copy_stride_1", _strided("b[i] = a[i]", "n"), _SIZES),
    CorpusKernel("copy_stride_1_int8", _strided("b[i] = a[i]", "n", I8), _SIZES),
    CorpusKernel("copy_stride_1_float64", _strided("b[i] = a[i]", "n", F64), _SIZES),
    CorpusKernel("stride_2_of_1", _strided("b[i] = a[2*i]", "2*n"), _SIZES),
    CorpusKernel("stride_2_of_2", _strided("b[i] = a[2*i] + a[2*i+1]", "2*n"), _SIZES),
    CorpusKernel("stride_3_of_1", _strided("b[i] = a[3*i]", "3*n"), _SIZES),
    CorpusKernel("stride_3_of_2", _strided("b[i] = a[3*i] + a[3*i+2]", "3*n"), _SIZES),
    CorpusKernel("stride_3_of_3", _strided("b[i] = a[3*i] + a[3*i+1] + a[3*i+2]", "3*n"), _SIZES),
    CorpusKernel("stride_4_of_3", _strided("b[i] = a[4*i] + a[4*i+1] + a[4*i+3]", "4*n"), _SIZES),
    CorpusKernel("stride_8_of_1", _strided("b[i] = a[8*i]", "8*n"), _SIZES),
    CorpusKernel("stride_8_of_3", _strided("b[i] = a[8*i] + a[8*i+1] + a[8*i+5]", "8*n"), _SIZES),
    CorpusKernel("strided_store", _strided("b[2*i] = a[i]", "n"), _SIZES),
    CorpusKernel("reversed_index", _strided("b[i] = a[n-1-i]", "n"), _SIZES),
    CorpusKernel("cyclic_index", _strided("b[i] = a[i % 4]", "4"), _SIZES),
    CorpusKernel("divided_index", _strided("b[i] = a[i // 2]", "n"), _SIZES),
    CorpusKernel("cyclic_and_divided", _strided("b[i] = a[(i // 4)*8 + i % 4]", "2*n+8"), _SIZES),
    CorpusKernel("same_element_twice", _strided("b[i] = a[i]*a[i]", "n"), _SIZES),
    # Lane stride n: a parameter.
    CorpusKernel("column_access", lambda: line(make("{[i,j]: 0<=i<n and 0<=j<m}", "c[i] = sum(j, a[j]*d[i, j])",
        assumes="n,m>=1", dtypes={"a,d": F32})), at(n=(16, 19), m=(4, 5))),
    # Lane stride 2*m+1.
    CorpusKernel("column_access_scaled", lambda: line(make("[n, m] -> {[i]: 0<=i<n}", "c[i] = d[2*i, 3] + d[2*i, 4]",
        [lp.GlobalArg("d", F32, shape="2*n,m"), ...], assumes="n>=1 and m>=5")), at(n=(16, 19), m=(5, 8))),
    CorpusKernel("fortran_order", lambda: plane(make("{[i,j]: 0<=i<n and 0<=j<m}", "c[i, j] = a[i, j] + b[j]",
        [lp.GlobalArg("a,c", F32, shape="n,m", order="F"), lp.GlobalArg("b", F32, shape="m"), ...], assumes="n,m>=1"),
        slow="j", fast="i"), at(n=(8, 11), m=(8, 6))),
    CorpusKernel("fortran_order_across", lambda: plane(make("{[i,j]: 0<=i<n and 0<=j<m}", "c[i, j] = a[i, j]",
        [lp.GlobalArg("a", F32, shape="n,m", order="F"), lp.GlobalArg("c", F32, shape="n,m", order="C"), ...],
        assumes="n,m>=1")), at(n=(8, 11), m=(8, 6))),
    # Rows padded to a leading dimension.
    CorpusKernel("explicit_strides", lambda: plane(make("[n, m, lda] -> {[i,j]: 0<=i<n and 0<=j<m}",
        "c[i, j] = 3*a[i, j]", [lp.GlobalArg("a", F32, shape="n,m", strides="lda,1"),
        lp.GlobalArg("c", F32, shape="n,m"), lp.ValueArg("lda", I32), ...], assumes="n>=1 and m>=1 and lda>=m")),
        at(n=(8, 11), m=(8, 6), lda=(8, 9))),
    CorpusKernel("array_offset", lambda: line(make("{[i]: 0<=i<n}", "c[i] = a[i+3] + a[i]",
        [lp.GlobalArg("a", F32, shape="n+3", offset=5), ...], assumes="n>=1")), _SIZES),
    CorpusKernel("flattened_by_hand", lambda: plane(make("{[i,j]: 0<=i<n and 0<=j<m}", "c[m*i+j] = 2*a[m*i+j]",
        [lp.GlobalArg("a,c", F32, shape="n*m"), ...], assumes="n,m>=1")), at(n=(8, 11), m=(8, 6))),
    CorpusKernel("flattened_columns_by_hand", lambda: plane(make("{[i,j]: 0<=i<n and 0<=j<m}", "c[m*i+j] = a[m*i+j]",
        [lp.GlobalArg("a,c", F32, shape="n*m"), ...], assumes="n,m>=1"), slow="j", fast="i"), at(n=(8, 11), m=(8, 6))),
    # Every lane reads the same element; another depends on the group only.
    CorpusKernel("uniform", lambda: line(make("{[i]: 0<=i<n}", "c[i] = a[0]*b[i // 16] + a[1]",
        [lp.GlobalArg("a", F32, shape=(2,)), lp.GlobalArg("b", F32, shape="n"), ...], assumes="n>=1")), _SIZES),
    CorpusKernel("uniform_in_loop", lambda: line(make("{[i,k]: 0<=i<n and 0<=k<m}", "c[i] = sum(k, a[k])",
        [lp.GlobalArg("c", F32, shape="n"), ...], assumes="n,m>=1", dtypes={"a": F32})), at(n=(16, 21), m=(3, 5))),
    CorpusKernel("zero_dimensional", lambda: line(make("{[i]: 0<=i<n}", "c[i] = s*a[i] + t[0]", "s: (); t: 1",
        assumes="n>=1", dtypes={"a": F32})), _SIZES),
    # Even columns of even rows.
    CorpusKernel("strided_two_axes", lambda: plane(make("{[i,j]: 0<=i<n and 0<=j<m}", "c[i, j] = a[2*i, 2*j]",
        [lp.GlobalArg("a", F32, shape="2*n,2*m"), ...], assumes="n,m>=1")), at(n=(8, 11), m=(8, 6))),
    CorpusKernel("diagonal", lambda: line(make("{[i]: 0<=i<n}", "c[i] = a[i, i]", "a: n, n", assumes="n>=1")), _SIZES),
    # Each lane reads a window of four elements, windows overlap by three.
    CorpusKernel("shifted_overlap", lambda: line(make("{[i,k]: 0<=i<n and 0<=k<4}", "c[i] = sum(k, a[i+k])",
        [lp.GlobalArg("a", F32, shape="n+3"), ...], assumes="n>=1")), _SIZES),
    # Three components each: stride 3, all of them used by a loop.
    CorpusKernel("array_of_structures", lambda: line(make("{[i,k]: 0<=i<n and 0<=k<3}", "c[i] = sum(k, a[i, k])",
        assumes="n>=1", dtypes={"a": F32})), _SIZES),
    # A group of 12x3 items: sub-groups of 32 wrap around l.0 and the last one is partly empty.
    CorpusKernel("wide_groups", lambda: plane(make("{[i,j]: 0<=i<n and 0<=j<m}", "c[i, j] = a[i, j] + 1",
        assumes="n,m>=1", dtypes={"a": F64}), size=(3, 12)), at(n=(6, 7), m=(24, 17))),
    # No local axis at all: groups of one work-item.
    CorpusKernel("group_only", lambda: lp.tag_inames(make("{[i]: 0<=i<n}", "c[i] = 2*a[i]", assumes="n>=1",
        dtypes={"a": F32}), {"i": "g.0"}), at(n=(1, 5))),
    # No parallel axis at all.
    CorpusKernel("sequential", lambda: make("{[i]: 0<=i<n}", "c[i] = 2*a[i]", assumes="n>=1", dtypes={"a": F32}),
        at(n=(1, 5))),
    CorpusKernel("fixed_size", lambda: line(make("{[i]: 0<=i<50}", "c[i] = 2*a[i]", dtypes={"a": F32})), NONE),
)  # fmt: skip
