"""Predicates, conditional expressions, guards, and lanes that do nothing."""

from collections.abc import Callable, Mapping
from fractions import Fraction

import loopy as lp
import numpy as np

from .kernel import F32, I32, Arrays, CorpusKernel, at, line, make, plane


def guard_in_ilp() -> lp.TranslationUnit:
    unit = make("{[i,k]: 0<=i<n and 0<=k<3}", "c[i] = sum(k, a[i, k])", assumes="n>=1", dtypes={"a": F32})
    unit = lp.split_iname(unit, "i", 32, outer_tag="g.0")
    unit = lp.split_iname(unit, "i_inner", 8, outer_tag="ilp", inner_tag="l.0")
    return unit


def _nested(text: str, *domains: str, tag: bool = True) -> lp.TranslationUnit:
    """Nested tests that read ``p``, which is positive, and ``q``, which is not."""
    arguments = [lp.GlobalArg("p,q", I32, shape=None), lp.GlobalArg("a,b,c,d", F32, shape=None),
                 lp.ValueArg("n,m", I32), ...]  # fmt: skip
    unit = make(["[n, m] -> {[i]: 0<=i<n}", *domains], text, arguments, assumes="n>=1 and m>=1", seq_dependencies=True)
    return line(unit) if tag else unit


def _on_other_lanes() -> lp.TranslationUnit:
    unit = make("{[i,j,g]: 0<=i<9 and 0<=j<5 and 0<=g<n}", """
            a[g, j] = b[g, j] {id=one, inames=g:j}
            if p[g] > 0
                a[g, j] = b[g, j] + 1 {id=two, inames=g:j, dep=one}
                c[g, i] = b[g, i] + 1 {id=three, inames=g:i, dep=two}
            end
        """, [lp.GlobalArg("p", I32, shape="n"), lp.GlobalArg("a,b,c", F32, shape="n,9"), ...], assumes="n>=1")
    return lp.tag_inames(unit, {"g": "g.0", "i": "l.0", "j": "l.0"})


def _known(parameters: Mapping[str, int]) -> Arrays:
    return {"p": np.ones(100, I32), "q": np.zeros(100, I32)}


def _certain(*texts: str) -> Callable[[Mapping[str, int]], Mapping[str, Fraction]]:
    return lambda parameters: {text: Fraction(text[0] == "p") for text in texts}


_LANE = "i_inner + i_outer*16"
_P, _Q, _P2 = f"p[{_LANE}] > 0", f"q[{_LANE}] > 0", f"p[2*({_LANE})] > 0"
#: Name, builder, and the tests that read data.
_NESTED = (
    # The outer test comes before the loop, the inner one in it.
    ("nested_before_a_loop", lambda: _nested("""
            for i
                if i == 1
                    for j
                        if p[j] > 0
                            c[n*j + i] = a[j]
                        end
                    end
                end
            end
        """, "{[j]: 0<=j<m}", tag=False), "p[j] > 0"),
    ("nested_three_deep", lambda: _nested("""
            if i >= 2
                if p[i] > 0
                    if q[i] > 0
                        c[i] = a[i]
                    end
                    b[i] = a[i] + 1
                end
                d[i] = a[i] + 2
            end
        """), _P, _Q),
    ("nested_else", lambda: _nested("""
            if i % 2 == 0
                if q[i] > 0
                    c[i] = a[i]
                else
                    c[i] = 2*a[i]
                end
            end
            if p[i] > 0
                d[i] = a[i]
            end
        """), _P, _Q),
    # Tests with nothing between them are joined by ``&&``.
    ("nested_joined", lambda: _nested("""
            if a[i] < 0
                if p[2*i] > 0
                    if p[i] > 0
                        c[i] = a[i]
                    end
                end
            end
        """), _P, _P2, f"a[{_LANE}] < 0"),
    # The second test is made again after the group of the first.
    ("nested_shared_in_part", lambda: _nested("""
            if p[i] > 0
                c[i] = a[i]
            end
            if p[i] > 0
                if p[2*i] > 0
                    b[i] = a[i]
                end
            end
            if p[2*i] > 0
                d[i] = a[i]
            end
        """), _P, _P2),
    ("nested_around_a_reduction", lambda: _nested("""
            if 2*i < n
                if p[i] > 0
                    c[i] = sum(j, a[m*i + j])
                end
            end
        """, "{[j]: 0<=j<m}"), _P),
    # Loopy makes the test between the points of the loop too.
    ("test_in_a_strided_loop", lambda: make("{[i]: 0<=i<n and i mod 3 = 0}", """
            if p[i] > 0
                c[i] = a[i]
            end
        """, [lp.GlobalArg("p", I32, shape="n"), lp.GlobalArg("a,c", F32, shape="n"), ...], assumes="n>=1"),
        "p[i] > 0"),
    # The check of j's bounds holds the first two instructions together, so that the third tests again.
    ("test_on_other_lanes", _on_other_lanes, "p[g] > 0"),
    # The host makes a test that the whole launch shares.
    ("test_before_the_launch", lambda: _nested("""
            if m > 2
                c[i] = a[i]
                b[i] = a[i]
            end
        """)),
)  # fmt: skip
_N = at(n=(16, 21, 4))

