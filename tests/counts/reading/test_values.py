"""C types and memory, against the rules of C written out by hand."""

import re

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.counts.reading.values import promote


@pytest.mark.parametrize(("left", "right", "expected"), [
    ("float32", "float64", "float64"),
    ("float32", "int64", "float32"),  # the integer is converted
    ("complex64", "float64", "complex128"),
    ("int8", "int16", "int32"),  # integer promotion
    ("int32", "uint32", "uint32"),  # of equal size the unsigned type wins
    ("int64", "uint32", "int64"),
    ("uint8", "int8", "int32"),
])
def test_promotion(left: str, right: str, expected: str) -> None:
    assert np.dtype(expected) == promote(np.dtype(left), np.dtype(right))
    assert np.dtype(expected) == promote(np.dtype(right), np.dtype(left))


TESTS = (
    "isnan(b[i])", "isnan(b[i]) or b[i] > 0", "not isnan(b[i])", "fabs(b[i]) > 0.5", "sqrt(exp(b[i])) >= 1",
    "pow(b[i], 2.5) > 2", "b[i]**3 > 2", "fmin(b[i], a[i]) > 0", "fmax(b[i], 2*a[i]) > 0", "real(c[i]) > 0",
    "abs(c[i]) < 1", "c[i] == 1j", "c[i] == 1 + 2j", "(m[i] & 3) == 1", "(m[i] | ~m[i] ^ 1) == 0", "(m[i] << 2) > 1",
    "m[i] % 2 == 0", "m[i] // 2 == 1", "(m[i] if isnan(b[i]) else 3) > 1", "a[m[i]] > 0", "b[i] > 1e-30", "-b[i] > 0",
)  # fmt: skip


def kernel(test: str) -> lp.TranslationUnit:
    return lp.make_kernel(
        "{[i]: 0 <= i < n}", f"out[i] = (2*a[i] if {test} else a[i])",
        [lp.GlobalArg("a, b, out", np.float64, shape="n"), lp.GlobalArg("m", np.int32, shape="n"),
         lp.GlobalArg("c", np.complex128, shape="n"), lp.ValueArg("n", np.int32)],
        assumptions="n >= 4", lang_version=(2018, 2),
    )  # fmt: skip


@pytest.mark.parametrize("test", TESTS)
def test_the_note_shows_the_key(test):
    reasons = count(kernel(test)).accesses(array="out").reasons + count(kernel(test)).operations().reasons
    keys = [match[1] for reason in reasons if (match := re.fullmatch("the probability of '(.*)' is not known", reason))]
    assert keys
    assert all(key.isascii() and key.isprintable() for key in keys)
    assert count(kernel(test), statistics=dict.fromkeys(keys, 0.25)).operations().exact
