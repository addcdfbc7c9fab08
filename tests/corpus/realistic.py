"""Kernels as users write them."""

import loopy as lp
import numpy as np

from .kernel import F32, F64, NONE, CorpusKernel, at, line, make, plane


def nbody_prefetched() -> lp.TranslationUnit:
    """The sources of a tile are fetched into local memory by the group, the target into registers."""
    unit = make("{[i,j,k]: 0<=i,j<n and 0<=k<3}", "pot[i] = sum(j, rsqrt(sum(k, (x[i, k] - x[j, k])**2) + 0.01f))",
        [lp.GlobalArg("x", F32, shape="n,3", order="F"), lp.GlobalArg("pot", F32, shape="n"), ...],
        assumes="n>=16 and n mod 16 = 0")
    unit = lp.split_iname(line(unit, size=16), "j", 16)
    unit = lp.add_prefetch(unit, "x[i, k]", ["k"], default_tag=None)
    unit = lp.add_prefetch(unit, "x[j, k]", ["j_inner", "k"], ["source", "component"],
        fetch_outer_inames="i_outer,j_outer", default_tag=None)
    return lp.tag_inames(unit, {"source": "l.0", "component": "unr", "k": "unr"})


def dg_volume() -> lp.TranslationUnit:
    """Discontinuous Galerkin volume integral: derivative matrices applied in each element, then the metric terms."""
    unit = make("{[e,i,j,d]: 0<=e<elements and 0<=i,j<10 and 0<=d<3}", """
            for e, i
                <> dr = sum(j, diff[0, i, j]*u[e, j])
                <> ds = sum(j, diff[1, i, j]*u[e, j])
                <> dt = sum(j, diff[2, i, j]*u[e, j])
                for d
                    rhs[d, e, i] = metric[d, 0, e]*dr + metric[d, 1, e]*ds + metric[d, 2, e]*dt
                end
            end
        """, "diff: 3, 10, 10; u: elements, 10; metric: 3, 3, elements; rhs: 3, elements, 10",
        assumes="elements>=1")  # fmt: skip
    unit = lp.tag_inames(unit, {"i": "l.0", "d": "unr"})
    return lp.split_iname(unit, "e", 4, outer_tag="g.0", inner_tag="l.1")


VELOCITIES = ((0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1))
WEIGHTS = (4 / 9, *(1 / 9,) * 4, *(1 / 36,) * 4)


def lattice_boltzmann() -> lp.TranslationUnit:
    """D2Q9, BGK collision, pull scheme with one layer of ghost cells, straight-line code."""
    lines = [f"<> f{q} = f[{q}, i + {1 - cy}, j + {1 - cx}]" for q, (cx, cy) in enumerate(VELOCITIES)]
    lines.append("<> rho = " + " + ".join(f"f{q}" for q in range(9)))
    lines.append("<> ux = (f1 - f3 + f5 - f6 - f7 + f8)/rho")
    lines.append("<> uy = (f2 - f4 + f5 + f6 - f7 - f8)/rho")
    lines.append("<> usq = 1.5f*(ux*ux + uy*uy)")
    for q, (cx, cy) in enumerate(VELOCITIES):
        along = " + ".join(f"{'' if c == 1 else '(-1)*'}{u}" for c, u in ((cx, "ux"), (cy, "uy")) if c) or "0*ux"
        lines.append(f"<> cu{q} = 3.0f*({along})")
        lines.append(f"<> eq{q} = {WEIGHTS[q]:.7f}f*rho*(1.0f + cu{q} + 0.5f*cu{q}*cu{q} - usq)")
        lines.append(f"g[{q}, i, j] = f{q} - omega*(f{q} - eq{q})")
    unit = make("{[i,j]: 0<=i<n and 0<=j<m}", "\n".join(lines), [lp.GlobalArg("f", F32, shape="9,n+2,m+2"),
        lp.GlobalArg("g", F32, shape="9,n,m"), lp.ValueArg("omega", F32), ...], assumes="n,m>=1")
    return plane(unit)


