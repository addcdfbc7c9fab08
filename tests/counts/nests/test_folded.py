"""What a compiler leaves of operations, by hand; PoCL's machine code of such kernels agrees."""

from collections import Counter

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.counts.nests.folded import made_of, names_in
from perfmodel.counts.program.program import DECISIONS, Computed
from tests.corpus.kernel import make

N, M = 64, 5


def left(text: str, dtype: type = np.float32, **tags: str) -> dict[str, int]:
    """Return the operations that are left of a kernel, by kind, n = 64 and m = 5."""
    unit = make("[n, m] -> { [i, j, k, u]: 0 <= i < n and 0 <= j, k < m and 0 <= u < 4 }", text,
                assumes="n >= 1 and m >= 1", silenced_warnings=["unused_inames", "v1_scheduler_fallback"])  # fmt: skip
    arrays = {name for name in names_in(text) & {"a", "b"} if f"{name}[" in text}
    unit = lp.tag_inames(lp.add_dtypes(unit, dict.fromkeys(arrays, dtype)), {"i": "g.0", **tags})
    counts = count(unit, cache=False)
    numbers, table = Counter[str](), Counter[str]()
    for row in (row for nest in counts.nests for row in nest.operations):
        numbers[row.kind] += int(row.count(n=N, m=M))
    for row in counts.compiled.operation_table:
        if row.kind not in DECISIONS:
            table[row.kind] += int(row.count(n=N, m=M))
    assert numbers == table
    return dict(numbers)


@pytest.mark.parametrize(("text", "expected"), [
    ("out[i] = 1.0/4.0*a[i]", {"mul": N}),  # a constant
    ("out[i] = 1.5*2.0*a[i]", {"mul": N}),
    ("out[i] = a[i]/2.0", {"mul": N}),  # a product by 0.5 has the same rounding
    ("out[i] = a[i]/0.25 + a[i]/(-8)", {"add": N, "mul": 2 * N}),
    ("out[i] = a[i]/3.0", {"div": N}),
    ("out[i] = 2.0/a[i]", {"div": N}),
    ("out[i] = 1.0*a[i]", {}),
    ("out[i] = a[i]/1.0", {}),
    ("out[i] = a[i]**3", {"mul": 2 * N}),  # x*x*x
    ("out[i] = a[i]**7", {"mul": 4 * N}),  # x, x**2 and x**4
    ("out[i] = a[i]**16", {"mul": 4 * N}),
    ("out[i] = a[i]**(-2)", {"mul": N, "div": N}),
    ("out[i] = a[i]**3.0", {"pow": N}),  # a call
    ("out[i] = a[i]**m", {"mul": 3 * N, "intpow": N}),  # of an exponent of 4 to 7: x**2, x**4, and the last one
    ("out[i] = a[i]**0.5", {"pow": N}),
    ("out[i] = sqrt(2.0)*a[i]", {"mul": N}),
    ("out[i] = sin(a[i]) + cos(a[i])", {"sin": N, "cos": N, "add": N}),
])  # fmt: skip
def test_operations_with_literals(text: str, expected: dict[str, int]) -> None:
    assert expected == left(text)
    assert expected == left(text, np.float64)


