"""Programs of several parts: substitution rules, callees, several device kernels, temporaries, tags."""

from __future__ import annotations

import loopy as lp

from .kernel import F32, F64, NONE, CorpusKernel, at, line, make, plane


def substitution_rule() -> lp.TranslationUnit:
    return line(
        make(
            "{[i]: 0<=i<n}",
            """
        square(x) := x*x
        both(k) := a[k] + square(b[k])
        c[i] = both(i) + square(a[i] + 1)
        """,
            assumes="n>=1",
            dtypes={"a,b": F32},
        )
    )


def substitution_precomputed() -> lp.TranslationUnit:
    """A rule stored for a whole tile before it is used twice."""
    unit = make(
        "{[i]: 0<=i<n}",
        """
        f(k) := 2*a[k] + 1
        c[i] = f(i) + f(i+1)
        """,
        [lp.GlobalArg("a", F32, shape="n+1"), ...],
        assumes="n>=16 and n mod 16 = 0",
    )
    unit = line(unit)
    return lp.precompute(unit, "f", "i_inner", default_tag="l.auto")


def _scale() -> lp.TranslationUnit:
    return lp.make_function("{[k]: 0<=k<8}", "y[k] = 2*x[k] + 1", name="scale_eight", lang_version=(2018, 2))


def callee() -> lp.TranslationUnit:
    unit = make(
        "{[i,k,m]: 0<=i<n and 0<=k,m<8}",
        "[m]: y[i, m] = scale_eight([k]: x[i, k])",
        [lp.GlobalArg("x,y", F32, shape="n,8"), ...],
        assumes="n>=1",
    )
    return lp.merge([line(unit, size=4), _scale()])


def callee_twice() -> lp.TranslationUnit:
    """The same function for two pairs of arrays, once inside a loop."""
    unit = make(
        "{[i,j,k,m,p,q]: 0<=i<n and 0<=j<3 and 0<=k,m,p,q<8}",
        """
        for i
            [m]: y[i, m] = scale_eight([k]: x[i, k]) {id=first}
            for j
                [q]: z[i, j, q] = scale_eight([p]: y[i, p]) {dep=first}
            end
        end
        """,
        [lp.GlobalArg("x,y", F32, shape="n,8"), lp.GlobalArg("z", F32, shape="n,3,8"), ...],
        assumes="n>=1",
        seq_dependencies=False,
    )
    return lp.merge([line(unit, size=4), _scale()])


def callee_inlined() -> lp.TranslationUnit:
    return lp.inline_callable_kernel(callee(), "scale_eight")


def two_kernels() -> lp.TranslationUnit:
    """A barrier between all groups: two device kernels, with axes of their own."""
    unit = make(
        "{[i,j]: 0<=i<n and 0<=j<m}",
        """
        t[i] = 2*a[i] {id=first}
        ... gbarrier {id=wait, dep=first}
        c[j] = t[n-1-j] + 1 {dep=wait}
        """,
        [
            lp.TemporaryVariable("t", dtype=F32, shape=("n",), address_space=lp.AddressSpace.GLOBAL),
            lp.GlobalArg("a", F32, shape="n"),
            lp.GlobalArg("c", F32, shape="m"),
            ...,
        ],
        assumes="n>=m and m>=1",
        seq_dependencies=False,
    )
    return line(line(unit, "i", 16), "j", 8)


def three_kernels() -> lp.TranslationUnit:
    unit = make(
        "{[i,j,k,p]: 0<=i,j,k,p<n}",
        """
        b[i] = a[i]*a[i] {id=first}
        ... gbarrier {id=wait, dep=first}
        c[j, k] = b[j] - b[k] {id=second, dep=wait}
        ... gbarrier {id=wait2, dep=second}
        d[p] = c[p, n-1-p] {dep=wait2}
        """,
        [lp.GlobalArg("a,b,d", F32, shape="n"), lp.GlobalArg("c", F32, shape="n,n"), ...],
        assumes="n>=1",
        seq_dependencies=False,
    )
    return line(plane(line(unit, "i", 8), "j", "k", (4, 4)), "p", 16)


def private_array() -> lp.TranslationUnit:
    unit = make(
        "{[i,k,m]: 0<=i<n and 0<=k,m<4}",
        """
        for i
            for k
                <> t[k] = a[i, k] + 1 {id=fill}
            end
            for m
                c[i, m] = t[3-m]*2 {dep=fill}
            end
        end
        """,
        assumes="n>=1",
        dtypes={"a": F32},
        seq_dependencies=False,
    )
    return line(lp.set_temporary_address_space(unit, "t", "private"))


def _banks(stride: int, dtype: type = F32) -> lp.TranslationUnit:
    unit = make(
        "{[g,i]: 0<=g<n and 0<=i<32}",
        f"""
        for g, i
            tile[{stride}*i] = a[g, i] {{id=fill}}
            ... lbarrier {{id=wait, dep=fill}}
            c[g, i] = tile[{stride}*(31-i)] {{dep=wait}}
        end
        """,
        [lp.TemporaryVariable("tile", dtype=dtype, shape=(32 * stride,), address_space=lp.AddressSpace.LOCAL), ...],
        assumes="n>=1",
        dtypes={"a": dtype},
        seq_dependencies=False,
    )
    return lp.tag_inames(unit, {"g": "g.0", "i": "l.0"})


