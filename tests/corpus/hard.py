"""Kernels whose counts have long formulas, or formulas that take minutes to find."""

import loopy as lp

from .kernel import F32, F64, I64, CorpusKernel, at, line, make, plane

SEVEN = (
    "v[i,j,k] = u[i,j+1,k+1] + u[i+2,j+1,k+1] + u[i+1,j,k+1] + u[i+1,j+2,k+1] + u[i+1,j+1,k] + u[i+1,j+1,k+2]"
    " - 6*u[i+1,j+1,k+1]"
)


def _stencil_3d() -> lp.TranslationUnit:
    arrays = [lp.GlobalArg("u", F64, shape="(nx+2,ny+2,nz+2)"), lp.GlobalArg("v", F64, shape="(nx,ny,nz)"), ...]
    unit = make("{[i,j,k]: 0<=i<nx and 0<=j<ny and 0<=k<nz}", SEVEN, arrays)
    for axis, name in enumerate("kji"):
        unit = line(unit, name, 8, axis)
    return unit


def stencil_3d_guarded() -> lp.TranslationUnit:
    return lp.add_prefetch(_stencil_3d(), "u", ("i_inner", "j_inner", "k_inner"), fetch_bounding_box=True,
        default_tag="l.auto")


def stencil_3d_halo_group() -> lp.TranslationUnit:
    """Work-groups of the halo's shape, so that sub-groups begin inside rows."""
    unit = lp.add_prefetch(_stencil_3d(), "u", ("i_inner", "j_inner", "k_inner"), fetch_bounding_box=True,
        default_tag=None)
    fetching = sorted(name for name in unit.default_entrypoint.all_inames() if "u_dim" in name)
    return lp.tag_inames(unit, {name: f"l.{axis}" for axis, name in enumerate(reversed(fetching))})


def skewed_plane() -> lp.TranslationUnit:
    unit = make("{[t,i,j]: 0<=t<steps and t<=i<n+t and t<=j<m+t and i+j<=2*n}",
        "v[t,i,j] = 0.25*(u[t,i,j] + u[t,i+1,j] + u[t,i,j+1] + u[t,i+1,j+1])", assumes="steps,n,m>=1",
        dtypes={"u": F32})
    return plane(unit, "i", "j", (32, 32))


def remainders() -> lp.TranslationUnit:
    return line(make("{[i]: 0<=i<n}", "b[i] = a[(i*7) % 12]", dtypes={"a": F32}), size=128)


def contraction() -> lp.TranslationUnit:
    unit = make("{[a,b,c,d,e,f]: 0<=a,b,c,d<n and 0<=e,f<m}", "out[a,b,c,d] = sum([e,f], x[a,e,b,f]*y[e,c,f,d])",
        assumes="n,m>=1", dtypes={"x,y": F64})
    for name, width in zip("bcdef", (4, 4, 4, 8, 8), strict=True):
        unit = lp.split_iname(unit, name, width)
    return line(unit, "a")


KERNELS = (
    CorpusKernel("stencil_3d_guarded", stencil_3d_guarded, at(nx=(5, 9), ny=(9, 3), nz=(8, 10))),
    CorpusKernel("stencil_3d_halo_group", stencil_3d_halo_group, at(nx=(5, 9), ny=(9, 3), nz=(8, 10))),
    CorpusKernel("skewed_plane", skewed_plane, at(steps=(3, 2), n=(35, 18), m=(20, 40))),
    CorpusKernel("remainders", remainders, at(n=(7, 300))),
    CorpusKernel("scattered_remainders", lambda: lp.split_iname(lp.split_iname(make("{[i]: 0<=i<n}",
        "b[i%20] = b[i%20] + 2*a[i]", [lp.GlobalArg("b,a", I64, shape=lp.auto), ...], assumes="n>0"), "i", 512),
        "i_inner", 128, outer_tag="unr", inner_tag="g.0"), at(n=(33, 700))),
    CorpusKernel("contraction", contraction, at(n=(3, 5), m=(9, 2))),
)  # fmt: skip
