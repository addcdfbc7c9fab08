"""Loops whose bounds depend on other loops, on lanes and on parameters."""

from __future__ import annotations

import loopy as lp

from .kernel import F32, F64, CorpusKernel, at, line, make, plane


def trmm() -> lp.TranslationUnit:
    unit = make(
        "{[i,j,k]: 0<=i,j<n and i<=k<n}", "c[i, j] = sum(k, a[i, k]*b[k, j])", assumes="n>=1", dtypes={"a,b": F32}
    )
    return plane(unit)


def trmm_lower_lane() -> lp.TranslationUnit:
    """The triangle along l.0: lanes of a sub-group run different numbers of iterations."""
    unit = make(
        "{[i,j,k]: 0<=i,j<n and 0<=k<=i}", "c[i, j] = sum(k, a[i, k]*b[k, j])", assumes="n>=1", dtypes={"a,b": F32}
    )
    return plane(unit, slow="j", fast="i")


def triangle_nested() -> lp.TranslationUnit:
    unit = make(
        "{[i,j,k]: 0<=i<n and 0<=j<=i and j<=k<=i}",
        "c[i] = sum((j, k), a[j]*b[k])",
        assumes="n>=1",
        dtypes={"a,b": F64},
    )
    return line(unit, size=8)


def triangle_domain() -> lp.TranslationUnit:
    """Only the pairs below the diagonal are computed, on two axes."""
    unit = make(
        "{[i,j]: 0<=i<n and 0<=j<i}",
        "c[i, j] = a[i] - a[j]",
        [lp.GlobalArg("c", F32, shape="n,n"), ...],
        assumes="n>=2",
        dtypes={"a": F32},
    )
    return plane(unit)


def band() -> lp.TranslationUnit:
    unit = make(
        "{[i,j]: 0<=i<n and 0<=j<n and i-w<=j<=i+w}",
        "y[i] = sum(j, a[i, j]*x[j])",
        assumes="n>=1 and w>=0",
        dtypes={"a,x": F32},
    )
    return line(unit)


def parameter_bounds() -> lp.TranslationUnit:
    unit = make(
        "{[i,j]: 0<=i<n and lo<=j<hi}",
        "c[i] = sum(j, a[i, j])",
        [lp.GlobalArg("a", F32, shape="n,hi"), ...],
        assumes="n>=1 and 0<=lo<hi",
    )
    return line(unit)


def skewed() -> lp.TranslationUnit:
    """Time-skewed tiling: the tile of x moves with the time step."""
    unit = make(
        "{[t,x]: 0<=t<steps and 0<=x<n}",
        "a[t+1, x+1] = a[t, x] + a[t, x+1] + a[t, x+2]",
        [lp.GlobalArg("a", F32, shape="steps+1,n+2"), ...],
        assumes="steps>=1 and n>=1",
        name="skewed",
    )
    unit = lp.map_domain(
        unit,
        _skew(
            "[n, steps] -> { [t, x] -> [t_outer, t_inner, y_outer, y_inner] : "
            "t = 4*t_outer + t_inner and 0 <= t_inner < 4 and "
            "x + t_inner = 8*y_outer + y_inner and 0 <= y_inner < 8 }"
        ),
    )
    unit = lp.tag_inames(unit, {"y_outer": "g.0", "y_inner": "l.0"})
    return lp.prioritize_loops(unit, "t_outer,t_inner")


def _skew(text: str) -> object:
    import islpy

    return islpy.BasicMap(text)


def skewed_triangle() -> lp.TranslationUnit:
    unit = make(
        "{[i,j]: 0<=j<m and j<=i<n+j}",
        "c[i, j] = 2*a[i-j]",
        [lp.GlobalArg("c", F32, shape="n+m,m"), ...],
        assumes="n,m>=1",
        dtypes={"a": F32},
    )
    return line(unit)


def steps_of_three() -> lp.TranslationUnit:
    unit = make(
        "{[i,j]: 0<=i<n and 0<=j<n and j mod 3 = 0}", "c[i] = sum(j, a[i, j])", assumes="n>=1", dtypes={"a": F32}
    )
    return line(unit)


def steps_by_parity() -> lp.TranslationUnit:
    """Even numbers only, on the lanes."""
    unit = make(
        "{[i]: 0<=i<n and i mod 2 = 0}", "c[i] = a[i]", [lp.GlobalArg("a,c", F32, shape="n"), ...], assumes="n>=1"
    )
    return line(unit)


def ceil_bounds() -> lp.TranslationUnit:
    unit = make(
        "{[i,j]: 0<=i<n and 0<=2*j<=i}",
        "c[i] = sum(j, a[2*j])",
        [lp.GlobalArg("a", F32, shape="n"), ...],
        assumes="n>=1",
    )
    return line(unit)


def empty_for_small() -> lp.TranslationUnit:
    """An inner loop that does not run for the first lanes, nor at all for small n."""
    unit = make(
        "{[i,j]: 0<=i<n and 5<=j<i-2}", "c[i] = sum(j, a[j])", [lp.GlobalArg("a", F32, shape="n"), ...], assumes="n>=1"
    )
    return line(unit)


def barrier_in_triangle() -> lp.TranslationUnit:
    """Barriers inside a loop whose length depends on the work-group."""
    unit = make(
        "{[g,l,k]: 0<=g<n and 0<=l<8 and 0<=k<=g}",
        """
        for g, l, k
            <> tile[l] = a[k, l] {id=load}
            ... lbarrier {id=wait, dep=load}
            c[g, k, l] = tile[7-l] {id=use, dep=wait}
        end
        """,
        [lp.GlobalArg("a", F32, shape="n,8"), lp.GlobalArg("c", F32, shape="n,n,8"), ...],
        assumes="n>=1",
        seq_dependencies=False,
    )
    unit = lp.set_temporary_address_space(unit, "tile", "local")
    return lp.tag_inames(unit, {"g": "g.0", "l": "l.0"})


KERNELS = (
    CorpusKernel("trmm", trmm, at(n=(8, 11))),
    CorpusKernel("trmm_lower_lane", trmm_lower_lane, at(n=(8, 11))),
    CorpusKernel("triangle_nested", triangle_nested, at(n=(8, 11, 1))),
    CorpusKernel("triangle_domain", triangle_domain, at(n=(8, 13))),
    CorpusKernel("band", band, at(n=(16, 19, 5), w=(2, 0, 7))),
    CorpusKernel("parameter_bounds", parameter_bounds, at(n=(16, 19), lo=(0, 3), hi=(4, 10))),
    CorpusKernel("skewed", skewed, at(n=(16, 21), steps=(8, 7)), realistic=True),
    CorpusKernel("skewed_triangle", skewed_triangle, at(n=(9, 16), m=(4, 5))),
    CorpusKernel("steps_of_three", steps_of_three, at(n=(16, 19, 1))),
    CorpusKernel("steps_by_parity", steps_by_parity, at(n=(32, 27, 1))),
    CorpusKernel("ceil_bounds", ceil_bounds, at(n=(16, 19))),
    CorpusKernel("empty_for_small", empty_for_small, at(n=(4, 16, 23))),
    CorpusKernel("barrier_in_triangle", barrier_in_triangle, at(n=(3, 6))),
)
