"""Distinct cache lines, against sets of lines in plain Python."""

import islpy as isl
import loopy as lp
import numpy as np
import pytest
from hypothesis import given, strategies as st

from perfmodel.counts import KernelCounts, count
from perfmodel.counts.counters.lines import UNITS, divisible, most_lines
from perfmodel.errors import SizeError
from tests import oracle
from tests.corpus.kernel import make

GROUP, SUBGROUP, LINE = 32, 8, 16  # work-items, work-items, cells of 4 bytes


def counts_of(code: str, assumptions: str = "n >= 1", shape: str = "3*n + 8", sizes: str = "n") -> KernelCounts:
    unit = make(f"[{sizes}] -> {{ [i]: 0 <= i < n }}", code, f"a: {shape}", assumes=assumptions)
    unit = lp.add_dtypes(unit, {"out": np.float32})
    unit = lp.split_iname(unit, "i", GROUP, outer_tag="g.0", inner_tag="l.0")
    return count(unit, subgroup_size=SUBGROUP, cache=False)


def lines(offsets: list[int], stride: int, n: int, size: int) -> int:
    """Return the lines of each ``size`` work-items, summed."""
    return sum(
        len({(stride * i + offset) // LINE for i in range(first, min(first + size, n)) for offset in offsets})
        for first in range(0, n, size)
    )


@pytest.mark.parametrize(("index", "offsets", "stride"), [("i", [0], 1), ("2*i + 5", [5], 2), ("3*i", [0], 3)])
@pytest.mark.parametrize("n", [1, 31, 70])
def test_one_access(index, offsets, stride, n):
    counts = counts_of(f"out[i] = a[{index}]")
    for per, size in (("instance", SUBGROUP), ("subgroup", SUBGROUP), ("workgroup", GROUP), ("launch", n)):
        found = counts.lines("a", per=per)
        assert found.exact
        assert lines(offsets, stride, n, size) == found(n=n), per


def test_sizes_are_given_together():
    counts = counts_of("out[i] = a[i + m]", "n >= 1 and m >= 0", "n + m", "n, m")
    assert ("m", "n") == counts.parameters
    assert 3 == counts.lines("a", per="launch", n=32, m=8)()  # cells 8 to 39, on lines of 16
    with pytest.raises(SizeError, match="'m' was left out"):
        counts.lines("a", per="launch", n=32)


@pytest.mark.parametrize("n", [3, 16, 21])
def test_rows_that_begin_inside_a_line(n):
    """Without sizes a bound of one more line for each row, with sizes what lies in memory."""
    unit = make("{ [i, j]: 0 <= i, j < n }", "out[i] = sum(j, a[i, j])", "a: n, n", assumes="n >= 1")
    unit = lp.split_iname(lp.add_dtypes(unit, {"out": np.float32}), "i", 4, outer_tag="g.0", inner_tag="l.0")
    counts = count(unit, subgroup_size=4, cache=False)
    bound, exact = counts.lines("a", per="launch"), counts.lines("a", per="launch", n=n)
    assert (False, True) == (bound.exact, exact.exact)
    assert n * (-(-n // LINE) + 1) == bound(n=n)
    assert -(-n * n // LINE) == exact()


def executed_lines(unit: lp.TranslationUnit, array: str, sizes: dict[str, int]) -> dict[str, int]:
    """Return the lines that the generated code touches, by unit, from the addresses of each of its accesses."""
    executed = oracle.execute(unit, sizes, SUBGROUP)
    return {per: executed.lines(array, 4 * LINE, per) for per in UNITS}


def matrix(rows: int | str, pitch: int) -> lp.TranslationUnit:
    """Return the sum of each row of a matrix, without its first column; a work-item has a row."""
    unit = make(f"{{ [i, j]: 0 <= i < {rows} and 1 <= j < {pitch} }}", "out[i] = sum(j, a[i, j])",
                [lp.GlobalArg("a", np.float32, shape=f"{rows}, {pitch}"), ...], assumes=f"{rows} >= 1")  # fmt: skip
    return lp.split_iname(lp.add_dtypes(unit, {"out": np.float32}), "i", 16, outer_tag="g.0", inner_tag="l.0")


@pytest.mark.parametrize(("rows", "pitch"), [(20, 20), (40, 7), (33, 16), (5, 48)])
def test_fixed_sizes_need_no_sizes(rows: int, pitch: int) -> None:
    unit = matrix(rows, pitch)
    counts = count(unit, SUBGROUP, cache=False)
    for per, expected in executed_lines(unit, "a", {}).items():
        found = counts.lines("a", per=per)
        assert (expected, True, ()) == (found(), found.exact, found.reasons), per


@pytest.mark.parametrize("cells", [2, 4])
def test_pieces_of_a_row_that_begins_inside_a_line(cells: int) -> None:
    """Each sub-group reads a piece of a row for each of its cells, and each piece may touch one line more."""
    unit = make("{ [i]: 0 <= i < n }", "out[i] = a[1, i]", "a: 2, n + 2", assumes=f"n >= 1 and n mod {128 * cells} = 0")
    unit = lp.add_dtypes(unit, {"out": np.float32})
    unit = lp.split_iname(unit, "i", 128 * cells, inner_iname="cell", outer_tag="g.0")
    unit = lp.split_iname(unit, "cell", 128, inner_tag="l.0", outer_tag="unr")
    n = 256 * cells
    counts, executed = count(unit, 32, cache=False), oracle.execute(unit, {"n": n}, 32)
    for per in UNITS:
        expected, found = executed.lines("a", 4 * LINE, per), counts.lines("a", per=per)
        assert expected <= found(n=n)
        assert expected == counts.lines("a", per=per, n=n)(n=n)
    pieces = 2 * cells * 4  # a run of 32 cells, two lines long, from cell 2 of a line
    assert 3 * pieces == executed.lines("a", 4 * LINE, "subgroup") == counts.lines("a", per="subgroup")(n=n)


def vectors(width: int, dtype: type, order: str) -> lp.TranslationUnit:
    unit = make(f"{{ [i, k, j]: 0 <= i < n and 0 <= k < m and 0 <= j < {width} }}", "out[i, k, j] = a[i, k, j]",
                f"a, out: n, m, {width}", dtype=dtype, assumes=f"n >= 1 and m >= 1 and n mod {GROUP} = 0")  # fmt: skip
    unit = lp.tag_array_axes(unit, "a, out", "N1, N0, vec" if order == "C" else "N0, N1, vec")
    return lp.split_iname(lp.tag_inames(unit, {"j": "vec"}), "i", GROUP, outer_tag="g.0", inner_tag="l.0")


@pytest.mark.filterwarnings("ignore::loopy.diagnostic.LoopyWarning")
@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("line", [32, 64])
@pytest.mark.parametrize(("width", "dtype"), [
    (2, np.float32), (3, np.float32), (3, np.float64), (3, np.int32), (3, np.int16), (3, np.int8), (8, np.float64),
    (16, np.float32), (16, np.float64),
])
def test_vectors(width: int, dtype: type, order: str, line: int) -> None:
    """One of three takes up four components, and one may be larger than a line."""
    n, m, size = 64, 3, (4 if width == 3 else width) * np.dtype(dtype).itemsize
    counts = count(vectors(width, dtype, order), subgroup_size=SUBGROUP, cache=False)
    assert {(8*size, 1 if order == "F" else m)} == {(row.bits, row.stride(m=m, n=n)) for row in counts.access_table}
    assert n*m == counts.footprint("a")(n=n, m=m)
    touched: dict[str, set[tuple[int, ...]]] = {per: set() for per in UNITS}
    for i in range(n):
        for k in range(m):
            begin = size * (i*m + k if order == "C" else k*n + i)
            lines = range(begin // line, (begin + size - 1) // line + 1)
            for per, unit in zip(UNITS, ((i // SUBGROUP, k), (i // SUBGROUP,), (i // GROUP,), ()), strict=True):
                touched[per] |= {(*unit, line) for line in lines}
    for per, together in touched.items():
        fixed, formula = (counts.lines("a", line, per, "load", **sizes) for sizes in ({"n": n, "m": m}, {}))
        assert (True, len(together)) == (fixed.exact, fixed(n=n, m=m)), per
        assert formula(n=n, m=m) == len(together) if formula.exact else formula(n=n, m=m) >= len(together), per


@pytest.mark.parametrize("offset", [0, 4, 6])
def test_an_array_begins_where_it_lies_in_the_storage_of_another(offset: int) -> None:
    space = lp.AddressSpace.LOCAL
    unit = lp.make_kernel(
        "{ [g, i, j]: 0 <= g < n and 0 <= i, j < 32 }", "t[i] = a[g, i] {id=w}\nout[g, j] = t[31 - j] {dep=w}",
        [
            lp.GlobalArg("a, out", np.float64, shape="n, 32"), lp.ValueArg("n", np.int32),
            lp.TemporaryVariable("whole", np.float32, shape=(80,), address_space=space),
            lp.TemporaryVariable("t", np.float64, (32,), address_space=space, base_storage="whole", offset=offset),
        ],
        assumptions="n >= 1", lang_version=(2018, 2),
    )
    counts = count(lp.tag_inames(unit, "g:g.0,i:l.0,j:l.0"), cache=False)
    lines = {(4*offset + 8*i) // 64 for i in range(32)}
    assert (7 * len(lines), 320) == (counts.lines("t", 64)(n=7), counts.launch.local_bytes)


@pytest.mark.parametrize(("expected", "function", "assumptions"), [
    (True, "[n] -> { 16*n }", "[n] -> { : n >= 1 }"),
    (False, "[n] -> { 8*n }", "[n] -> { : n >= 1 }"),
    (True, "[n] -> { 8*n }", "[n] -> { : n mod 2 = 0 }"),
    (True, "[n] -> { n^2 }", "[n] -> { : n mod 4 = 0 }"),  # 4*4
    (False, "[n] -> { n^2 + n }", "[n] -> { : n mod 4 = 0 }"),  # 20 is not a multiple of 16
    (True, "[m, n] -> { m*n }", "[m, n] -> { : n mod 8 = 0 and m mod 6 = 0 }"),  # 8*2
    (True, "{ 0 }", "[n] -> { : n >= 1 }"),
    (False, "[n] -> { 16*floor(n/3) }", "[n] -> { : n >= 1 }"),  # floors are not looked into
    (True, "[n] -> { floor((n + 3)/4) }", "[n] -> { : n mod 64 = 0 }"),  # unless the assumptions take them away
    (False, "[n] -> { floor((n + 3)/4) }", "[n] -> { : n mod 32 = 0 }"),
])  # fmt: skip
def test_multiples_of_16(expected, function, assumptions):
    assert expected == divisible(isl.PwQPolynomial(function), 16, isl.Set(assumptions))


def touched(cells: set[int], per_line: int) -> int:
    """Return the lines that cells touch, the row beginning where they touch most."""
    return max(len({(c + start) // per_line for c in cells}) for start in range(per_line))


@given(st.integers(0, 40), st.integers(1, 9))
def test_a_run_touches_the_most_somewhere(distance, per_line):
    cells = isl.Set(f"[n] -> {{ [i, x] : 0 <= i < n and 5*i <= x <= 5*i + {distance} }}")
    assert touched(set(range(distance + 1)), per_line) == most_lines(cells, per_line)


@pytest.mark.parametrize("cells", [
    "[n] -> { [i, x] : 0 <= i < n and 0 <= x <= i }",  # the rows have no longest
    "[n] -> { [i, 0] : 0 <= i < n; [i, 100] : 0 <= i < n }",  # two lines, not eight
    "{ [i, x] : 0 <= i, x < 64 and x mod 32 = 0 }",
])  # fmt: skip
def test_no_constant(cells):
    assert most_lines(isl.Set(cells), 16) is None
