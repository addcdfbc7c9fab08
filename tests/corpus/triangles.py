"""Loops whose bounds depend on other loops, on lanes and on parameters."""

import islpy as isl
import loopy as lp

from .kernel import F32, F64, CorpusKernel, at, line, make, plane


def skewed() -> lp.TranslationUnit:
    """Time-skewed tiling: the tile of x moves with the time step."""
    unit = make("{[t,x]: 0<=t<steps and 0<=x<n}", "a[t+1, x+1] = a[t, x] + a[t, x+1] + a[t, x+2]",
        [lp.GlobalArg("a", F32, shape="steps+1,n+2"), ...], assumes="steps>=1 and n>=1", name="skewed")
    unit = lp.map_domain(unit, isl.BasicMap("""[n, steps] -> { [t, x] -> [t_outer, t_inner, y_outer, y_inner] :
        t = 4*t_outer + t_inner and 0 <= t_inner < 4 and x + t_inner = 8*y_outer + y_inner and 0 <= y_inner < 8 }"""))
    unit = lp.tag_inames(unit, {"y_outer": "g.0", "y_inner": "l.0"})
    return lp.prioritize_loops(unit, "t_outer,t_inner")


KERNELS = (
    CorpusKernel("trmm", lambda: plane(make("{[i,j,k]: 0<=i,j<n and i<=k<n}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
        assumes="n>=1", dtypes={"a,b": F32})), at(n=(8, 11))),
    # The triangle along l.0: lanes of a sub-group run different numbers of iterations.
    CorpusKernel("trmm_lower_lane", lambda: plane(make("{[i,j,k]: 0<=i,j<n and 0<=k<=i}",
        "c[i, j] = sum(k, a[i, k]*b[k, j])", assumes="n>=1", dtypes={"a,b": F32}), slow="j", fast="i"), at(n=(8, 11))),
    CorpusKernel("triangle_nested", lambda: line(make("{[i,j,k]: 0<=i<n and 0<=j<=i and j<=k<=i}",
        "c[i] = sum((j, k), a[j]*b[k])", assumes="n>=1", dtypes={"a,b": F64}), size=8), at(n=(8, 11, 1))),
    # Only the pairs below the diagonal are computed, on two axes.
    CorpusKernel("triangle_domain", lambda: plane(make("{[i,j]: 0<=i<n and 0<=j<i}", "c[i, j] = a[i] - a[j]",
        [lp.GlobalArg("c", F32, shape="n,n"), ...], assumes="n>=2", dtypes={"a": F32})), at(n=(8, 13))),
    CorpusKernel("band", lambda: line(make("{[i,j]: 0<=i<n and 0<=j<n and i-w<=j<=i+w}", "y[i] = sum(j, a[i, j]*x[j])",
        assumes="n>=1 and w>=0", dtypes={"a,x": F32})), at(n=(16, 19, 5), w=(2, 0, 7))),
    CorpusKernel("parameter_bounds", lambda: line(make("{[i,j]: 0<=i<n and lo<=j<hi}", "c[i] = sum(j, a[i, j])",
        [lp.GlobalArg("a", F32, shape="n,hi"), ...], assumes="n>=1 and 0<=lo<hi")),
        at(n=(16, 19), lo=(0, 3), hi=(4, 10))),
    CorpusKernel("skewed", skewed, at(n=(16, 21), steps=(8, 7)), realistic=True),
    CorpusKernel("skewed_triangle", lambda: line(make("{[i,j]: 0<=j<m and j<=i<n+j}", "c[i, j] = 2*a[i-j]",
        [lp.GlobalArg("c", F32, shape="n+m,m"), ...], assumes="n,m>=1", dtypes={"a": F32})), at(n=(9, 16), m=(4, 5))),
    CorpusKernel("steps_of_three", lambda: line(make("{[i,j]: 0<=i<n and 0<=j<n and j mod 3 = 0}",
        "c[i] = sum(j, a[i, j])", assumes="n>=1", dtypes={"a": F32})), at(n=(16, 19, 1))),
    # Even numbers only, on the lanes.
    CorpusKernel("steps_by_parity", lambda: line(make("{[i]: 0<=i<n and i mod 2 = 0}", "c[i] = a[i]",
        [lp.GlobalArg("a,c", F32, shape="n"), ...], assumes="n>=1")), at(n=(32, 27, 1))),
    CorpusKernel("ceil_bounds", lambda: line(make("{[i,j]: 0<=i<n and 0<=2*j<=i}", "c[i] = sum(j, a[2*j])",
        [lp.GlobalArg("a", F32, shape="n"), ...], assumes="n>=1")), at(n=(16, 19))),
    # An inner loop that does not run for the first lanes, nor at all for small n.
    CorpusKernel("empty_for_small", lambda: line(make("{[i,j]: 0<=i<n and 5<=j<i-2}", "c[i] = sum(j, a[j])",
        [lp.GlobalArg("a", F32, shape="n"), ...], assumes="n>=1")), at(n=(4, 16, 23))),
    # Barriers inside a loop whose length depends on the work-group.
    CorpusKernel("barrier_in_triangle", lambda: lp.tag_inames(lp.set_temporary_address_space(make(
        "{[g,l,k]: 0<=g<n and 0<=l<8 and 0<=k<=g}", """
            for g, l, k
                <> tile[l] = a[k, l] {id=load}
                ... lbarrier {id=wait, dep=load}
                c[g, k, l] = tile[7-l] {id=use, dep=wait}
            end
        """, [lp.GlobalArg("a", F32, shape="n,8"), lp.GlobalArg("c", F32, shape="n,n,8"), ...], assumes="n>=1",
        seq_dependencies=False), "tile", "local"), {"g": "g.0", "l": "l.0"}), at(n=(3, 6))),
)  # fmt: skip
