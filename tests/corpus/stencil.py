"""Stencils and convolutions, from global memory and with prefetched halos."""

import loopy as lp

from .kernel import F32, F64, I32, CorpusKernel, at, line, make, plane

FIVE = "v[i+1, j+1] = u[i+1, j] + u[i, j+1] - 4*u[i+1, j+1] + u[i+2, j+1] + u[i+1, j+2]"


def _arrays(shape: str, names: str = "u,v", dtype: type = F32) -> list[object]:
    return [lp.GlobalArg(names, dtype, shape=shape), ...]


def stencil_1d() -> lp.TranslationUnit:
    unit = make("{[i]: 0<=i<n}", "v[i] = 0.5*u[i] - 0.25*(u[i+1] + u[i+2])", _arrays("n+2"), assumes="n>=1")
    return line(unit)


def _prefetched(assumes: str, bounding_box: bool) -> lp.TranslationUnit:
    unit = plane(make("{[i,j]: 0<=i,j<n}", FIVE, _arrays("n+2,n+2"), assumes=assumes))
    return lp.add_prefetch(unit, "u", ["i_inner", "j_inner"], fetch_outer_inames="i_outer,j_outer",
        fetch_bounding_box=bounding_box, default_tag="l.auto")


def stencil_25_point_3d() -> lp.TranslationUnit:
    """Fourth-order wave operator: nine points along each of three axes, marching along the slowest."""
    terms = " + ".join(
        f"w{p}*(u[i+{4 - p}, j+4, k+4] + u[i+{4 + p}, j+4, k+4] + u[i+4, j+{4 - p}, k+4]"
        f" + u[i+4, j+{4 + p}, k+4] + u[i+4, j+4, k+{4 - p}] + u[i+4, j+4, k+{4 + p}])"
        for p in range(1, 5)
    )
    unit = make("{[i,j,k]: 0<=i,j,k<n}", f"v[i, j, k] = w0*u[i+4, j+4, k+4] + {terms}",
        "u: n+8, n+8, n+8; v: n, n, n; float32 w0, w1, w2, w3, w4", assumes="n>=1")  # fmt: skip
    return line(line(unit, "k", 8, 0), "j", 4, 1)


KERNELS = (
    CorpusKernel("stencil_1d", stencil_1d, at(n=(16, 21))),
    CorpusKernel("stencil_1d_prefetched", lambda: lp.add_prefetch(stencil_1d(), "u", ["i_inner"], default_tag="l.auto"),
        at(n=(16, 21))),
    CorpusKernel("stencil_5_point", lambda: plane(make("{[i,j]: 0<=i<n and 0<=j<m}", FIVE, _arrays("n+2,m+2"),
        assumes="n,m>=1")), at(n=(8, 11), m=(16, 5))),
    CorpusKernel("stencil_box_halo", lambda: _prefetched("n>=8 and n mod 8 = 0", True), at(n=(8, 16)), realistic=True),
    CorpusKernel("stencil_box_halo_remainder", lambda: _prefetched("n>=1", True), at(n=(8, 13))),
    CorpusKernel("stencil_cross_halo", lambda: _prefetched("n>=8 and n mod 8 = 0", False), at(n=(8, 16)),
        realistic=True),
    CorpusKernel("stencil_9_point", lambda: plane(make("{[i,j,p,q]: 0<=i,j<n and 0<=p,q<3}",
        "v[i, j] = sum((p, q), w[p, q]*u[i+p, j+q])", "u: n+2, n+2; v: n, n; w: 3, 3", assumes="n>=1")),
        at(n=(8, 11))),
    CorpusKernel("stencil_7_point_3d", lambda: plane(make("{[i,j,k]: 1<=i,j,k<n-1}",
        "v[i, j, k] = c0*u[i, j, k] + c1*(u[i-1, j, k] + u[i+1, j, k] + u[i, j-1, k] + u[i, j+1, k] + u[i, j, k-1]"
        " + u[i, j, k+1])",
        [*_arrays("n,n,n", dtype=F64)[:-1], lp.ValueArg("c0,c1", F64), ...], assumes="n>=3"), "j", "k", (4, 8)),
        at(n=(6, 10))),
    CorpusKernel("stencil_25_point_3d", stencil_25_point_3d, at(n=(4, 9)), realistic=True),
    # Several images, a 5x5 filter unrolled in one direction, from global memory.
    CorpusKernel("convolution_2d", lambda: lp.tag_inames(plane(make(
        "{[b,i,j,p,q]: 0<=b<images and 0<=i,j<n and 0<=p,q<5}",
        "out[b, i, j] = sum((p, q), img[b, i+p, j+q]*f[p, q])", [lp.GlobalArg("img", F32, shape="images,n+4,n+4"),
        lp.GlobalArg("out", F32, shape="images,n,n"), lp.GlobalArg("f", F32, shape=(5, 5)), ...],
        assumes="n,images>=1")), {"b": "g.2", "q": "unr"}), at(images=(1, 2), n=(8, 9)), realistic=True),
    CorpusKernel("convolution_prefetched", lambda: lp.add_prefetch(plane(make("{[i,j,p,q]: 0<=i,j<n and 0<=p,q<3}",
        "out[i, j] = sum((p, q), img[i+p, j+q]*f[p, q])", "img: n+2, n+2; out: n, n; f: 3, 3",
        assumes="n>=8 and n mod 8 = 0")), "img", ["i_inner", "j_inner", "p", "q"], fetch_outer_inames="i_outer,j_outer",
        default_tag="l.auto"), at(n=(8, 16)), realistic=True),
    # A fixed number of steps inside the kernel on one group's local memory.
    CorpusKernel("stencil_time_stepped", lambda: lp.tag_inames(lp.set_temporary_address_space(make(
        "{[i,t]: 0<=i<16 and 0<=t<steps}", """
            <> x[i] = u[i] {id=load}
            for t
                ... lbarrier {id=before, dep=load}
                <> new = 0.5*x[i] + 0.5*x[(i+1) % 16] {id=new, dep=before}
                ... lbarrier {id=after, dep=new}
                x[i] = new {id=write, dep=after}
            end
            v[i] = x[i] {dep=write}
        """, [lp.GlobalArg("u,v", F32, shape=(16,)), lp.ValueArg("steps", I32), ...], assumes="steps>=1",
        seq_dependencies=False), "x", "local"), {"i": "l.0"}), at(steps=(1, 3))),
)  # fmt: skip