@pytest.mark.parametrize(("text", "expected"), [
    ("out[i] = (a[i] + 1)**2", {"add": N, "mul": N}),  # the code adds twice
    ("out[i] = exp(a[i]*b[i]) + exp(b[i]*a[i])", {"mul": N, "exp": N, "add": N}),
    ("out[i] = exp(a[i]) + exp(b[i])", {"exp": 2 * N, "add": N}),
    ("out[i] = exp(a[i]) {id=x}\nout[i + n] = exp(a[i]) {dep=x}", {"exp": N}),
    ("a[i] = exp(a[i]) {id=x}\nb[i] = exp(a[i]) {dep=x}", {"exp": 2 * N}),  # of another value
    ("<> t = 2*a[i] {id=x}\nout[i] = exp(t)*exp(t) {dep=x}", {"exp": N, "mul": 2 * N}),
    (
        "for i\n<> t = n*i {id=t}\n<> x = exp(0.5*t) {id=x, dep=t}\nt = m*i {id=s, dep=x}\n"
        "out[i] = x + exp(0.5*t) {dep=s}\nend",
        {"exp": 2 * N, "mul": 4 * N, "add": N},  # another value lies between
    ),
    ("out[i] = (a[i] + 2*b[i])*(a[i] - 2*b[i])", {"add": 2 * N, "mul": 2 * N}),  # of the other sign
    ("out[i] = (a[i] + b[i])*(a[i] - b[i])", {"add": 2 * N, "mul": N}),
    ("out[i] = (a[i] - b[i])*(a[i] - b[i])", {"add": N, "mul": N}),
    ("out[i] = fmin(a[i], b[i])*fmax(a[i], b[i])", {"minmax": 2 * N, "mul": N}),
    ("<> t = exp(a[i])\nout[i] = t if a[i] > 0 else exp(b[i])", {"exp": 2 * N}),
    # a test, and the division in it, precede both branches; unknown branches with equal amounts have a half each
    ("out[i] = a[i]/b[i] if a[i]/b[i] > 2.5 else 1.5", {"div": N}),
    ("out[i] = a[i]/b[i] if a[i]/b[i] > 2.5 else b[i]/a[i]", {"div": N + N // 2}),
    ("out[i] = (a[i]/b[i] if a[i] > 2.5 else 1.5) + a[i]/b[i]", {"div": 2 * N, "add": N}),  # not always the first
    ("<> t = a[i]/b[i] {id=t}\nout[i] = a[i]/b[i] if a[i] > 2.5 else t {dep=t}", {"div": N}),
    ("<> t = exp(a[i]) {id=t}\nif i < 16\nout[i] = t + exp(a[i]) {dep=t}\nend", {"exp": N, "add": 16}),
    ("if i < 16\n<> t = exp(a[i]) {id=t}\nend\nout[i] = exp(a[i]) {dep=t}", {"exp": N + 16}),  # of fewer instances
    ("a[i] = exp(a[i]) {id=x}\nif i < 16\nb[i] = exp(a[i]) {dep=x}\nend", {"exp": N + 16}),  # of another value
])  # fmt: skip
def test_what_is_computed_twice(text: str, expected: dict[str, int]) -> None:
    assert expected == left(text)


@pytest.mark.parametrize(("text", "expected"), [
    ("out[i] = sum(j, exp(a[i])*b[j])", {"exp": N, "mul": N * M, "add": N * M}),
    ("out[i] = sum(j, exp(a[i]))", {"exp": N, "add": N * M}),  # floats forbid M*exp(a[i])
    ("out[i] = sum(j, exp(1.5*j))", {"mul": N * M, "exp": N * M, "add": N * M}),
    ("out[i] = sum((j, k), sqrt(a[i])*exp(b[j]))", {"sqrt": N, "exp": N * M, "mul": N * M, "add": N * M * M}),
    ("out[i] = sum((j, k), exp(b[k]))", {"exp": N * M * M, "add": N * M * M}),  # the inner loop changes it
    ("out[i, j] = exp(a[i])*b[j]", {"exp": N, "mul": N * M}),  # arrays do not overlap
    ("a[i] = exp(a[i])*b[j]", {"exp": N * M, "mul": N * M}),  # it stores what it reads
    (
        "for i, j\n<> t = 2*a[i] {id=t}\n<> s = t*t {id=s, dep=t}\nout[i, j] = exp(s)*b[j] {dep=s}\nend",
        {"mul": 2 * N + N * M, "exp": N},  # through variables
    ),
    (
        "for i, j\n<int32> s = i + j {id=s}\n<> t = 0.5*s {id=t, dep=s}\nend\nout[i] = sum(j, exp(t)) {dep=t}",
        {"mul": N * M, "exp": N * M, "add": 2 * N * M},  # through an integer
    ),
    (
        "for i\n<> t = 0.0 {id=t}\nfor j\nt = t*exp(t) + a[i] {id=s, dep=t}\nend\nout[i] = t {dep=s}\nend",
        {"mul": N * M, "exp": N * M, "add": N * M},  # its own value before
    ),
])  # fmt: skip
def test_what_a_loop_does_not_change(text: str, expected: dict[str, int]) -> None:
    """Loops are i (a work-group each), j and in it k."""
    assert expected == left(text)


@pytest.mark.parametrize(("kind", "expected"), [
    ("dot", {"mul": 4, "add": 3}), ("length", {"mul": 4, "add": 3, "sqrt": 1}),
    ("distance", {"mul": 4, "add": 7, "sqrt": 1}), ("normalize", {"mul": 8, "add": 3, "rsqrt": 1}),
    ("fma", {"mul": 4, "add": 4}), ("mad", {"mul": 4, "add": 4}), ("mix", {"mul": 4, "add": 8}),
    ("clamp", {"minmax": 8}), ("exp", {"exp": 4}), ("add", {"add": 4}),
])  # fmt: skip
def test_operations_on_vectors_of_four(kind: str, expected: dict[str, int]) -> None:
    numbers: dict[str, int] = {}
    for part, amount in made_of(Computed(0, "float32", kind, 4, ("x[i]", "y[i]")), (None, None)):
        numbers[part] = numbers.get(part, 0) + amount
    assert expected == numbers


@pytest.mark.parametrize(("kind", "expected"), [
    ("exp", {"exp": 1, "sincos": 1}), ("sqrt", {"hypot": 1, "sqrt": 1, "div": 1}), ("abs", {"hypot": 1}),
    ("pow", {"log": 1, "hypot": 1, "atan2": 1, "exp": 1, "sincos": 1}), ("add", {"add": 1}),
])  # fmt: skip
def test_complex_functions(kind: str, expected: dict[str, int]) -> None:
    assert expected == dict(made_of(Computed(0, "complex64", kind, 1, ("x[i]", "y[i]")), (None, None)))


def test_functions_of_complex_arrays_are_real_functions() -> None:
    unit = make("{ [i]: 0 <= i < n }", "out[i] = exp(x[i])*sqrt(y[i])", "complex64 x, out: n; complex128 y: n",
                target=lp.PyOpenCLTarget())  # fmt: skip
    counts = count(unit, cache=False)
    table = {(row.dtype, row.kind): int(row.count(n=N)) for row in counts.compiled.operation_table}
    functions = {key: number for key, number in table.items() if key[1] not in ("add", "mul")}
    assert functions == {
        ("float32", "exp"): N, ("float32", "sincos"): N, ("float64", "hypot"): N, ("float64", "sqrt"): N,
        ("float64", "div"): N,
    }  # fmt: skip
    assert int(counts.operations(dtype="complex64", kind="exp")(n=N)) == N