KERNELS = (
    CorpusKernel("predicate_affine", lambda: line(make("{[i]: 0<=i<n}", """
            if i >= 3
                c[i] = 2*a[i-3]
            end
        """, [lp.GlobalArg("a,c", F32, shape="n"), ...], assumes="n>=1")), at(n=(16, 21, 2))),
    CorpusKernel("predicate_else", lambda: line(make("{[i]: 0<=i<n}", """
            if i < m
                c[i] = a[i] + 1
            else
                c[i] = a[i]*a[i] + b[i]
            end
        """, "a, b, c: n; int32 m", assumes="n>=1", seq_dependencies=True)), at(n=(16, 21, 21), m=(5, 30, 0))),
    # Nested, with two conditions joined.
    CorpusKernel("predicate_several", lambda: plane(make("{[i,j]: 0<=i,j<n}", """
            if i >= 1 and j >= 1
                b[i, j] = a[i-1, j] + a[i, j-1]
                if i < n-1 and j < i
                    c[i, j] = a[i+1, j]*2
                end
            end
        """, [lp.GlobalArg("a,b,c", F32, shape="n,n"), ...], assumes="n>=2", seq_dependencies=True)), at(n=(8, 11, 2))),
    CorpusKernel("predicate_or", lambda: line(make("{[i]: 0<=i<n}", """
            if i < 2 or i >= n-2
                c[i] = a[i] + a[i]
            end
        """, [lp.GlobalArg("a,c", F32, shape="n"), ...], assumes="n>=1")), at(n=(16, 21, 3))),
    CorpusKernel("predicate_modulo", lambda: line(make("{[i]: 0<=i<n}", """
            if i % 3 == 1
                c[i] = a[i] + a[i]
            end
        """, [lp.GlobalArg("a,c", F32, shape="n"), ...], assumes="n>=1")), _N),
    CorpusKernel("predicate_equal_and_unequal", lambda: line(make("{[i]: 0<=i<n}", """
            if i == m
                c[i] = 2*a[i]
            end
            if i != m
                c[i] = 3*a[i] + 1
            end
        """, [lp.GlobalArg("a,c", F32, shape="n"), lp.ValueArg("m", I32), ...], assumes="n>=1", seq_dependencies=True)),
        at(n=(16, 21), m=(5, 40))),
    CorpusKernel("predicate_in_loop", lambda: line(make("{[i,j]: 0<=i<n and 0<=j<m}", """
            for i
                <> s = 0 {id=start}
                for j
                    if j > i
                        s = s + a[i, j] {id=add, dep=start}
                    end
                end
                c[i] = s {dep=add}
            end
        """, "a: n, m; c: n", assumes="n,m>=1", seq_dependencies=False)), at(n=(16, 21), m=(5, 20))),
    CorpusKernel("if_expression_affine", lambda: line(make("{[i]: 0<=i<n}", "c[i] = if(i < 5, a[i]*2, a[i] + b[i])",
        [lp.GlobalArg("a,b,c", F32, shape="n"), ...], assumes="n>=1")), _N),
    # A stencil whose outer neighbours are replaced by zero.
    CorpusKernel("if_expression_boundary", lambda: line(make("{[i]: 0<=i<n}",
        "c[i] = 2*a[i] - if(i >= 1, a[i-1], 0) - if(i < n-1, a[i+1], 0)", [lp.GlobalArg("a,c", F32, shape="n"), ...],
        assumes="n>=1")), at(n=(16, 21, 1))),
    CorpusKernel("if_expression_nested", lambda: plane(make("{[i,j]: 0<=i,j<n}",
        "c[i, j] = if(i < j, if(2*i < n, a[i, j]*3, a[i, j] - 1), if(i == j, 1, b[i, j]/a[i, j]))",
        [lp.GlobalArg("a,b,c", F32, shape="n,n"), ...], assumes="n>=1")), at(n=(8, 11))),
    CorpusKernel("if_expression_joined", lambda: line(make("{[i]: 0<=i<n}",
        "c[i] = if(i >= 2 and i < n-2 or i % 4 == 1, a[i]*a[i], a[i])", "a, c: n", assumes="n>=1")), _N),
    CorpusKernel("guard_three_axes", lambda: line(line(line(make("{[i,j,k]: 0<=i<n and 0<=j<m and 0<=k<l}",
        "c[i, j, k] = a[i, j, k] + 1", assumes="n,m,l>=1", dtypes={"a": F32}), "i", 2, 2), "j", 3, 1), "k", 4, 0),
        at(n=(4, 3), m=(6, 5), l=(8, 7))),
    CorpusKernel("guard_in_ilp", guard_in_ilp, at(n=(32, 45))),
    # The first statement does not depend on l.1: every lane of that axis repeats it into its own register.
    CorpusKernel("unused_lanes", lambda: lp.add_inames_for_unused_hw_axes(lp.tag_inames(line(make(
        "{[i,j]: 0<=i<n and 0<=j<4}", """
            for i
                <> t = a[i]*a[i] {id=t}
                for j
                    c[i, j] = t + b[i, j] {dep=t}
                end
            end
        """, assumes="n>=1", dtypes={"a,b": F32}, seq_dependencies=False)), {"j": "l.1"})), _N),
    CorpusKernel("unused_group_axis", lambda: lp.add_inames_for_unused_hw_axes(lp.tag_inames(line(make(
        "{[i,j]: 0<=i<n and 0<=j<3}", """
            for i
                <> t = a[i] + 1 {id=t}
                for j
                    c[j, i] = t*b[j] {dep=t}
                end
            end
        """, assumes="n>=1", dtypes={"a,b": F32}, seq_dependencies=False)), {"j": "g.1"})), _N),
    # Two statements on the same lanes with domains of different length.
    CorpusKernel("different_guards", lambda: line(line(make("{[i,j]: 0<=i<n and 0<=j<m}", """
            b[i] = a[i] + 1
            d[j] = 2*c[j]
        """, assumes="n>=m and m>=1", dtypes={"a,c": F32}), "i"), "j"), at(n=(33, 21, 40), m=(16, 5, 40))),
    # Boundary groups get code of their own.
    CorpusKernel("slabs", lambda: lp.split_iname(make("{[i]: 0<=i<n}", "c[i] = 2*a[i]", assumes="n>=1",
        dtypes={"a": F32}), "i", 16, outer_tag="g.0", inner_tag="l.0", slabs=(0, 1)), _N),
    *(CorpusKernel(name, builder, at(n=(5, 21), m=(5, 2)), _known, statistics=_certain(*texts))
      for name, builder, *texts in _NESTED),
)  # fmt: skip
