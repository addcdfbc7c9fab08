"""Options that are arguments of ``count``, as docs/own-kernels.md shows them; bad input is one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.documents import document

RAGGED = '''
import loopy as lp
import numpy as np


def kernel():
    return lp.make_kernel(
        ["{[i]: 0 <= i < n}", "{[j]: start <= j < stop}"],
        """
        for i
            <> start = row[i]
            <> stop = row[i+1]
            y[i] = sum(j, a$matrix[j]*x[j]) {id=product}
        end
        z[i] = 2*y[i] {id=scaled, dep=product}
        w[i] = 3*y[i] {id=guarded, dep=scaled, if=y[i] > 0}
        """,
        [lp.GlobalArg("row", np.int32, shape="n+1"), lp.GlobalArg("a, x, y, z, w", np.float32, shape=None),
         lp.ValueArg("n", np.int32)],
        assumptions="n >= 8 and n mod 8 = 0", lang_version=(2018, 2))
'''
OPAQUE = '''
import loopy as lp
import numpy as np


def kernel():
    code = lp.CInstruction(
        "i", "out[i] = a[i]*a[i];", read_variables=frozenset(["a", "i"]), assignees=("out[i]",), id="square")
    return lp.make_kernel(
        "{[i]: 0 <= i < n}", [code], [lp.GlobalArg("a, out", np.float32, shape="n"), lp.ValueArg("n", np.int32)],
        assumptions="n >= 1", lang_version=(2018, 2))
'''
KNOWN = ("--statistic", "j=2.5", "--statistic", "y[i] > 0=0.25")


@pytest.fixture
def count(perfmodel):
    Path("ragged.py").write_text(RAGGED)
    Path("opaque.py").write_text(OPAQUE)
    return lambda *arguments: perfmodel("count", *arguments)


def expressions(result):
    rows = document(result)["variants"]["kernel"]["expressions"]
    return {(row["what"], row["detail"].split(",")[0]): row["count"] for row in rows}


def test_statistics(count):
    """For each i: 2.5 products, one of z, and a quarter of one of w."""
    found = expressions(count("ragged.py", *KNOWN, "--json"))
    assert "15/4*n" == found["operations", "float32 mul"]
    assert "5/2*n" == found["global loads", "a: float32"]
    assert "1/4*n" == found["global stores", "w: float32"]


def test_a_bound_has_a_reason(count):
    found = expressions(count("ragged.py", "--statistic", "j=2", "--json"))
    assert "<= n (the probability of 'y[i] > 0' is not known)" == found["global stores", "w: float32"]


def test_declared_c_code(count):
    Path("square.json").write_text(json.dumps(
        {"square": {"operations": {"float32 mul": 1}, "loads": {"a[i]": 2}, "stores": {"out[i]": 1}}}
    ))
    found = expressions(count("opaque.py", "--declared", "square.json", "--json"))
    assert ("n", "2*n") == (found["operations", "float32 mul"], found["global loads", "a: float32"])


@pytest.mark.parametrize(("arguments", "part"), [
    (("ragged.py",), "statistics={'j': <its mean trip count>}"),
    (("ragged.py", "--statistic", "j"), "--statistics 'j' is not a statistic; give KEY=NUMBER"),
    (("ragged.py", "--statistic", "j=often"), "--statistics 'j=often' is not a statistic"),
    (("ragged.py", "--statistic", "j=-1"), "statistics['j'] is -1.0; give a non-negative number"),
    (("ragged.py", "--statistic", "j=nan"), "statistics['j'] is nan; give a non-negative number"),
    (("ragged.py", "--statistic", "j=inf"), "statistics['j'] is inf; give a non-negative number"),
    (("ragged.py", *KNOWN[:2], "--statistic", "y[i] > 0=1.5"), "is 1.5; give the probability of a test, from 0 to 1"),
    (("ragged.py", *KNOWN, "-p", "n=12"), "n=12 breaks the kernel's assumption"),
    (("ragged.py", *KNOWN, "-p", "n=-8"), "size parameter 'n' is -8, which is negative"),
    (("ragged.py", *KNOWN, "--dtype", "gone=float32"), "dtypes has 'gone', which is not an argument"),
    (("opaque.py", "--declared", "gone.json"), "--declared 'gone.json' cannot be used"),
    (("opaque.py", "--declared", "opaque.py"), "--declared 'opaque.py' cannot be used"),
])
def test_bad_input_is_one_line(count, arguments, part):
    result = count(*arguments)
    assert 2 == result.exit_code
    (line,) = result.stderr.splitlines()
    assert part in line
