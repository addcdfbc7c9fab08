"""Parameters that are negative: offsets of indices, first values of loops, numbers in tests."""

from collections.abc import Mapping
from fractions import Fraction

import loopy as lp
import numpy as np

from .kernel import Arrays, CorpusKernel, at, line, make


def _shifted() -> lp.TranslationUnit:
    return line(make("{[i]: 0<=i<n and 0<=i+shift<n}", "b[i] = 2*a[i + shift]", "a, b: n", assumes="n>=1"))


def _from_below_zero() -> lp.TranslationUnit:
    return line(make("{[i]: low<=i<high}", "b[i - low] = 2*a[i - low]", "a, b: high - low", assumes="low<high"))


def sign_of_an_axis() -> lp.TranslationUnit:
    """A test of a parameter around statements that only store to private memory."""
    return line(make("{[i]: 0<=i<n}", """
            for i
                <> x = a[i, 0] {id=x}
                <> y = a[i, 1] {id=y}
                signs[0] = 1 {id=one}
                signs[1] = 1 {id=other}
                if axis == 0
                    signs[0] = -1 {id=first, dep=one}
                elif axis == 1
                    signs[1] = -1 {id=second, dep=other}
                end
                b[i] = signs[0]*x + signs[1]*y {dep=first:second:x:y}
            end
        """, "a: n, 2; b: n; int32 axis, n; temporary signs: 2", assumes="n>=1", seq_dependencies=False))  # fmt: skip


def shifted_rows() -> lp.TranslationUnit:
    """A parameter only in the index of an access in a loop that data bound."""
    return line(make(["{[i]: 0<=i<n}", "{[j]: first<=j<last}"], """
            for i
                <> first = starts[i]
                <> last = starts[i + 1]
                b[i] = sum(j, a[j + shift])
            end
        """, "int32 starts: n+1; a: nonzeros; b: n; int32 shift, nonzeros, n", assumes="n>=1"))  # fmt: skip


def _starts(sizes: Mapping[str, int]) -> Arrays:
    trips = np.arange(sizes["n"]) % 5
    return {"starts": np.concatenate([[3], 3 + np.cumsum(trips)]).astype(np.int32)}


def _mean_trips(sizes: Mapping[str, int]) -> Mapping[str, Fraction]:
    return {"j": Fraction(int(np.diff(_starts(sizes)["starts"]).sum()), sizes["n"])}


KERNELS = (
    CorpusKernel("shifted_index", _shifted, at(n=(40, 40, 33), shift=(-3, 5, 0))),
    CorpusKernel("loop_from_below_zero", _from_below_zero, at(low=(-20, -50, 3), high=(30, -7, 40))),
    CorpusKernel("sign_of_an_axis", sign_of_an_axis, at(n=(40, 33, 16), axis=(-1, 0, 1))),
    CorpusKernel("shifted_rows", shifted_rows, at(n=(40, 33), shift=(-3, 2), nonzeros=(200, 200)), _starts,
                 statistics=_mean_trips),
)
