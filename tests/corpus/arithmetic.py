"""Types and kinds of operations."""

from collections.abc import Callable

import loopy as lp
import numpy as np
import pymbolic.primitives as prim

from .kernel import C64, C128, F32, F64, I32, I64, CorpusKernel, at, line, make


def _each(statement: str, dtypes: dict[str, type], size: int = 16) -> Callable[[], lp.TranslationUnit]:
    def build() -> lp.TranslationUnit:
        return line(make("{[i]: 0<=i<n}", statement, assumes="n>=1", dtypes=dtypes), size=size)

    return build


def minimum_of_integers() -> lp.TranslationUnit:
    """``min`` in a kernel's text is a reduction, so the expression is built by hand."""
    i = prim.Variable("i")
    a, b = prim.Variable("a")[i], prim.Variable("b")[i]
    smaller = lp.Assignment("c[i]", prim.Min((a, b)) + prim.Max((a, b)))
    return line(make("{[i]: 0<=i<n}", [smaller], assumes="n>=1", dtypes={"a,b": I32}))


def complex_with_reals() -> lp.TranslationUnit:
    """Products of several factors at once, built by hand; a text makes them of two factors each."""
    i = prim.Variable("i")
    a, r, q = (prim.Variable(name)[i] for name in "arq")
    total = prim.Product((a, r, q)) + prim.Product((1j, r, a, q, 2.0)) + prim.Sum((a, r, q))
    arrays = {"a": C128, "r,q": F64}
    return line(make("{[i]: 0<=i<n}", [lp.Assignment("c[i]", total)], assumes="n>=1", dtypes=arrays))


def typed_constants() -> lp.TranslationUnit:
    """Loopy writes 7u for an unsigned byte, 7ul for 32 unsigned bits, and 7 for a signed byte."""
    i = prim.Variable("i")
    types = {"a": np.uint8, "b": np.uint32, "d": np.int8, "e": np.int64}
    statements = [
        lp.Assignment(f"{name}_out[i]", prim.Variable(name)[i] + dtype(7), id=name) for name, dtype in types.items()
    ]
    return line(make("{[i]: 0<=i<n}", statements, assumes="n>=1", dtypes=types))


_N = at(n=(16, 21))

KERNELS = (
    # float4 loads, stores and arithmetic.
    CorpusKernel("vector_lanes", lambda: line(lp.tag_inames(make("{[i,v]: 0<=i<n and 0<=v<4}",
        "c[i, v] = 2*a[i, v] + b[i, v]", [lp.GlobalArg("a,b,c", F32, shape="n,4", dim_tags="N0,vec"), ...],
        assumes="n>=1"), {"v": "vec"}), size=8), at(n=(8, 11))),
    # A vector times a scalar that is loaded once for all lanes.
    CorpusKernel("vector_uniform", lambda: line(lp.tag_inames(make("{[i,v]: 0<=i<n and 0<=v<4}",
        "c[i, v] = a[i, v]*b[i]", [lp.GlobalArg("a,c", F32, shape="n,4", dim_tags="N0,vec"),
        lp.GlobalArg("b", F32, shape="n"), ...], assumes="n>=1"), {"v": "vec"}), size=8), at(n=(8, 11))),
    CorpusKernel("vector_double2", lambda: line(lp.tag_inames(make("{[i,v]: 0<=i<n and 0<=v<2}",
        "c[i, v] = a[i, v]*a[i, v]", [lp.GlobalArg("a,c", F64, shape="n,2", dim_tags="N0,vec"), ...], assumes="n>=1"),
        {"v": "vec"}), size=8), at(n=(8, 11))),
    CorpusKernel("scalar_arguments", lambda: line(make("{[i]: 0<=i<n}", "c[i] = alpha*a[i] + beta",
        [lp.ValueArg("alpha,beta", F64), ...], assumes="n>=1", dtypes={"a": F64})), _N),
    CorpusKernel("add_and_subtract", _each("c[i] = a[i] - b[i] + 2 - a[i]", {"a,b": F32}), _N),
    CorpusKernel("five_kinds", _each("c[i] = (a[i] + b[i])*a[i]/b[i] + a[i]**1.5", {"a,b": F32}), _N),
    CorpusKernel("small_powers", _each("c[i] = a[i]**2 + a[i]**3 + a[i]**0.5", {"a": F32}), _N),
    CorpusKernel("integer_powers", _each("c[i] = a[i]**b[i] + a[i]**3", {"a": F64, "b": I32}), _N),
    CorpusKernel("power_of_array", _each("c[i] = a[i]**b[i]", {"a,b": F64}), _N),
    CorpusKernel(
        "functions_float32",
        _each("c[i] = sqrt(a[i]) + exp(a[i]) + rsqrt(a[i]) + sin(a[i])*cos(a[i]) + log(a[i]) + fabs(a[i])", {"a": F32}),
        _N,
    ),
    CorpusKernel("functions_float64", _each("c[i] = sqrt(a[i])*tanh(b[i]) + atan2(a[i], b[i])", {"a,b": F64}), _N),
    CorpusKernel("minimum_maximum", _each("c[i] = fmin(a[i], b[i]) + fmax(a[i], 0.5)", {"a,b": F32}), _N),
    CorpusKernel("minimum_of_integers", minimum_of_integers, _N),
    CorpusKernel("integer_arithmetic", _each("c[i] = a[i]*b[i] + a[i] - 3", {"a,b": I32}), _N),
    CorpusKernel("integer_division", _each("c[i] = a[i] // 3 + b[i] % 5", {"a,b": I32}), _N),
    CorpusKernel(
        "shifts_and_bits",
        _each("c[i] = (a[i] << 2) + (b[i] >> 1) + (a[i] & 3) + (a[i] | b[i]) + (a[i] ^ b[i])", {"a,b": I32}), _N,
    ),
    CorpusKernel("integer_64", _each("c[i] = a[i]*b[i] + a[i]", {"a,b": I64}), _N),
    CorpusKernel("complex64", _each("c[i] = a[i]*b[i] + a[i] - b[i]", {"a,b": C64}), _N),
    CorpusKernel("complex128", _each("c[i] = a[i]*b[i] + 2*a[i]", {"a,b": C128}), _N),
    CorpusKernel("complex_with_reals", complex_with_reals, _N),
    CorpusKernel("complex_division", _each("c[i] = a[i]/b[i]", {"a,b": C64}), _N),
    CorpusKernel("complex_functions", _each("c[i] = exp(a[i])*r[i] + conj(a[i])", {"a": C64, "r": F32}), _N),
    CorpusKernel("complex_parts", _each("c[i] = real(a[i])*imag(a[i]) + r[i]", {"a": C64, "r": F32}), _N),
    CorpusKernel("typed_constants", typed_constants, _N),
    CorpusKernel("mixed_types", _each("c[i] = a[i]*b[i] + k[i]", {"a": F32, "b": F64, "k": I32}), _N),
    CorpusKernel("mixed_sum", _each("c[i] = a[i] + b[i] + a[i]", {"a": F32, "b": F64}), _N),
    CorpusKernel("mixed_sum_narrow_first", _each("c[i] = a[i] + d[i] + b[i]", {"a,d": F32, "b": F64}), _N),
    CorpusKernel("index_as_value", _each("c[i] = a[i]*i", {"a": F32}), _N),
    CorpusKernel("negated", _each("c[i] = -a[i]*b[i] - (a[i] - b[i])", {"a,b": F32}), _N),
    CorpusKernel("negated_twice", _each("c[i] = -(-1*a[i])*b[i]", {"a,b": F32}), _N),
)  # fmt: skip
