"""Programs of several parts: substitution rules, callees, several device kernels, temporaries, tags."""

from functools import partial

import loopy as lp
import numpy as np

from .kernel import F32, F64, NONE, CorpusKernel, at, line, make, plane


def _scale() -> lp.TranslationUnit:
    return lp.make_function("{[k]: 0<=k<8}", "y[k] = 2*x[k] + 1", name="scale_eight", lang_version=(2018, 2))


def callee() -> lp.TranslationUnit:
    unit = make("{[i,k,m]: 0<=i<n and 0<=k,m<8}", "[m]: y[i, m] = scale_eight([k]: x[i, k])",
        [lp.GlobalArg("x,y", F32, shape="n,8"), ...], assumes="n>=1")
    return lp.merge([line(unit, size=4), _scale()])


def _banks(stride: int, dtype: type = F32) -> lp.TranslationUnit:
    tile = lp.TemporaryVariable("tile", dtype, shape=(32 * stride,), address_space=lp.AddressSpace.LOCAL)
    unit = make("{[g,i]: 0<=g<n and 0<=i<32}", f"""
            for g, i
                tile[{stride}*i] = a[g, i] {{id=fill}}
                ... lbarrier {{id=wait, dep=fill}}
                c[g, i] = tile[{stride}*(31-i)] {{dep=wait}}
            end
        """, [tile, ...], assumes="n>=1", dtypes={"a": dtype}, seq_dependencies=False)
    return lp.tag_inames(unit, {"g": "g.0", "i": "l.0"})


def loop_around_launches() -> lp.TranslationUnit:
    """A sequential loop with a barrier between all groups in it."""
    unit = make("{[t,i,j]: 0<=t<3 and 0<=i,j<16}", """
            for t
                ... nop {id=begin}
                for i
                    b[i] = a[i] + t {id=first, dep=begin}
                end
                ... gbarrier {id=wait, dep=first}
                for j
                    a[j] = b[15-j] {id=second, dep=wait}
                end
                ... gbarrier {id=again, dep=second}
            end
        """, [lp.GlobalArg("a,b", F32, shape=(16,)), ...], seq_dependencies=False)
    # Loopy reads the order in time as a cycle: what a step reads was written by the step before.
    kernel = unit.default_entrypoint
    ends = {"depends_on": frozenset({"begin"}), "depends_on_is_final": True}
    statements = [one.copy(**ends) if one.id == "first" else one for one in kernel.instructions]
    unit = unit.with_kernel(kernel.copy(instructions=statements))
    return line(line(unit, "i", 8), "j", 8)


def constant_table() -> lp.TranslationUnit:
    unit = make("{[i,k]: 0<=i<n and 0<=k<3}", "c[i] = sum(k, w[k]*a[i+k])", [lp.TemporaryVariable("w", dtype=F32,
        shape=(3,), initializer=np.array([1, 2, 1], F32), read_only=True, address_space=lp.AddressSpace.GLOBAL),
        lp.GlobalArg("a", F32, shape="n+2"), ...], assumes="n>=1")
    return line(unit)


