"""Predicates, conditional expressions, guards, and lanes that do nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

import loopy as lp
import numpy as np

from .kernel import F32, I32, Arrays, CorpusKernel, at, line, make, plane


def predicate_affine() -> lp.TranslationUnit:
    return line(
        make(
            "{[i]: 0<=i<n}",
            """
        if i >= 3
            c[i] = 2*a[i-3]
        end
        """,
            [lp.GlobalArg("a,c", F32, shape="n"), ...],
            assumes="n>=1",
        )
    )


def predicate_else() -> lp.TranslationUnit:
    return line(
        make(
            "{[i]: 0<=i<n}",
            """
        if i < m
            c[i] = a[i] + 1
        else
            c[i] = a[i]*a[i] + b[i]
        end
        """,
            [lp.GlobalArg("a,b,c", F32, shape="n"), lp.ValueArg("m", I32), ...],
            assumes="n>=1",
            seq_dependencies=True,
        )
    )


def predicate_several() -> lp.TranslationUnit:
    """Nested, with two conditions joined."""
    return plane(
        make(
            "{[i,j]: 0<=i,j<n}",
            """
        if i >= 1 and j >= 1
            b[i, j] = a[i-1, j] + a[i, j-1]
            if i < n-1 and j < i
                c[i, j] = a[i+1, j]*2
            end
        end
        """,
            [lp.GlobalArg("a,b,c", F32, shape="n,n"), ...],
            assumes="n>=2",
            seq_dependencies=True,
        )
    )


def predicate_or() -> lp.TranslationUnit:
    return line(
        make(
            "{[i]: 0<=i<n}",
            """
        if i < 2 or i >= n-2
            c[i] = a[i] + a[i]
        end
        """,
            [lp.GlobalArg("a,c", F32, shape="n"), ...],
            assumes="n>=1",
        )
    )


def predicate_modulo() -> lp.TranslationUnit:
    return line(
        make(
            "{[i]: 0<=i<n}",
            """
        if i % 3 == 1
            c[i] = a[i] + a[i]
        end
        """,
            [lp.GlobalArg("a,c", F32, shape="n"), ...],
            assumes="n>=1",
        )
    )


def predicate_equal_and_unequal() -> lp.TranslationUnit:
    return line(
        make(
            "{[i]: 0<=i<n}",
            """
        if i == m
            c[i] = 2*a[i]
        end
        if i != m
            c[i] = 3*a[i] + 1
        end
        """,
            [lp.GlobalArg("a,c", F32, shape="n"), lp.ValueArg("m", I32), ...],
            assumes="n>=1",
            seq_dependencies=True,
        )
    )


def predicate_in_loop() -> lp.TranslationUnit:
    unit = make(
        "{[i,j]: 0<=i<n and 0<=j<m}",
        """
        for i
            <> s = 0 {id=start}
            for j
                if j > i
                    s = s + a[i, j] {id=add, dep=start}
                end
            end
            c[i] = s {dep=add}
        end
        """,
        [lp.GlobalArg("a", F32, shape="n,m"), lp.GlobalArg("c", F32, shape="n"), ...],
        assumes="n,m>=1",
        seq_dependencies=False,
    )
    return line(unit)


def if_expression_affine() -> lp.TranslationUnit:
    return line(
        make(
            "{[i]: 0<=i<n}",
            "c[i] = if(i < 5, a[i]*2, a[i] + b[i])",
            [lp.GlobalArg("a,b,c", F32, shape="n"), ...],
            assumes="n>=1",
        )
    )


def if_expression_boundary() -> lp.TranslationUnit:
    """A stencil whose outer neighbours are replaced by zero."""
    return line(
        make(
            "{[i]: 0<=i<n}",
            "c[i] = 2*a[i] - if(i >= 1, a[i-1], 0) - if(i < n-1, a[i+1], 0)",
            [lp.GlobalArg("a,c", F32, shape="n"), ...],
            assumes="n>=1",
        )
    )


def if_expression_nested() -> lp.TranslationUnit:
    return plane(
        make(
            "{[i,j]: 0<=i,j<n}",
            "c[i, j] = if(i < j, if(2*i < n, a[i, j]*3, a[i, j] - 1), if(i == j, 1, b[i, j]/a[i, j]))",
            [lp.GlobalArg("a,b,c", F32, shape="n,n"), ...],
            assumes="n>=1",
        )
    )


def if_expression_joined() -> lp.TranslationUnit:
    return line(
        make(
            "{[i]: 0<=i<n}",
            "c[i] = if(i >= 2 and i < n-2 or i % 4 == 1, a[i]*a[i], a[i])",
            [lp.GlobalArg("a,c", F32, shape="n"), ...],
            assumes="n>=1",
        )
    )


def guard_three_axes() -> lp.TranslationUnit:
    unit = make(
        "{[i,j,k]: 0<=i<n and 0<=j<m and 0<=k<l}", "c[i, j, k] = a[i, j, k] + 1", assumes="n,m,l>=1", dtypes={"a": F32}
    )
    return line(line(line(unit, "i", 2, 2), "j", 3, 1), "k", 4, 0)


def guard_in_ilp() -> lp.TranslationUnit:
    unit = make("{[i,k]: 0<=i<n and 0<=k<3}", "c[i] = sum(k, a[i, k])", assumes="n>=1", dtypes={"a": F32})
    unit = lp.split_iname(unit, "i", 32, outer_tag="g.0")
    unit = lp.split_iname(unit, "i_inner", 8, outer_tag="ilp", inner_tag="l.0")
    return unit


def unused_lanes() -> lp.TranslationUnit:
    """The first statement does not depend on l.1: every lane of that axis repeats it into its own register."""
    unit = make(
        "{[i,j]: 0<=i<n and 0<=j<4}",
        """
        for i
            <> t = a[i]*a[i] {id=t}
            for j
                c[i, j] = t + b[i, j] {dep=t}
            end
        end
        """,
        assumes="n>=1",
        dtypes={"a,b": F32},
        seq_dependencies=False,
    )
    return lp.add_inames_for_unused_hw_axes(lp.tag_inames(line(unit), {"j": "l.1"}))


def unused_group_axis() -> lp.TranslationUnit:
    unit = make(
        "{[i,j]: 0<=i<n and 0<=j<3}",
        """
        for i
            <> t = a[i] + 1 {id=t}
            for j
                c[j, i] = t*b[j] {dep=t}
            end
        end
        """,
        assumes="n>=1",
        dtypes={"a,b": F32},
        seq_dependencies=False,
    )
    return lp.add_inames_for_unused_hw_axes(lp.tag_inames(line(unit), {"j": "g.1"}))


def different_guards() -> lp.TranslationUnit:
    """Two statements on the same lanes with domains of different length."""
    unit = make(
        "{[i,j]: 0<=i<n and 0<=j<m}",
        """
        b[i] = a[i] + 1
        d[j] = 2*c[j]
        """,
        assumes="n>=m and m>=1",
        dtypes={"a,c": F32},
    )
    return line(line(unit, "i"), "j")


def slabs() -> lp.TranslationUnit:
    """Boundary groups get code of their own."""
    unit = make("{[i]: 0<=i<n}", "c[i] = 2*a[i]", assumes="n>=1", dtypes={"a": F32})
    return lp.split_iname(unit, "i", 16, outer_tag="g.0", inner_tag="l.0", slabs=(0, 1))


def nested(text: str, *domains: str, tag: bool = True) -> lp.TranslationUnit:
    """Nested tests that read ``p``, which is positive, and ``q``, which is not."""
    arguments = [
        lp.GlobalArg("p,q", I32, shape=None), lp.GlobalArg("a,b,c,d", F32, shape=None), lp.ValueArg("n,m", I32), ...,
    ]
    unit = make(
        ["[n, m] -> {[i]: 0<=i<n}", *domains], text, arguments, assumes="n>=1 and m>=1", seq_dependencies=True,
    )
    return line(unit) if tag else unit


def nested_before_a_loop() -> lp.TranslationUnit:
    """The outer test stands before the loop, the inner one in it."""
    text = """
        for i
            if i == 1
                for j
                    if p[j] > 0
                        c[n*j + i] = a[j]
                    end
                end
            end
        end
    """
    return nested(text, "{[j]: 0<=j<m}", tag=False)


def nested_three_deep() -> lp.TranslationUnit:
    text = """
        if i >= 2
            if p[i] > 0
                if q[i] > 0
                    c[i] = a[i]
                end
                b[i] = a[i] + 1
            end
            d[i] = a[i] + 2
        end
    """
    return nested(text)


def nested_else() -> lp.TranslationUnit:
    text = """
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
    """
    return nested(text)


def nested_joined() -> lp.TranslationUnit:
    """Tests with nothing between them are joined by ``&&``."""
    text = """
        if a[i] < 0
            if p[2*i] > 0
                if p[i] > 0
                    c[i] = a[i]
                end
            end
        end
    """
    return nested(text)


def nested_shared_in_part() -> lp.TranslationUnit:
    """The second test is made again after the group of the first."""
    text = """
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
    """
    return nested(text)


def nested_around_a_reduction() -> lp.TranslationUnit:
    text = """
        if 2*i < n
            if p[i] > 0
                c[i] = sum(j, a[m*i + j])
            end
        end
    """
    return nested(text, "{[j]: 0<=j<m}")


def test_in_a_strided_loop() -> lp.TranslationUnit:
    """Loopy makes the test between the points of the loop too."""
    text = """
        if p[i] > 0
            c[i] = a[i]
        end
    """
    return make(
        "{[i]: 0<=i<n and i mod 3 = 0}", text,
        [lp.GlobalArg("p", I32, shape="n"), lp.GlobalArg("a,c", F32, shape="n"), ...], assumes="n>=1",
    )


def test_on_other_lanes() -> lp.TranslationUnit:
    """The check of j's bounds holds the first two instructions together, so that the third tests again."""
    text = """
        a[g, j] = b[g, j] {id=one, inames=g:j}
        if p[g] > 0
            a[g, j] = b[g, j] + 1 {id=two, inames=g:j, dep=one}
            c[g, i] = b[g, i] + 1 {id=three, inames=g:i, dep=two}
        end
    """
    unit = make(
        "{[i,j,g]: 0<=i<9 and 0<=j<5 and 0<=g<n}", text,
        [lp.GlobalArg("p", I32, shape="n"), lp.GlobalArg("a,b,c", F32, shape="n,9"), ...],
        assumes="n>=1",
    )
    return lp.tag_inames(unit, {"g": "g.0", "i": "l.0", "j": "l.0"})