def hundred_instructions() -> lp.TranslationUnit:
    """A chain of 120 statements over four arrays, as code generators of finite differences emit it."""
    lines = ["<> t0 = a[i]*b[i]"]
    for step in range(1, 110):
        other = ("a[i]", "b[i+1]", "d[2*i]", f"t{max(step - 7, 0)}")[step % 4]
        operator = ("*", "+", "-")[step % 3] if step % 4 < 3 else "-"
        lines.append(f"<> t{step} = t{step - 1} {operator} {other}")
        if step % 11 == 0:
            lines.append(f"c[{step // 11 - 1}, i] = t{step}")
    unit = make("{[i]: 0<=i<n}", "\n".join(lines), "a: n; b: n+1; d: 2*n; c: 9, n", assumes="n>=1")
    return line(unit)


def mandelbrot() -> lp.TranslationUnit:
    """A fixed number of steps on complex numbers."""
    unit = make("{[i,t]: 0<=i<n and 0<=t<steps}", """
            for i
                <> z = c[i] {id=start}
                for t
                    z = z*z + c[i] {id=step, dep=start}
                end
                out[i] = z {dep=step}
            end
        """, assumes="n,steps>=1", dtypes={"c": np.complex64}, seq_dependencies=False)
    return line(unit)


KERNELS = (
    CorpusKernel("nbody", lambda: line(lp.tag_inames(make("{[i,j,k]: 0<=i,j<n and 0<=k<3}", """
            for i
                pot[i] = sum(j, mass[j]*rsqrt(sum(k, (x[i, k] - x[j, k])**2) + 0.01f))
            end
        """, [lp.GlobalArg("x", F32, shape="n,3"), lp.GlobalArg("pot,mass", F32, shape="n"), ...], assumes="n>=1"),
        {"k": "unr"}), size=16), at(n=(16, 21))),
    CorpusKernel("nbody_prefetched", nbody_prefetched, at(n=(16, 48)), realistic=True),
    CorpusKernel("dg_volume", dg_volume, at(elements=(4, 7)), realistic=True),
    CorpusKernel("dg_volume_prefetched", lambda: lp.add_prefetch(lp.assume(dg_volume(), "elements mod 4 = 0"), "u",
        ["e_inner", "j"], fetch_outer_inames="e_outer", default_tag="l.auto"), at(elements=(4, 8))),
    CorpusKernel("lattice_boltzmann", lattice_boltzmann, at(n=(8, 9), m=(8, 6)), realistic=True),
    CorpusKernel("hundred_instructions", hundred_instructions, at(n=(16, 21)), realistic=True),
    # Spectral elements: the gradient by tensor products, one element for each group.
    CorpusKernel("gradient_3d", lambda: lp.tag_inames(make("{[e,i,j,k,p]: 0<=e<elements and 0<=i,j,k,p<4}", """
            for e, i, j, k
                <> ur = sum(p, dmat[i, p]*u[e, p, j, k])
                <> us = sum(p, dmat[j, p]*u[e, i, p, k])
                <> ut = sum(p, dmat[k, p]*u[e, i, j, p])
                lap[e, i, j, k] = g[0, e, i, j, k]*ur + g[1, e, i, j, k]*us + g[2, e, i, j, k]*ut
            end
        """, [lp.GlobalArg("dmat", F64, shape=(4, 4)), lp.GlobalArg("u,lap", F64, shape="elements,4,4,4"),
        lp.GlobalArg("g", F64, shape="3,elements,4,4,4"), ...], assumes="elements>=1"),
        {"e": "g.0", "i": "l.2", "j": "l.1", "k": "l.0"}), at(elements=(1, 3))),
    CorpusKernel("black_scholes", lambda: line(make("{[i]: 0<=i<n}", """
            <> root = sqrt(t[i])
            <> d1 = (log(s[i]/x[i]) + (r + 0.5f*v*v)*t[i])/(v*root)
            <> d2 = d1 - v*root
            <> c1 = 0.5f + 0.5f*erf(d1*0.70710678f)
            <> c2 = 0.5f + 0.5f*erf(d2*0.70710678f)
            call[i] = s[i]*c1 - x[i]*exp((-1)*r*t[i])*c2
        """, [lp.ValueArg("r,v", F32), ...], assumes="n>=1", dtypes={"t,s,x": F32})), at(n=(16, 21))),
    CorpusKernel("mandelbrot", mandelbrot, at(n=(16, 21), steps=(1, 5))),
    # All sizes fixed: no parameters at all.
    CorpusKernel("jacobi_fixed", lambda: plane(make("{[i,j]: 1<=i,j<17}",
        "v[i, j] = 0.25f*(u[i-1, j] + u[i+1, j] + u[i, j-1] + u[i, j+1])", "u, v: 18, 18")), NONE),
)  # fmt: skip