KERNELS = (
    CorpusKernel("substitution_rule", lambda: line(make("{[i]: 0<=i<n}", """
            square(x) := x*x
            both(k) := a[k] + square(b[k])
            c[i] = both(i) + square(a[i] + 1)
        """, assumes="n>=1", dtypes={"a,b": F32})), at(n=(16, 21))),
    # A rule stored for a whole tile before it is used twice.
    CorpusKernel("substitution_precomputed", lambda: lp.precompute(line(make("{[i]: 0<=i<n}", """
            f(k) := 2*a[k] + 1
            c[i] = f(i) + f(i+1)
        """, [lp.GlobalArg("a", F32, shape="n+1"), ...], assumes="n>=16 and n mod 16 = 0")), "f", "i_inner",
        default_tag="l.auto"), at(n=(16, 48))),
    CorpusKernel("callee", callee, at(n=(4, 7))),
    # The same function for two pairs of arrays, once inside a loop.
    CorpusKernel("callee_twice", lambda: lp.merge([line(make("{[i,j,k,m,p,q]: 0<=i<n and 0<=j<3 and 0<=k,m,p,q<8}", """
            for i
                [m]: y[i, m] = scale_eight([k]: x[i, k]) {id=first}
                for j
                    [q]: z[i, j, q] = scale_eight([p]: y[i, p]) {dep=first}
                end
            end
        """, "x, y: n, 8; z: n, 3, 8", assumes="n>=1", seq_dependencies=False), size=4), _scale()]), at(n=(4, 7))),
    CorpusKernel("callee_inlined", lambda: lp.inline_callable_kernel(callee(), "scale_eight"), at(n=(4, 7))),
    # A barrier between all groups: two device kernels, with axes of their own.
    CorpusKernel("two_kernels", lambda: line(line(make("{[i,j]: 0<=i<n and 0<=j<m}", """
            t[i] = 2*a[i] {id=first}
            ... gbarrier {id=wait, dep=first}
            c[j] = t[n-1-j] + 1 {dep=wait}
        """, [lp.TemporaryVariable("t", dtype=F32, shape=("n",), address_space=lp.AddressSpace.GLOBAL),
        lp.GlobalArg("a", F32, shape="n"), lp.GlobalArg("c", F32, shape="m"), ...], assumes="n>=m and m>=1",
        seq_dependencies=False), "i", 16), "j", 8), at(n=(32, 21), m=(16, 11))),
    CorpusKernel("three_kernels", lambda: line(plane(line(make("{[i,j,k,p]: 0<=i,j,k,p<n}", """
            b[i] = a[i]*a[i] {id=first}
            ... gbarrier {id=wait, dep=first}
            c[j, k] = b[j] - b[k] {id=second, dep=wait}
            ... gbarrier {id=wait2, dep=second}
            d[p] = c[p, n-1-p] {dep=wait2}
        """, [lp.GlobalArg("a,b,d", F32, shape="n"), lp.GlobalArg("c", F32, shape="n,n"), ...], assumes="n>=1",
        seq_dependencies=False), "i", 8), "j", "k", (4, 4)), "p", 16), at(n=(8, 9))),
    CorpusKernel("private_array", lambda: line(lp.set_temporary_address_space(make("{[i,k,m]: 0<=i<n and 0<=k,m<4}", """
            for i
                for k
                    <> t[k] = a[i, k] + 1 {id=fill}
                end
                for m
                    c[i, m] = t[3-m]*2 {dep=fill}
                end
            end
        """, assumes="n>=1", dtypes={"a": F32}, seq_dependencies=False), "t", "private")), at(n=(16, 21))),
    *(CorpusKernel(f"banks_{name}", partial(_banks, *options), at(n=(1, 2))) for name, *options in (
        ("stride_1", 1), ("stride_2", 2), ("stride_3", 3), ("stride_32", 32), ("float64", 1, F64))),
    CorpusKernel("instruction_parallel", lambda: lp.split_iname(lp.split_iname(make("{[i,k]: 0<=i<n and 0<=k<m}",
        "c[i] = sum(k, a[i]*b[k])", assumes="n>=64 and n mod 64 = 0 and m>=1", dtypes={"a,b": F32}), "i", 64,
        outer_tag="g.0"), "i_inner", 16, outer_tag="ilp", inner_tag="l.0"), at(n=(64, 128), m=(3, 1))),
    CorpusKernel("unrolled", lambda: line(lp.split_iname(make("{[i,k]: 0<=i<n and 0<=k<m}", "c[i] = sum(k, a[i, k])",
        assumes="n,m>=1", dtypes={"a": F32}), "k", 4, inner_tag="unr")), at(n=(16, 21), m=(8, 6))),
    # One work-item of the group writes a value that all read.
    CorpusKernel("local_temporary_scalar", lambda: lp.tag_inames(lp.set_temporary_address_space(make(
        "{[g,i]: 0<=g<n and 0<=i<16}", """
            for g
                for i
                    if i == 0
                        <> s = a[g] {id=fill}
                    end
                end
                ... lbarrier {id=wait, dep=fill}
                for i
                    c[g, i] = s*b[i] {dep=wait}
                end
            end
        """, [lp.GlobalArg("a", F32, shape="n"), ...], assumes="n>=1", dtypes={"b": F32}, seq_dependencies=False), "s",
        "local"), {"g": "g.0", "i": "l.0"}), at(n=(1, 3))),
    CorpusKernel("loop_around_launches", loop_around_launches, NONE),
    CorpusKernel("constant_table", constant_table, at(n=(16, 21))),
    # Nothing but a launch with one store.
    CorpusKernel("empty_kernel", lambda: lp.tag_inames(make("{[i]: 0<=i<16}", "c[i] = 0",
        [lp.GlobalArg("c", F32, shape=(16,)), ...]), {"i": "l.0"}), NONE),
)  # fmt: skip