def test_before_the_launch() -> lp.TranslationUnit:
    """The host makes a test that the whole launch shares."""
    text = """
        if m > 2
            c[i] = a[i]
            b[i] = a[i]
        end
    """
    return nested(text)


def _known(parameters: Mapping[str, int]) -> Arrays:
    return {"p": np.ones(100, I32), "q": np.zeros(100, I32)}


def _certain(*texts: str) -> Callable[[Mapping[str, int]], Mapping[str, Fraction]]:
    return lambda parameters: {text: Fraction(text[0] == "p") for text in texts}


_LANE = "i_inner + i_outer*16"
_P, _Q, _P2 = f"p[{_LANE}] > 0", f"q[{_LANE}] > 0", f"p[2*({_LANE})] > 0"
_NESTED = (
    (nested_before_a_loop, "p[j] > 0"),
    (nested_three_deep, _P, _Q),
    (nested_else, _P, _Q),
    (nested_joined, _P, _P2, f"a[{_LANE}] < 0"),
    (nested_shared_in_part, _P, _P2),
    (nested_around_a_reduction, _P),
    (test_in_a_strided_loop, "p[i] > 0"),
    (test_on_other_lanes, "p[g] > 0"),
    (test_before_the_launch,),
)
_N = at(n=(16, 21, 4))
KERNELS = (
    CorpusKernel("predicate_affine", predicate_affine, at(n=(16, 21, 2))),
    CorpusKernel("predicate_else", predicate_else, at(n=(16, 21, 21), m=(5, 30, 0))),
    CorpusKernel("predicate_several", predicate_several, at(n=(8, 11, 2))),
    CorpusKernel("predicate_or", predicate_or, at(n=(16, 21, 3))),
    CorpusKernel("predicate_modulo", predicate_modulo, _N),
    CorpusKernel("predicate_equal_and_unequal", predicate_equal_and_unequal, at(n=(16, 21), m=(5, 40))),
    CorpusKernel("predicate_in_loop", predicate_in_loop, at(n=(16, 21), m=(5, 20))),
    CorpusKernel("if_expression_affine", if_expression_affine, _N),
    CorpusKernel("if_expression_boundary", if_expression_boundary, at(n=(16, 21, 1))),
    CorpusKernel("if_expression_nested", if_expression_nested, at(n=(8, 11))),
    CorpusKernel("if_expression_joined", if_expression_joined, _N),
    CorpusKernel("guard_three_axes", guard_three_axes, at(n=(4, 3), m=(6, 5), l=(8, 7))),
    CorpusKernel("guard_in_ilp", guard_in_ilp, at(n=(32, 45))),
    CorpusKernel("unused_lanes", unused_lanes, _N),
    CorpusKernel("unused_group_axis", unused_group_axis, _N),
    CorpusKernel("different_guards", different_guards, at(n=(33, 21, 40), m=(16, 5, 40))),
    CorpusKernel("slabs", slabs, _N),
    *(CorpusKernel(builder.__name__, builder, at(n=(5, 21), m=(5, 2)), _known, statistics=_certain(*texts))
      for builder, *texts in _NESTED),
)