def banks_stride_1() -> lp.TranslationUnit:
    return _banks(1)


def banks_stride_2() -> lp.TranslationUnit:
    return _banks(2)


def banks_stride_3() -> lp.TranslationUnit:
    return _banks(3)


def banks_stride_32() -> lp.TranslationUnit:
    return _banks(32)


def banks_float64() -> lp.TranslationUnit:
    return _banks(1, F64)


def instruction_parallel() -> lp.TranslationUnit:
    unit = make(
        "{[i,k]: 0<=i<n and 0<=k<m}",
        "c[i] = sum(k, a[i]*b[k])",
        assumes="n>=64 and n mod 64 = 0 and m>=1",
        dtypes={"a,b": F32},
    )
    unit = lp.split_iname(unit, "i", 64, outer_tag="g.0")
    return lp.split_iname(unit, "i_inner", 16, outer_tag="ilp", inner_tag="l.0")


def unrolled() -> lp.TranslationUnit:
    unit = make("{[i,k]: 0<=i<n and 0<=k<m}", "c[i] = sum(k, a[i, k])", assumes="n,m>=1", dtypes={"a": F32})
    return line(lp.split_iname(unit, "k", 4, inner_tag="unr"))


def local_temporary_scalar() -> lp.TranslationUnit:
    """One work-item of the group writes a value that all read."""
    unit = make(
        "{[g,i]: 0<=g<n and 0<=i<16}",
        """
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
        """,
        [lp.GlobalArg("a", F32, shape="n"), ...],
        assumes="n>=1",
        dtypes={"b": F32},
        seq_dependencies=False,
    )
    unit = lp.set_temporary_address_space(unit, "s", "local")
    return lp.tag_inames(unit, {"g": "g.0", "i": "l.0"})


def loop_around_launches() -> lp.TranslationUnit:
    """A sequential loop with a barrier between all groups in it."""
    unit = make(
        "{[t,i,j]: 0<=t<3 and 0<=i,j<16}",
        """
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
        """,
        [lp.GlobalArg("a,b", F32, shape=(16,)), ...],
        seq_dependencies=False,
    )
    # Loopy reads the order in time as a cycle: what a step reads was written by the step before.
    kernel = unit.default_entrypoint
    statements = [
        statement.copy(depends_on=frozenset({"begin"}), depends_on_is_final=True)
        if statement.id == "first"
        else statement
        for statement in kernel.instructions
    ]
    unit = unit.with_kernel(kernel.copy(instructions=statements))
    return line(line(unit, "i", 8), "j", 8)


def constant_table() -> lp.TranslationUnit:
    import numpy as np

    unit = make(
        "{[i,k]: 0<=i<n and 0<=k<3}",
        "c[i] = sum(k, w[k]*a[i+k])",
        [
            lp.TemporaryVariable(
                "w",
                dtype=F32,
                shape=(3,),
                initializer=np.array([1, 2, 1], F32),
                read_only=True,
                address_space=lp.AddressSpace.GLOBAL,
            ),
            lp.GlobalArg("a", F32, shape="n+2"),
            ...,
        ],
        assumes="n>=1",
    )
    return line(unit)


def empty_kernel() -> lp.TranslationUnit:
    """Nothing but a launch with one store."""
    return lp.tag_inames(make("{[i]: 0<=i<16}", "c[i] = 0", [lp.GlobalArg("c", F32, shape=(16,)), ...]), {"i": "l.0"})


KERNELS = (
    CorpusKernel("substitution_rule", substitution_rule, at(n=(16, 21))),
    CorpusKernel("substitution_precomputed", substitution_precomputed, at(n=(16, 48))),
    CorpusKernel("callee", callee, at(n=(4, 7))),
    CorpusKernel("callee_twice", callee_twice, at(n=(4, 7))),
    CorpusKernel("callee_inlined", callee_inlined, at(n=(4, 7))),
    CorpusKernel("two_kernels", two_kernels, at(n=(32, 21), m=(16, 11))),
    CorpusKernel("three_kernels", three_kernels, at(n=(8, 9))),
    CorpusKernel("private_array", private_array, at(n=(16, 21))),
    CorpusKernel("banks_stride_1", banks_stride_1, at(n=(1, 2))),
    CorpusKernel("banks_stride_2", banks_stride_2, at(n=(1, 2))),
    CorpusKernel("banks_stride_3", banks_stride_3, at(n=(1, 2))),
    CorpusKernel("banks_stride_32", banks_stride_32, at(n=(1, 2))),
    CorpusKernel("banks_float64", banks_float64, at(n=(1, 2))),
    CorpusKernel("instruction_parallel", instruction_parallel, at(n=(64, 128), m=(3, 1))),
    CorpusKernel("unrolled", unrolled, at(n=(16, 21), m=(8, 6))),
    CorpusKernel("local_temporary_scalar", local_temporary_scalar, at(n=(1, 3))),
    CorpusKernel("loop_around_launches", loop_around_launches, NONE),
    CorpusKernel("constant_table", constant_table, at(n=(16, 21))),
    CorpusKernel("empty_kernel", empty_kernel, NONE),
)
