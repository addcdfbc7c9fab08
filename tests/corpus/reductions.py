"""Reductions and scans, by one work-item, by a group, by groups in two stages."""

from __future__ import annotations

import loopy as lp
from loopy.transform.data import reduction_arg_to_subst_rule

from .kernel import F32, F64, I32, NONE, CorpusKernel, at, line, make


def _rows(operation: str, dtype: type = F32, width: str = "64") -> lp.TranslationUnit:
    return make(
        "{[i,j]: 0<=i<n and 0<=j<" + width + "}", f"c[i] = {operation}(j, a[i, j])", assumes="n>=1", dtypes={"a": dtype}
    )


def sum_sequential() -> lp.TranslationUnit:
    return line(_rows("sum", width="7"))


def product_sequential() -> lp.TranslationUnit:
    return line(_rows("product", F64, "7"))


def maximum_sequential() -> lp.TranslationUnit:
    return line(_rows("max", width="7"))


def sum_of_integers() -> lp.TranslationUnit:
    return line(_rows("sum", I32, "7"))


def sum_two_inames() -> lp.TranslationUnit:
    unit = make(
        "{[i,j,k]: 0<=i<n and 0<=j,k<3}", "c[i] = sum((j, k), a[i, j]*b[j, k])", assumes="n>=1", dtypes={"a,b": F32}
    )
    return line(unit)


def sum_of_sums() -> lp.TranslationUnit:
    unit = make(
        "{[i,j,k]: 0<=i<n and 0<=j<4 and 0<=k<3}",
        "c[i] = sum(j, a[j]*sum(k, b[i, k]))",
        assumes="n>=1",
        dtypes={"a,b": F32},
    )
    return line(unit)


def sum_in_group() -> lp.TranslationUnit:
    return lp.tag_inames(_rows("sum", width="32"), {"i": "g.0", "j": "l.0"})


def maximum_in_group() -> lp.TranslationUnit:
    return lp.tag_inames(_rows("max", width="16"), {"i": "g.0", "j": "l.0"})


def sum_in_group_odd() -> lp.TranslationUnit:
    """Thirteen lanes: the tree of the reduction is not balanced."""
    return lp.tag_inames(_rows("sum", width="13"), {"i": "g.0", "j": "l.0"})


def sum_in_group_strided() -> lp.TranslationUnit:
    """Each lane first sums its own part of a longer row."""
    unit = make("{[i,j]: 0<=i<n and 0<=j<m}", "c[i] = sum(j, a[i, j])", assumes="n>=1 and m>=1", dtypes={"a": F32})
    unit = lp.split_iname(unit, "j", 16, inner_tag="l.0")
    unit = lp.split_reduction_inward(unit, "j_outer")
    return lp.tag_inames(unit, {"i": "g.0"})


def sum_two_stage() -> lp.TranslationUnit:
    """Partial sums of each group in one kernel, their sum in a second one."""
    unit = make(
        "{[i]: 0<=i<n}",
        "s[0] = sum(i, a[i])",
        [lp.GlobalArg("s", F32, shape=(1,)), ...],
        assumes="n>=1",
        dtypes={"a": F32},
    )
    unit = lp.split_iname(unit, "i", 64)
    unit = lp.split_iname(unit, "i_inner", 16, inner_tag="l.0")
    unit = lp.split_reduction_outward(unit, "i_outer")
    unit = lp.split_reduction_inward(unit, "i_inner_outer")
    unit = reduction_arg_to_subst_rule(unit, "i_outer")
    unit = lp.precompute(
        unit, "red_i_outer_arg", "i_outer", temporary_address_space=lp.AddressSpace.GLOBAL, default_tag="l.auto"
    )
    unit = lp.realize_reduction(unit)
    unit = lp.tag_inames(unit, {"i_outer_0": "g.0"})
    return lp.add_dependency(unit, "writes:acc_i_outer", "id:red_i_outer_arg_barrier")


def two_stage_by_hand() -> lp.TranslationUnit:
    unit = make(
        ["{[g,l]: 0<=g<n and 0<=l<16}", "{[h]: 0<=h<n}"],
        """
        for g
            part[g] = sum(l, a[g, l]) {id=first}
        end
        ... gbarrier {id=wait, dep=first}
        total[0] = sum(h, part[h]) {dep=wait}
        """,
        [
            lp.TemporaryVariable("part", dtype=F32, shape=("n",), address_space=lp.AddressSpace.GLOBAL),
            lp.GlobalArg("a", F32, shape="n,16"),
            lp.GlobalArg("total", F32, shape=(1,)),
            ...,
        ],
        assumes="n>=1",
        seq_dependencies=False,
    )
    return lp.tag_inames(unit, {"g": "g.0", "l": "l.0"})


def scan_sequential() -> lp.TranslationUnit:
    unit = make("[n] -> {[i,j]: 0<=i<n and 0<=j<=i}", "c[i] = sum(j, a[j])", assumes="n>=1", dtypes={"a": F32})
    return lp.realize_reduction(unit, force_scan=True)


def scan_in_group() -> lp.TranslationUnit:
    unit = make("{[i,j]: 0<=i<16 and 0<=j<=i}", "c[i] = sum(j, a[j])", dtypes={"a": F32})
    return lp.realize_reduction(lp.tag_inames(unit, {"i": "l.0"}), force_scan=True)


def index_of_maximum() -> lp.TranslationUnit:
    unit = make("{[j]: 0<=j<32}", "m, where = argmax(j, a[j], j)", dtypes={"a": F32})
    return lp.tag_inames(unit, {"j": "l.0"})


def any_negative() -> lp.TranslationUnit:
    return line(make("{[i,j]: 0<=i<n and 0<=j<6}", "c[i] = any(j, a[i, j] < 0)", assumes="n>=1", dtypes={"a": F32}))


_N = at(n=(16, 21))
KERNELS = (
    CorpusKernel("sum_sequential", sum_sequential, _N),
    CorpusKernel("product_sequential", product_sequential, _N),
    CorpusKernel("maximum_sequential", maximum_sequential, _N),
    CorpusKernel("sum_of_integers", sum_of_integers, _N),
    CorpusKernel("sum_two_inames", sum_two_inames, _N),
    CorpusKernel("sum_of_sums", sum_of_sums, _N),
    CorpusKernel("sum_in_group", sum_in_group, at(n=(1, 3))),
    CorpusKernel("maximum_in_group", maximum_in_group, at(n=(1, 3))),
    CorpusKernel("sum_in_group_odd", sum_in_group_odd, at(n=(1, 3))),
    CorpusKernel("sum_in_group_strided", sum_in_group_strided, at(n=(2, 3), m=(32, 21))),
    CorpusKernel("sum_two_stage", sum_two_stage, at(n=(64, 150))),
    CorpusKernel("two_stage_by_hand", two_stage_by_hand, at(n=(1, 5))),
    CorpusKernel("scan_sequential", scan_sequential, at(n=(1, 9))),
    CorpusKernel("scan_in_group", scan_in_group, NONE),
    CorpusKernel("index_of_maximum", index_of_maximum, NONE),
    CorpusKernel("any_negative", any_negative, _N),
)
