"""Reductions and scans, by one work-item, by a group, by groups in two stages."""

import loopy as lp
from loopy.transform.data import reduction_arg_to_subst_rule

from .kernel import F32, F64, I32, NONE, CorpusKernel, at, line, make


def _rows(operation: str, dtype: type = F32, width: str = "64") -> lp.TranslationUnit:
    return make("{[i,j]: 0<=i<n and 0<=j<" + width + "}", f"c[i] = {operation}(j, a[i, j])", assumes="n>=1",
        dtypes={"a": dtype})


def sum_in_group_strided() -> lp.TranslationUnit:
    """Each lane first sums its own part of a longer row."""
    unit = make("{[i,j]: 0<=i<n and 0<=j<m}", "c[i] = sum(j, a[i, j])", assumes="n>=1 and m>=1", dtypes={"a": F32})
    unit = lp.split_iname(unit, "j", 16, inner_tag="l.0")
    unit = lp.split_reduction_inward(unit, "j_outer")
    return lp.tag_inames(unit, {"i": "g.0"})


def sum_two_stage() -> lp.TranslationUnit:
    """Partial sums of each group in one kernel, their sum in a second one."""
    unit = make("{[i]: 0<=i<n}", "s[0] = sum(i, a[i])", "s: 1", assumes="n>=1", dtypes={"a": F32})
    unit = lp.split_iname(unit, "i", 64)
    unit = lp.split_iname(unit, "i_inner", 16, inner_tag="l.0")
    unit = lp.split_reduction_outward(unit, "i_outer")
    unit = lp.split_reduction_inward(unit, "i_inner_outer")
    unit = reduction_arg_to_subst_rule(unit, "i_outer")
    unit = lp.precompute(unit, "red_i_outer_arg", "i_outer", temporary_address_space=lp.AddressSpace.GLOBAL,
        default_tag="l.auto")
    unit = lp.realize_reduction(unit)
    unit = lp.tag_inames(unit, {"i_outer_0": "g.0"})
    return lp.add_dependency(unit, "writes:acc_i_outer", "id:red_i_outer_arg_barrier")


_N = at(n=(16, 21))

KERNELS = (
    CorpusKernel("sum_sequential", lambda: line(_rows("sum", width="7")), _N),
    CorpusKernel("product_sequential", lambda: line(_rows("product", F64, "7")), _N),
    CorpusKernel("maximum_sequential", lambda: line(_rows("max", width="7")), _N),
    CorpusKernel("sum_of_integers", lambda: line(_rows("sum", I32, "7")), _N),
    CorpusKernel("sum_two_inames", lambda: line(make("{[i,j,k]: 0<=i<n and 0<=j,k<3}",
        "c[i] = sum((j, k), a[i, j]*b[j, k])", assumes="n>=1", dtypes={"a,b": F32})), _N),
    CorpusKernel("sum_of_sums", lambda: line(make("{[i,j,k]: 0<=i<n and 0<=j<4 and 0<=k<3}",
        "c[i] = sum(j, a[j]*sum(k, b[i, k]))", assumes="n>=1", dtypes={"a,b": F32})), _N),
    CorpusKernel("sum_in_group", lambda: lp.tag_inames(_rows("sum", width="32"), {"i": "g.0", "j": "l.0"}),
        at(n=(1, 3))),
    CorpusKernel("maximum_in_group", lambda: lp.tag_inames(_rows("max", width="16"), {"i": "g.0", "j": "l.0"}),
        at(n=(1, 3))),
    # Thirteen lanes: the tree of the reduction is not balanced.
    CorpusKernel("sum_in_group_odd", lambda: lp.tag_inames(_rows("sum", width="13"), {"i": "g.0", "j": "l.0"}),
        at(n=(1, 3))),
    CorpusKernel("sum_in_group_strided", sum_in_group_strided, at(n=(2, 3), m=(32, 21))),
    CorpusKernel("sum_two_stage", sum_two_stage, at(n=(64, 150))),
    CorpusKernel("two_stage_by_hand", lambda: lp.tag_inames(make(["{[g,l]: 0<=g<n and 0<=l<16}", "{[h]: 0<=h<n}"], """
            for g
                part[g] = sum(l, a[g, l]) {id=first}
            end
            ... gbarrier {id=wait, dep=first}
            total[0] = sum(h, part[h]) {dep=wait}
        """, [lp.TemporaryVariable("part", dtype=F32, shape=("n",), address_space=lp.AddressSpace.GLOBAL),
        lp.GlobalArg("a", F32, shape="n,16"), lp.GlobalArg("total", F32, shape=(1,)), ...], assumes="n>=1",
        seq_dependencies=False), {"g": "g.0", "l": "l.0"}), at(n=(1, 5))),
    CorpusKernel("scan_sequential", lambda: lp.realize_reduction(make("[n] -> {[i,j]: 0<=i<n and 0<=j<=i}",
        "c[i] = sum(j, a[j])", assumes="n>=1", dtypes={"a": F32}), force_scan=True), at(n=(1, 9))),
    CorpusKernel("scan_in_group", lambda: lp.realize_reduction(lp.tag_inames(make("{[i,j]: 0<=i<16 and 0<=j<=i}",
        "c[i] = sum(j, a[j])", dtypes={"a": F32}), {"i": "l.0"}), force_scan=True), NONE),
    CorpusKernel("index_of_maximum", lambda: lp.tag_inames(make("{[j]: 0<=j<32}", "m, where = argmax(j, a[j], j)",
        dtypes={"a": F32}), {"j": "l.0"}), NONE),
    CorpusKernel("any_negative", lambda: line(make("{[i,j]: 0<=i<n and 0<=j<6}", "c[i] = any(j, a[i, j] < 0)",
        assumes="n>=1", dtypes={"a": F32})), _N),
)  # fmt: skip
