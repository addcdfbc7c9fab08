"""Index expressions that Loopy writes shorter than they are: the data that fall out are not read."""

from functools import partial

import loopy as lp

from .kernel import C128, F32, F64, I32, CorpusKernel, at, line, make

#: Each index of ``t``, from 0 to 6 where the data are.
INDICES = {
    "modulo_one": "idx[i] % 1", "times_zero": "0*idx[i]", "times_zero_and_a_size": "idx[i]*n*0",
    "zero_over_data": "0 // (idx[i] + 1)", "modulo_one_of_a_sum": "(idx[i] + jdx[i]) % 1",
    "sum_with_modulo_one": "3*(idx[i] % 1) + jdx[i]", "product_with_modulo_one": "(idx[i] % 1)*jdx[i]",
    "inside_an_index": "idx[0*jdx[i]]", "one_branch": "(0*idx[i] if i < 2 else jdx[i])", "over_one": "idx[i] // 1",
    "power_zero": "idx[i]**0", "difference": "idx[i] - idx[i]",
}  # fmt: skip


def loaded(index: str) -> lp.TranslationUnit:
    return line(make("{[i]: 0<=i<n}", f"c[i] = t[{index}]", _arguments(), assumes="n>=1"))


def stored(index: str) -> lp.TranslationUnit:
    return make("{[i]: 0<=i<n}", f"t[{index}] = c[i]", _arguments(), assumes="n>=1")


def tested() -> lp.TranslationUnit:
    text = """
        if t[idx[i] % 1] > t[jdx[i]]
            c[i] = 2
        end
    """
    return line(make("{[i]: 0<=i<n}", text, _arguments(), assumes="n>=1"))


def broadcast() -> lp.TranslationUnit:
    """The rows of ``t`` are one in memory."""
    arguments = [*_arguments()[:-2], lp.GlobalArg("t", F32, shape="n,n", strides=(0, 1)), ...]
    return line(make("{[i]: 0<=i<n}", "c[i] = t[idx[i], i]", arguments, assumes="n>=1"))


def unrolled(tag: str) -> lp.TranslationUnit:
    """Of the copies of the loop, the first reads nothing."""
    unit = make("{[i,k]: 0<=i<n and 0<=k<3}", "t[i + n*k] = c[k*idx[i]]", _arguments(), assumes="n>=1")
    return lp.tag_inames(unit, {"k": tag})


def values() -> lp.TranslationUnit:
    """Outside of indices all is read."""
    text = "c[i] = 0*t[i] + t[i]*0.0 + t[i]**1 + t[i]/1 + (idx[i] % 1) + (0*idx[i]) + 0 // (jdx[i] + 1)"
    return line(make("{[i]: 0<=i<n}", text, _arguments(), assumes="n>=1"))


def complex_powers() -> lp.TranslationUnit:
    """Of real numbers powers 0 and 1 are not computed."""
    arguments = [lp.GlobalArg("a,c", C128, shape="n"), lp.GlobalArg("b", F64, shape="n"), lp.ValueArg("n", I32), ...]
    text = "c[i] = a[i]**0 + a[i]**1 + a[i]**3 + b[i]**0*b[i]**1"
    return line(make("{[i]: 0<=i<n}", text, arguments, assumes="n>=1"))


def _arguments() -> list[object]:
    return [
        lp.GlobalArg("idx,jdx", I32, shape="n"), lp.GlobalArg("c", F32, shape="n"), lp.ValueArg("n", I32),
        lp.GlobalArg("t", F32, shape=None), ...,
    ]


_N = at(n=(16, 21))
KERNELS = (
    *(CorpusKernel(f"folded_{name}", partial(loaded, index), _N) for name, index in INDICES.items()),
    *(CorpusKernel(f"folded_store_{name}", partial(stored, INDICES[name]), at(n=5))
      for name in ("modulo_one", "times_zero", "inside_an_index")),
    *(CorpusKernel(f"folded_{tag}", partial(unrolled, tag), at(n=(16, 21))) for tag in ("unr", "ilp")),
    CorpusKernel("folded_in_a_test", tested, _N),
    CorpusKernel("folded_broadcast", broadcast, _N),
    CorpusKernel("complex_powers", complex_powers, _N),
    CorpusKernel("not_folded_outside_of_indices", values, _N),
)
