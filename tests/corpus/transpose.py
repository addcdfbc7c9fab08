"""Transpositions: strided on one side, through local memory, with a padded tile."""

import loopy as lp

from .kernel import F32, F64, CorpusKernel, at, make, plane


def _transpose(assumes: str, dtype: type = F32) -> lp.TranslationUnit:
    return make("{[i,j]: 0<=i,j<n}", "b[j, i] = a[i, j]", assumes=assumes, dtypes={"a": dtype})


def _through_local(assumes: str) -> lp.TranslationUnit:
    unit = plane(_transpose(assumes), slow="j", fast="i", size=(16, 16))
    return lp.add_prefetch(unit, "a", ["i_inner", "j_inner"], fetch_outer_inames="i_outer,j_outer",
        default_tag="l.auto")


def transpose_padded() -> lp.TranslationUnit:
    """A column more in the tile, so that its columns fall into different banks."""
    unit = _through_local("n>=16 and n mod 16 = 0")
    kernel = unit.default_entrypoint
    tile = kernel.temporary_variables["a_fetch"].copy(shape=(16, 17), dim_tags=None)
    return unit.with_kernel(kernel.copy(temporary_variables={**kernel.temporary_variables, "a_fetch": tile}))


KERNELS = (
    CorpusKernel("transpose_naive", lambda: plane(_transpose("n>=1")), at(n=(16, 13))),
    CorpusKernel("transpose_strided_load", lambda: plane(_transpose("n>=1", F64), slow="j", fast="i"), at(n=(16, 9))),
    CorpusKernel("transpose_tiled", lambda: _through_local("n>=16 and n mod 16 = 0"), at(n=(16, 32)), realistic=True),
    CorpusKernel("transpose_tiled_remainder", lambda: _through_local("n>=1"), at(n=(16, 19, 5))),
    CorpusKernel("transpose_padded", transpose_padded, at(n=(16, 32))),
)  # fmt: skip
